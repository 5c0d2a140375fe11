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

# Where a value ends. Everything from here to the functions is matched under (?i).
END = r"""(?=[\s"'`<>,;&)\]}|\\]|[.:?](?:\s|\Z)|\Z)"""
PLAIN = r"""[^\s"'`<>,;&)\]}|\\]"""

_MARKER = r"\[?(?:[a-z]{1,16}_){0,4}redacted(?![a-z0-9])"

# ${X}, {{ x }}, <password>, %(x)s, %s, a list, an object; $VARIABLE; %VARIABLE%; ****; xxxx; a small number.
_PLACEHOLDER = (
    r"[$%#@]?[{(<\[]|[a-z][a-z0-9+.-]{1,15}+://|--[a-z]|GHSA-\w{4}-\w{4}-\w{4}(?!\w)"
    # A public key or a certificate, and what zlib packed, in base64.
    r"|(?-i:MI[A-Z](?![\w+/]{1,4}IBA)[\w+/]{16}|eJ[w-z][\w+/-]{14})|(?-i:[LCIBU])\{[\w. ]{1,60}+\}|deadbeef[0-9a-f]{0,16}+"
    + END
    + r"|\$(?:[a-z_]{1,64}+|(?-i:[A-Z_][A-Z0-9_]{0,63}+))"
    + END
    + r"|%[a-z_]{1,64}+%"
    r"|%[-+.*\d]{0,6}[sdrx]" + END + r"|[*]{2}|[.…]{3}|…|[x]{3,64}+" + END + r"|-?\d{1,3}" + END + r"|[_-]{1,64}+" + END
)

# Words that say that there is no value; a few are patterns behind their first letter.
_RESERVED_WORDS = tuple(
    (
        "none null nil true false undefined str string text bytes bool boolean int integer number object any required "
        "optional hidden masked omitted secretstr example yes no on off test testing dummy fake mock sample demo "
        "placeholder unset unknown empty missing invalid expired disabled enabled default inherit always never prompt "
        "stdin non-empty-string nonempty foo bar baz foobar blah user username pass basic bearer plain plaintext your[a-z_-]{1,40}+"
    ).split()
)


# By their first letters: sixty words, tried one after the other, are slow to reject.
_BY_FIRST_LETTER = "|".join(
    f"{letter}(?:{'|'.join(word[1:] for word in _RESERVED_WORDS if word[0] == letter)})"
    for letter in dict.fromkeys(word[0] for word in _RESERVED_WORDS)
)
_RESERVED = f"(?:{_BY_FIRST_LETTER})" + END

# A value of letters that itself says "password" or "key" is a name or a stand-in: OPENAI_API_KEY, not a monkey.
_MENTION = (
    r"[a-z_.-]{0,60}?"
    r"(?:p(?:ass(?:w|phrase)|wd)|secret|token|credential"
    r"|key(?:[_.-]|(?<=[_.-]key)|(?<=apikey)|(?<=mykey)|(?<=accesskey)|(?<=privatekey)|(?<=publickey)))"
)

# One look says whether it is of letters at all.
_WORD = r"(?=[a-z_.-]{1,120}+" + END + f")(?:{_RESERVED}|{_MENTION})"

# /run/secrets/db and ~/.ssh/id (a capital only where a name starts: else it may be base64);
# src/auth/token.py:42:7; token.py:42; yes/no.
_PATH_SHAPES = "|".join(
    shape + END
    for shape in (
        r"[~.]{0,2}(?>(?:/(?-i:[A-Z]?[a-z0-9@_.-]{0,64}+)){1,20})",
        r"(?:[~.]{0,2}/)?(?>(?:[\w@.-]{1,64}+/){1,20})[\w-]{1,64}+(?>(?:\.[a-z]\w{0,7}+){1,2})(?>(?::\d{1,6}+){0,2})",
        r"[\w@-]{1,64}+\.[a-z]\w{0,7}+(?>(?::\d{1,6}+){1,2})",
        r"(?-i:[a-z_.-]{1,64}+)(?>(?:/(?-i:[a-z_.-]{1,64}+)){1,20})",
    )
)

# One look says whether a slash or a colon is where each of them needs one.
_PATH = rf"(?=[\w.@~-]{{0,80}}+[/:])(?:{_PATH_SHAPES})"

STAND_IN = f"{_MARKER}|{_PLACEHOLDER}|{_WORD}|{_PATH}"

# A call or an index, a path of attributes, a variable or a word of prose. Twenty letters of one case
# without a break are no word.
CODE = (
    r"[&*!]?\.?[^\W\d][\w.:>-]{0,100}+[(\[]|(?-i:[A-Z])[a-z]{1,40}+[?!]" + END
    + r"|[&*!]?(?>(?:[^\W\d]{1,64}+\d{0,2}(?:[.]|::)){1,12})[^\W\d]{1,64}+\d{0,2}" + END +
    # a.b:a.c of a choice between two
    r"|(?>(?:[a-z_$]\w{0,40}+\.){1,6})[a-z_$]\w{0,40}+[?:][a-z_$]"
    r"|[^\W\d_]{1,40}+(?>(?:_[^\W\d_]{1,40}+){1,6})_?\d{1,2}"
    + END
    + r"|[&*!]?(?!(?-i:[a-z]{20,200}+|[A-Z]{20,200}+)"
    + END
    + r")(?>(?:[^\W\d]|[.-]){1,200})"
    + END
)


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
    seen: dict[str, tuple[int, Secret | None]] = {}
    done = 0
    for place in places:
        if place < done:
            continue
        surroundings = text[max(0, place - before) : place + behind] if len(places) > _DENSE_PLACES else ""
        first, secret = seen.get(surroundings, (-1, None)) if surroundings else (-1, None)
        if first < 0:
            secret = secret_at(place)
            if secret is None or secret.end + _CHARS_BEYOND <= place + behind:
                seen[surroundings] = place, secret
        elif secret is not None:
            secret = secret._replace(start=secret.start + place - first, end=secret.end + place - first)
        if secret is not None:
            yield secret
            done = secret.end


