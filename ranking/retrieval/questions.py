"""Questions: whether a sentence asks for an explanation, which documents of prose give, or for what code has.

    how do I delay a job        can it run on Windows?        I want single quotes        prose, its use
    how is the delay computed        how the worker keeps them        prose, and the code
    where is the delay computed        the worker dies at night        the code

Only the form of the words is looked at. What is not recognised is ranked as any other query, so a list that knows too
few words costs less than one that knows too many: a report of a bug names what happens, and is about code.
"""

from ctxrank.indexer.text.languages import language_of
from ctxrank.ranking.retrieval.query import Query

# What a clause that asks begins with.
_ASKING = frozenset((
    "how", "what", "when", "can", "could", "may", "must", "should", "shall", "do", "does", "did", "is", "are", "will",
    "would",
))  # fmt: skip
# These ask for a place or a thing as often: only with somebody who wants to do something.
_UNCERTAIN = frozenset({"where", "which", "why", "who", "whose"})
_PERSONS = frozenset({"i", "my", "me", "you", "your"})
_WISHING = frozenset({"want", "need", "wish", "like"})
_BEFORE_A_WISH = (" i", " i would", " i do not", " i'd")  # want, need, like
_CLAUSE_ENDS = (",", ".", ";", ":", "?", "!")
_MARKS = ".,;:?!()'\"`"
# Who asks for ours asks for code.
_OUR_CODE = frozenset(["code", "source", "sources", "implementation"])

# What a question is about.
CODE, USE, EITHER = "code", "use", "either"
_FOUND = frozenset(["decided", "decision", "decisions", "learnt", "learned", "agreed", "chose", "chosen"])
_OURS = (["did", "we"], ["have", "we"], ["had", "we"], ["was", "found"])
# Behind `how`: somebody wants to do something, or asks for a figure. Else it is how something works.
_DOING = frozenset(["to", "can", "could", "should", "may", "must", "many", "much", "long", "often"])
_OUR_PERSONS = _PERSONS | {"we", "our", "us", "one"}


def aim_of(query: Query) -> str:
    """What a query is about: CODE, its USE; of a statement EITHER.

    Who asks what was found asks for a record, to which no file's kind matters, so the program's papers count less.
    """
    if not query.is_sentence:
        return CODE
    words = [term.text.lower().strip(_MARKS) for term in query.terms]
    pairs = [words[at : at + 2] for at in range(len(words))]
    is_question = words[0] in _ASKING or words[0] in _UNCERTAIN or words[0] in ("have", "had", "was")
    if is_question and (not _FOUND.isdisjoint(words) or any(pair in pairs for pair in _OURS)):
        return CODE
    if not asks_for_prose(query):
        return CODE if words[0] in _UNCERTAIN or _asks_for_code(words) else EITHER
    is_personal = any(word.partition("'")[0] in _OUR_PERSONS for word in words)
    works = any(pair[0] == "how" and pair[-1] not in _DOING for pair in pairs)
    return CODE if works and not is_personal else USE


def asks_for_prose(query: Query) -> bool:
    """Whether a sentence asks how something is done or what it is."""
    typed = [term.text.lower().replace("\u2019", "'") for term in query.terms]
    words = [word.strip(_MARKS) for word in typed]
    if _asks_for_code(words):
        return False
    is_personal = not _PERSONS.isdisjoint(words)
    for at, word in enumerate(words):
        if at == 0 or typed[at - 1].endswith(_CLAUSE_ENDS):
            if word.partition("n't")[0] in _ASKING or word.partition("'")[0] in _ASKING:
                return True
            if word in _UNCERTAIN and is_personal:
                return True
        elif word in _WISHING and f" {' '.join(words[:at])}".endswith(_BEFORE_A_WISH):
            return True
    return False


def _asks_for_code(words: list[str]) -> bool:
    return any(
        word in ("the", "our", "this") and not _OUR_CODE.isdisjoint(words[at + 1 : at + 2])
        for at, word in enumerate(words)
    )


def is_prose(path: str) -> bool:
    """Whether a document with this path is prose; what is no file is a record, which somebody wrote."""
    name = path.rpartition("/")[2]
    if not name or "." in name:
        return not name or language_of(name).is_prose
    # README, LICENSE-MIT
    return all(part.isascii() and part.isalpha() and part.isupper() for part in name.replace("_", "-").split("-"))
