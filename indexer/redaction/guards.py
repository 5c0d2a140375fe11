r"""What a value is not: a placeholder, a mention of another secret, a path, code; and what looks random.

    is_stand_in("password: ${PASSWORD}", 10)     True
    is_code("password = get_password()", 11)     True
    entropy("aabb")                              1.0, in bits for each character

A guard wins over every rule that sees the same text. Every pattern here is bounded, and gives nothing back
where that could make a hostile text expensive.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from math import log2

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.letters import reads_like_a_word
from ctxrank.indexer.redaction.pieces import PIECES

PLAIN, _END = PIECES["PLAIN"], PIECES["END"]

# How much of a value the guards look at: longer paths and expressions are rare, hostile texts are not.
GUARD_CHARS = 240


class Secret(NamedTuple):
    """The place of a secret, what takes its place, and the rule that says so."""

    start: int
    end: int
    label: str
    rule: str
    is_weak: bool = False  # so that any other rule that sees it gives it a better name


def found_at(
    text: str, places: list[int], before: int, behind: int, secret_at: Callable[[int], Secret | None]
) -> Iterator[Secret]:
    """The secrets that are found at places, in order; a text of many places repeats itself, as a rule.

    No verdict depends on more than these characters before and behind its place.
    """
    seen: dict[str, tuple[str, int, Secret | None]] = {}  # by what comes first: long texts are compared, not hashed
    done = 0
    for place in dict.fromkeys(places):  # "api_key" begins where "api" does
        if place < done:
            continue
        surroundings = text[max(0, place - before) : place + behind] if len(places) > DENSE_PLACES else ""
        key = text[place : place + _CHARS_BEYOND]
        same, first, secret = seen.get(key, ("", 0, None))
        if not surroundings or same != surroundings:
            secret = secret_at(place)
            if surroundings and (secret is None or secret.end + _CHARS_BEYOND <= place + behind):
                seen[key] = surroundings, place, secret
        elif secret is not None:
            secret = secret._replace(start=secret.start + place - first, end=secret.end + place - first)
        if secret is not None:
            yield secret
            done = secret.end


_CHARS_BEYOND = 64  # what ends a value is seen in a few behind it
DENSE_PLACES = 200


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled when it is first needed: a call pays only for the rules that its text may break."""
    return re.compile(pattern)


# Made once: a pattern put together at each call is hashed at each call.
_WORD = f"(?i)[a-z-]{{2,20}}(?:{_END}|(?=:))"
_RESERVED = frozenset(PIECES["RESERVED"].split())
_STAND_IN = "(?i)" + PIECES["STAND_IN"]
_CODE = "(?i)" + PIECES["CODE"]


def is_stand_in(text: str, place: int) -> bool:
    """Whether the text there takes a secret's place or talks of one."""
    word = compiled(_WORD).match(text, place)
    is_reserved = word is not None and word[0].lower().rpartition("-")[2] in _RESERVED
    return is_reserved or compiled(_STAND_IN).match(text, place, place + GUARD_CHARS) is not None


def is_version(text: str, place: int) -> bool:
    """Whether a version is there: `1.2.0`, `^3.1`, `v0.0.0-20260807164820-c8921c73eeea`."""
    return compiled(_VERSION).match(text, place, place + GUARD_CHARS) is not None


_VERSION = r"(?:[a-z]{2,9}:)?[\^~<>=]{0,2}v?\d{1,4}(?:\.\d{1,8}){1,3}(?:[-+=][\w.+-]{0,60})?(?:\(|" + _END + ")"


def is_code(text: str, place: int) -> bool:
    """Whether an expression or a word is there, where no quote says that it is a value."""
    return compiled(_CODE).match(text, place, place + GUARD_CHARS) is not None


# n · log2(n) for each count of a character.
_WEIGHTS = (0.0, *(count * log2(count) for count in range(1, 600)))


def entropy(text: str) -> float:
    """Shannon's, in bits for each character: 4 for random hexadecimal digits, under 6 for random letters."""
    size = len(text)
    if not 0 < size < len(_WEIGHTS):
        shares = [text.count(char) / size for char in set(text)]
        return -sum(share * log2(share) for share in shares)
    # The same sum, turned so that it needs no logarithm of a share: a hostile text asks for it at every place.
    return log2(size) - sum(map(_WEIGHTS.__getitem__, map(text.count, set(text)))) / size


# Letters, digits and case change places often in a random word, seldom in a name: `getUserByIdFromCache2`
# has .17 changes for each character, a random word of 62 letters and digits .36 on average.
_LEAST_CHANGES = 0.22


def looks_random(word: str) -> bool:
    """Many different characters, a digit and a capital, and not made like an identifier, path or digest."""
    if len(word) < 20 or len(set(word)) / len(word) <= 0.6 or word[:3] in ("sha", "md5"):
        return False
    if not any(c.isdigit() for c in word) or not any(c.isupper() for c in word):
        return False
    return _changes(word) / len(word) > _LEAST_CHANGES


# What a person types in prose and in code has these classes of signs seldom all at once.
_TYPED_SIGNS = frozenset("!@#$%^&*?~+=")
_LEAST_STRONG = 8
_LEAST_RANDOM = 16
_WELL_MIXED = 0.15
_UUID = r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"