_CHARS_BEYOND = 64  # what ends a value is seen in a few behind it
_DENSE_PLACES = 200


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, compiled when it is first needed: a call pays only for the rules that its text may break."""
    return re.compile(pattern)


# Made once: a pattern put together at each call is hashed at each call.
_STAND_IN = "(?i)" + STAND_IN
_CODE = "(?i)" + CODE


def is_stand_in(text: str, place: int) -> bool:
    """Whether the text there takes a secret's place or talks of one."""
    return compiled(_STAND_IN).match(text, place, place + GUARD_CHARS) is not None


def is_version(text: str, place: int) -> bool:
    """Whether a version is there: `1.2.0`, `^3.1`, `v0.0.0-20260807164820-c8921c73eeea`."""
    return compiled(_VERSION).match(text, place, place + GUARD_CHARS) is not None


_VERSION = r"[\^~<>=]{0,2}v?\d{1,4}(?:\.\d{1,8}){1,3}(?:[-+][\w.+-]{0,60})?" + END


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


# client_v2, server-01, a date or a version; a host; escaped bytes; my_first_token_2, words and few digits.
_IDENTIFIER = (
    r"(?:[A-Za-z]+[_.-]?)?\d{1,3}|\d{1,6}(?>(?>(?:_[a-z]++\d{0,2}){1,500})+)|[\d.:/-]+[A-Za-z]?|v?\d+(?:[._-]\w{1,6}){1,3}"
    r"|[\w-]++(?>(?:\.[\w-]++){1,5}):\d++|(?>(?:[A-Za-z_]\w*+\.){2,9})\w++(?>(?>(?:[@/$]\w++){1,500})*):?|(?:\\x[0-9a-f]{2})+"
    r"|(?>(?:[a-z]++\d{0,2}[_.-]){1,9})[a-z]*+\d{0,2}|(?>(?:[A-Z]++\d{0,2}[_.-]){1,9})[A-Z]*+\d{0,2}"
)


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
    is_mixed = digits > 0 and value.isalnum() and not (value.islower() or value.isupper())
    if is_mixed and len(value) > _LEAST_STRONG + 1 and _named(value) * 3 < len(value):
        return compiled(_IDENTIFIER).fullmatch(value) is None
    return is_random(value)


_MANY_CHANGES = 3


# a=1, x+2, call(3): not what somebody typed as a password.
_EXPRESSION = (
    r"[\w.\[\]()]*+(?>(?:[=+*?&]{1,2}+[\w.\[\]()\"'-]*+)+)|[#@$~&*+?][\w.-]*|[A-Za-z_.-]+[*?!]|[~=^]{1,2}[\d.x*-]+.*"
)


def is_random(value: str) -> bool:
    """Whether a word of 16 characters or more can only have been made by a machine; digests may be, too."""
    if len(value) < _LEAST_RANDOM or not value.isascii() or compiled(_UUID).fullmatch(value):
        return False
    parts = compiled(r"[\W_]+").split(value)
    words = sum(len(part) >= _LEAST_WORD and part.isalpha() and reads_like_a_word(part) for part in parts)
    run = "".join(parts)
    if words * 2 >= len(parts) or len(run) < _LEAST_STRONG or max(map(len, parts)) < _LEAST_WORD:
        return False
    if run.isalpha():
        return len(parts) == 1 and not reads_like_a_word(run)
    if _is_named(run):
        return False
    is_mixed = _changes(run) / len(run) > _WELL_MIXED or (
        len(run) >= _LONG and _named(run) == 0 and _is_of_all_kinds(run)
    )
    return not run.isdigit() and is_mixed and entropy(run) > _LEAST_ENTROPY


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
    run = "".join(compiled(r"[\W_]+").split(value))
    if len(run) < _LEAST_RANDOM or _named(run) * 2 > len(run) or compiled(_IDENTIFIER).fullmatch(value):
        return False
    return any(map(str.isdigit, run)) and any(map(str.isalpha, run)) and entropy(run) > _LEAST_ENTROPY


def _is_of_all_kinds(run: str) -> bool:
    """Whether it has digits, and letters of both cases."""
    return any(map(str.isdigit, run)) and any(map(str.islower, run)) and any(map(str.isupper, run))


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
    has_letter = any(map(str.isalpha, value))
    if not has_digit:
        if not (value.isascii() and value.isalnum()):
            return False
        is_mixed = not (value.islower() or value.isupper()) and not _is_named(value)
        return (is_mixed and len(value) >= _LONG) or (len(value) >= _LEAST_RANDOM and not reads_like_a_word(value))
    if not has_letter:
        return len(value) >= 16 and value.isdigit()
    if len(value) < 8:
        return False
    return compiled(_IDENTIFIER).fullmatch(value) is None
