"""Words for generated artifacts: concepts with their synonyms, and what stands between them.

A paraphrase says the same concept in another form, as two people would. Concepts at the front of the list are used
more often (Zipf), so that some words are everywhere and others tell a topic.
"""

import itertools
import random
from pathlib import Path

# Each line of the first part is one concept, the form that artifacts prefer first; the second part is the grey mass of
# technical prose: of no topic, and not in a stop list either.
_PARTS = (Path(__file__).parent / "concepts.txt").read_text(encoding="utf-8").split("\n\n")
CONCEPTS = tuple(tuple(line.split()) for line in _PARTS[0].splitlines())
_GREY = _PARTS[1].split()
_GLUE = ("the", "a", "of", "and", "to", "in", "is", "for", "with", "that", "on", "as", "by", "it", "when", "be", "at")


class Prose:
    """Sentences about concepts, seeded."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._grey = list(itertools.accumulate(1 / rank for rank in range(1, len(_GREY) + 1)))
        self._zipf = list(itertools.accumulate(1 / rank for rank in range(1, len(CONCEPTS) + 1)))

    def concept(self) -> int:
        """Any concept, those at the front more often."""
        return self.random.choices(range(len(CONCEPTS)), cum_weights=self._zipf)[0]

    def topic(self, size: int) -> list[int]:
        """The concepts of a component: no more than two of the common ones."""
        rare = self.random.sample(range(12, len(CONCEPTS)), size - 2)
        return [*rare, *self.random.sample(range(12), 2)]

    def form(self, concept: int, *, usual: float = 0.8) -> str:
        """How somebody says a concept: mostly its first form."""
        forms = CONCEPTS[concept]
        return forms[0] if self.random.random() < usual else self.random.choice(forms[1:])

    def sentence(self, topic: list[int], words: int) -> str:
        """About a third topic, a third grey, a third glue; now and then another component's concept."""
        said: list[str] = []
        for _ in range(words):
            draw = self.random.random()
            if draw < 0.28:
                said.append(self.form(self.random.choice(topic)))
            elif draw < 0.36:
                said.append(self.form(self.concept()))
            elif draw < 0.64:
                said.append(self.random.choices(_GREY, cum_weights=self._grey)[0])
            else:
                said.append(self.random.choice(_GLUE))
        return " ".join(said).capitalize() + "."

    def paragraph(self, topic: list[int], words: int) -> str:
        """Sentences of six to sixteen words."""
        sentences: list[str] = []
        while words > 0:
            length = min(words, self.random.randint(6, 16))
            sentences.append(self.sentence(topic, max(length, 3)))
            words -= length
        return " ".join(sentences)

    def title(self, topic: list[int]) -> str:
        """Three concepts, in their usual forms."""
        first, second, third = self.random.sample(topic, 3)
        return f"{self.form(first)} {self.form(second)} for {self.form(third)}".capitalize()
