"""Text with the statistics of real text: few words everywhere, most words almost nowhere.

Word frequencies follow Zipf's law, as they do in prose and in code; an index of words drawn evenly would
have no long posting lists, and would flatter every search. The same seed gives the same text everywhere.
"""

import random
from functools import lru_cache
from itertools import accumulate

# The most frequent ranks, in about the order of English technical prose; the others are made of syllables.
_FREQUENT = """
the of to a and in is for that it with as on be this are by not or from an at when which if can has we was
will all but one no code file test error use data user value time new set run call error type should only
function name list after before request response session token cache database query index lock timeout retry
queue worker thread process memory service client server path config version build deploy log message event
handler schema table column row key string number object array field class method module import export package
update delete insert select create read write open close start stop check fail pass fix change add remove
""".split()
_ONSETS = [*"bcdfghjklmnprstvw", "br", "cl", "cr", "dr", "fl", "gr", "pl", "pr", "sc", "sh", "sp", "st", "tr", "th"]
_VOWELS = ["a", "e", "i", "o", "u", "ai", "ea", "io", "ou"]
_CODAS = ["", "", "", "n", "r", "s", "t", "l", "m", "ck", "nt", "st", "ng", "x"]
_VOCABULARY = 40_000
_TOPIC_WORDS = 40


class Language:
    """A source of words and sentences; two of the same seed say the same."""

    def __init__(self, seed: int, vocabulary: int = _VOCABULARY) -> None:
        self.random = random.Random(seed)
        self.vocabulary = self._vocabulary(vocabulary)
        self._weights = list(accumulate(1 / rank for rank in range(1, len(self.vocabulary) + 1)))
        self._middle = self.vocabulary[300:8000]
        self.topic = lru_cache(maxsize=1000)(self._topic)

    def _vocabulary(self, size: int) -> list[str]:
        words: dict[str, None] = dict.fromkeys(map(str, _FREQUENT))
        chance = random.Random(0)  # the language is one, whoever speaks it
        while len(words) < size:
            syllables = chance.choice((1, 2, 2, 3, 3))
            words["".join(map(chance.choice, (_ONSETS, _VOWELS, _CODAS) * syllables))] = None
        return list(words)

    def words(self, count: int) -> list[str]:
        """Words as they come."""
        return self.random.choices(self.vocabulary, cum_weights=self._weights, k=count)

    def _topic(self, number: int) -> list[str]:
        """The words that texts about this topic share: none of the frequent ones, none of the rarest."""
        return random.Random(number).choices(self._middle, k=_TOPIC_WORDS)

    def sentence(self, count: int, topic: list[str] | None = None) -> str:
        """So many words; with a topic, a third of them are about it."""
        words = self.words(count)
        if topic:
            for place in self.random.sample(range(count), count // 3):
                words[place] = self.random.choice(topic)
        return " ".join(words).capitalize()

    def identifier(self) -> str:
        """A name as code has it, in one of three styles."""
        parts = self.words(self.random.randint(2, 3))
        style = self.random.randrange(3)
        if style == 0:
            return "_".join(parts)
        if style == 1:
            return parts[0] + "".join(part.capitalize() for part in parts[1:])
        return "".join(part.capitalize() for part in parts)