def is_strong(value: str) -> bool:
    """Whether a word in prose can only be a password or a key: at least three kinds of signs, or random."""
    if len(value) < _LEAST_STRONG or not value.isascii():
        return False
    digits = sum(map(str.isdigit, value))
    has_sign = not _TYPED_SIGNS.isdisjoint(value)
    has_letter = any(map(str.isalpha, value))
    if digits and has_letter and has_sign and compiled(_EXPRESSION).fullmatch(value) is None:
        return True
    if digits > 1 and value.isalnum() and has_letter and _changes(value) >= _MANY_CHANGES:
        return True
    capitals = sum(one.islower() and next_one.isupper() for one, next_one in pairwise(value))
    is_mixed = value.isalnum() and (
        capitals >= _MANY_CHANGES or (digits > 0 and not (value.islower() or value.isupper()))
    )
    if is_mixed and len(value) > _LEAST_STRONG + 1 and _named(value) * 3 < len(value):
        return compiled(PIECES["IDENTIFIER"]).fullmatch(value) is None
    return is_random(value)


_MANY_CHANGES = 3


# a=1, x+2, call(3): not what somebody typed as a password.
_EXPRESSION = (
    r"[\w.\[\]()]*+(?>(?:[=+*?&]{1,2}+[\w.\[\]()\"'-]*+)+)|[#@$~&*+?][\w.-]*|[A-Za-z_.-]+[*?!]|[~=^]{1,2}[\d.x*-]+.*"
    r"|[a-z][\w-]*@[A-Z]{2}"
)


def is_random(value: str) -> bool:
    """Whether a word of 16 characters or more can only have been made by a machine; digests may be, too."""
    if len(value) < _LEAST_RANDOM or not value.isascii() or compiled(_UUID).fullmatch(value):
        return False
    parts = compiled(r"[\W_]+").split(value)
    run = "".join(parts)
    if _is_of_words(parts) or len(run) < _LEAST_STRONG or max(map(len, parts)) < _LEAST_WORD:
        return False
    if sum(map(_is_word, parts)) * 2 >= len(parts):
        return False
    if run.isalpha():
        return len(parts) == 1 and not reads_like_a_word(run) and not _is_named(run)
    if _is_named(run) or (len(parts) == 1 and _named(run) and compiled(PIECES["IDENTIFIER"]).fullmatch(value)):
        return False
    return not run.isdigit() and _changes(run) / len(run) > _WELL_MIXED and entropy(run) > _LEAST_ENTROPY


def _is_word(part: str) -> bool:
    return len(part) >= _LEAST_WORD and part.isalpha() and reads_like_a_word(part)


def _is_of_words(parts: list[str]) -> bool:
    """Whether one of the parts is a word, and none looks like a key: manylinux-ppc64le-17.2."""
    return any(map(_is_word, parts)) and not any(map(looks_like_key, parts))


def _named(run: str) -> int:
    """How many of its characters are in words."""
    return sum(len(hump) for hump in compiled(_HUMP).findall(run) if reads_like_a_word(hump))


def _is_named(run: str) -> bool:
    """Whether words make it up, joined by their capitals: getUserByIdFromCache2."""
    return _named(run) > len(run) * _MOST_NAMED


def is_made(value: str) -> bool:
    """Whether a word of 16 characters or more is made by a machine, though less at random: `abc123def456ghi789`.

    Enough behind a name that says what it is; a UUID is one, and so are many digits.
    """
    if len(value) < _LEAST_RANDOM or not value.isascii() or ":" in value:
        return False
    if compiled(_UUID).fullmatch(value):
        return True
    if value.isdigit():
        return len(value) >= _LONG
    parts = compiled(r"[\W_]+").split(value)
    run = "".join(parts)
    if _is_of_words(parts):
        return False
    if len(run) < _LEAST_RANDOM or _named(run) * 2 > len(run) or compiled(PIECES["IDENTIFIER"]).fullmatch(value):
        return False
    return any(map(str.isdigit, run)) and any(map(str.isalpha, run)) and entropy(run) > _LEAST_ENTROPY


_LEAST_WORD = 4
# getUserByIdFromCache2: what is made of words has few letters in between.
_HUMP = r"[A-Z]?[a-z]{3,}|[A-Z]{4,}"
_MOST_NAMED = 0.55
_LEAST_ENTROPY = 2.5


def _changes(word: str) -> float:
    """How often letters and digits take turns; a capital behind a small letter is half a turn, as names have these."""
    changes = 0.0
    for one, next_one in pairwise(word):
        if one.isalnum() and next_one.isalnum():
            if one.isdigit() != next_one.isdigit():
                changes += 1
            elif one.islower() and next_one.isupper():
                changes += 0.5
    return changes


_LONG = 20


_ASCII_DIGITS = frozenset("0123456789")


def looks_like_key(value: str) -> bool:
    """Letters and digits, or long and of both cases; nothing that a person would name something."""
    has_digit = not _ASCII_DIGITS.isdisjoint(value)
    parts = compiled(r"[\W_]+").split(value) if has_digit else value.split("_")
    if not has_digit:
        if not (value.isascii() and all(part.isalnum() for part in parts)):
            return False
        is_mixed = not (value.islower() or value.isupper()) and not _is_named(value)
        return (is_mixed and len(value) >= _LONG) or (len(value) >= _LEAST_RANDOM and not reads_like_a_word(value))
    if not any(map(str.isalpha, value)):
        return len(value) >= 16 and value.isdigit()
    if len(value) < 8 or _is_of_words(parts) or (not value.islower() and _is_named(value)):
        return False
    return compiled(PIECES["IDENTIFIER"]).fullmatch(value) is None
