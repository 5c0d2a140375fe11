"""Each other place of a value that a rule took: who knows one, knows all.

    find_copies("curl -H k9… # the old key was k9…", {"k9…": …})

A value counts if nothing else is called so: 8 characters or more, and made by a machine or typed as a password is.
"""

from collections.abc import Collection, Iterator

from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.redaction.guards import compiled, entropy, is_stand_in, is_strong, looks_like_key

if TYPE_CHECKING:
    import ahocorasick_rs

_LEAST_CHARS = 8
_MOST_CHARS = 1024
_PART_CHARS = 1_000_000
_LEAST_ENTROPY = 2.5  # bits for each character: eight of which two are the same have 2.75
# A longer one is found within a word, too.
_LONG = 20
# A value that nothing parts from the next is copied with what parts it: JSON would lose it.
_PARTED = r"[\s\"'`\\<>{}\[\],]|(?i:redacted)|\A-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\Z"
# Of a user and a password only the second one is secret.
_PAIR_RULES = ("database-url", "url-credentials", "curl-auth-user")


def value_of(claimed: str, rule: str) -> str:
    """The value to be looked for elsewhere, of a part of a text that a rule claimed; '' if there is none."""
    value = claimed.removesuffix("@").partition(":")[2] if rule in _PAIR_RULES else claimed
    if not _LEAST_CHARS <= len(value) <= _MOST_CHARS or compiled(_PARTED).search(value):
        return ""
    if not (looks_like_key(value) or is_strong(value)) or is_stand_in(value, 0):
        return ""
    return value if entropy(value) >= _LEAST_ENTROPY else ""


def find_copies(text: str, values: Collection[str]) -> Iterator[tuple[int, int]]:
    """Where the values stand, in order; a short one as a word of its own."""
    for start, end in _places(text, values):
        if end - start >= _LONG or not (_goes_on(text, start - 1) or _goes_on(text, end)):
            yield start, end


def _places(text: str, values: Collection[str]) -> Iterator[tuple[int, int]]:
    if len(values) > 1:
        import ahocorasick_rs  # noqa: PLC0415  start-up: only where a secret was found

        finder = ahocorasick_rs.AhoCorasick(sorted(values), matchkind=ahocorasick_rs.MatchKind.LeftmostLongest)
        for _, start, end in find_in_parts(finder, text, max(map(len, values))):
            yield start, end
        return
    for value in values:  # most texts have one: it is found before an automaton is made
        start = text.find(value)
        while start >= 0:
            yield start, start + len(value)
            start = text.find(value, start + len(value))


def find_in_parts(
    finder: "ahocorasick_rs.AhoCorasick", text: str, longest: int, *, overlapping: bool = False
) -> Iterator[tuple[int, int, int]]:
    """(number, start, end) of what a finder finds in a text, of which nothing is longer than `longest`.

    A million characters at a time: beyond ASCII the finder takes eight bytes for each byte of the text meanwhile.
    """
    at = 0
    while at < len(text):
        next_at = at + _PART_CHARS
        for number, start, end in finder.find_matches_as_indexes(text[at : next_at + longest], overlapping=overlapping):
            if start < _PART_CHARS:
                yield number, at + start, at + end
                if not overlapping:
                    next_at = max(next_at, at + end)
        at = next_at


def _goes_on(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isalnum()
