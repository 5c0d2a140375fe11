"""How many tokens a text costs and how many a model takes, without a tokenizer.

    estimate_tokens("def open(self):\\n")         6
    cautious_tokens("def open(self):\\n")         6.9    rarely below the exact count
    model_factor("claude-sonnet-4-5")            1.20     o200k counts times this
    model_limit("sonnet")                        (200000, True)

The unit everywhere is the token of o200k_base, OpenAI's public vocabulary. An exact counter is in
`ctxrank.indexer.text.vocabulary`.
"""

from _operator import mul
from collections.abc import Callable
from math import ceil, fsum

from ctxrank.indexer.light_typing import cache, cast
from ctxrank.indexer.text.tables import compiled, rows

# Least squares against o200k_base over prose, Markdown, Python, JSON, diffs, logs and CJK: -6 to +3 % per
# class, where the usual len / 4 is off by -35 % on logs and -46 % on CJK.
PER_WORD = 0.994  # a run of letters, cut where lower case meets upper case
PER_LETTER_BEYOND_SIX = 0.121
PER_DIGIT_TRIPLE = 1.354  # o200k cuts numbers into groups of three
PER_PUNCTUATION_RUN = 0.509
PER_PUNCTUATION_CHARACTER = 0.249
PER_NEWLINE_RUN = 0.779
PER_WIDE_SPACE = 0.694  # a run of two or more spaces
PER_WIDE_CHARACTER = 0.690  # a character beyond ASCII

_PRICES = (
    PER_WORD, PER_LETTER_BEYOND_SIX, PER_DIGIT_TRIPLE, PER_PUNCTUATION_RUN, PER_PUNCTUATION_CHARACTER, PER_NEWLINE_RUN,
    PER_WIDE_SPACE, PER_WIDE_CHARACTER,
)  # fmt: skip


# The estimate is fitted to come out right on average. A budget needs a count that the exact one is not above: with a
# margin, and with what some texts cost beyond the average. On 85,233 lines of documents and code (2026-11) 79 single
# lines were still above it, the worst by 14 %, and no whole text was. Random letters and rare CJK characters may be.
MARGIN = 1.15
PER_LATER_CAPITAL = 0.35  # ORCHESTRATOR is four tokens, Orchestrator two
PER_LATER_PUNCTUATION = 0.6  # |---|---| and rulers
PER_LATER_MACHINE_CHARACTER = 0.45  # base64, hashes: few of their parts are in the vocabulary
_SHORTEST_MACHINE_WORD, _FIRST_OF_MACHINE_WORD = 24, 12
PER_LONE_DIGIT = 0.5  # a digit never takes the space before it into its token
PER_DENSE_CHARACTER = 0.5  # CJK, symbols
PER_ASTRAL_CHARACTER = 1.8  # emoji: two or three tokens each
_FIRST_BYTES = bytes(range(0xC0, 0x100))
_FIRST_OF_DENSE, _FIRST_OF_ASTRAL = bytes(range(0xE2, 0x100)), bytes(range(0xF0, 0x100))
LONGEST_TOKEN_BYTES = 128  # of o200k_base: no text has fewer tokens than its bytes divided by this

DEFAULT_LIMIT_TOKENS = 200_000
ESTIMATE = "estimate"  # the counter's name where no vocabulary counted


class TokenCounter:
    """A way to count tokens, and the name that says which: `o200k_base` or `estimate`."""

    # No NamedTuple, whose own method `count` the field would hide.
    __slots__ = ("count", "name")

    def __init__(self, name: str, count: Callable[[str], int]) -> None:
        self.name = name
        self.count = count


def estimate_tokens(text: str) -> int:
    """About how many o200k_base tokens a text has, rounded up; 0 for the empty text alone."""
    raw = text.encode("utf-8", "surrogatepass")
    return _estimate(len(raw), class_counts(raw))


def _estimate(size: int, counts: tuple[int, ...]) -> int:
    # Rounded once: the builtin sum rounds otherwise since Python 3.12, and a count is the same on each.
    return max(ceil(fsum(map(mul, _PRICES, counts))), -(-size // LONGEST_TOKEN_BYTES))


def class_counts(raw: bytes) -> tuple[int, ...]:
    """The counts of `all_in_python`, by its compiled twin where there is one."""
    words = compiled("_words")
    return all_in_python(raw) if words is None else cast("tuple[int, ...]", words.count_classes(raw))


def all_in_python(raw: bytes) -> tuple[int, ...]:
    """How often the bytes of a text have what the estimate prices, in the order of `_PRICES`, and then what a surcharge
    is for, in that of `_surcharge`.
    """
    cases = b" " + raw.translate(_CASES)
    digits, punctuation = raw.translate(_DIGITS), raw.translate(_PUNCTUATION)
    return (
        cases.count(b" a") + cases.count(b" A") + cases.count(b"aA"),
        _beyond(raw.translate(_LOWER_CASE), 6),
        digits.count(_MARK * 3) + _runs(digits.replace(_MARK * 3, b"")),
        _runs(punctuation),
        punctuation.count(_MARK),
        # Looking for what is rare is five times as fast as marking.
        _runs(raw.translate(_NEWLINES)) if b"\n\n" in raw or b"\r" in raw else raw.count(b"\n"),
        _runs(raw.translate(_SPACES), at_least=2) if b"  " in raw or b"\t" in raw else 0,
        # Characters are classified by the first byte of their UTF-8, which is counted at C speed.
        0 if raw.isascii() else len(raw) - len(raw.translate(None, _FIRST_BYTES)),
        _beyond(raw.translate(_UPPER_CASE), 3),
        _beyond(raw.translate(_VISIBLE_PUNCTUATION), 3),
        _later_machine_characters(raw),
        raw.translate(_SHAPE).count(b" 0"),
        0 if raw.isascii() else len(raw) - len(raw.translate(None, _FIRST_OF_DENSE)),
        0 if raw.isascii() else len(raw) - len(raw.translate(None, _FIRST_OF_ASTRAL)),
    )


# Everything is counted at C speed and without a pattern, since loading `re` takes half a bare start:
# `translate` makes a 1 of every byte of one class and a 0 of all others, and `count` then finds where a run begins.
_MARK, _OTHER = b"\1", b"\0"


def _marking(marked: bytes) -> bytes:
    table = bytearray(256)
    for byte in marked:
        table[byte] = 1
    return bytes(table)


# Made by slices and deletions, because an assembly makes them at each start; a loop over all bytes takes ten times as
# long.
_SPACE_BYTES = b" \t"
_NEWLINE_BYTES = b"\r\n"
_LOWER_BYTES, _UPPER_BYTES, _DIGIT_BYTES = bytes(range(0x61, 0x7B)), bytes(range(0x41, 0x5B)), bytes(range(0x30, 0x3A))
_LOWER_CASE = _marking(_LOWER_BYTES)
_DIGITS = _marking(_DIGIT_BYTES)
_NEWLINES = _marking(_NEWLINE_BYTES)
_SPACES = _marking(_SPACE_BYTES)
_PUNCTUATION = _marking(
    bytes(range(0x80)).translate(None, _LOWER_BYTES + _UPPER_BYTES + _DIGIT_BYTES + _SPACE_BYTES + _NEWLINE_BYTES)
)
_UPPER_CASE = _marking(_UPPER_BYTES)
_VISIBLE_PUNCTUATION = _marking(bytes(range(0x21, 0x7F)).translate(None, _LOWER_BYTES + _UPPER_BYTES + _DIGIT_BYTES))
_MACHINE_WORD = _marking(_LOWER_BYTES + _UPPER_BYTES + _DIGIT_BYTES + b"+/=")
_CASES = (b" " * 0x41 + b"A" * 26 + b" " * 6 + b"a" * 26).ljust(256)
_SHAPE = bytes.maketrans(_LOWER_BYTES + _UPPER_BYTES + _DIGIT_BYTES, b"a" * 26 + b"A" * 26 + b"0" * 10)


def _runs(marks: bytes, *, at_least: int = 1) -> int:
    """How many runs there are of at least so many marks."""
    run = _MARK * at_least
    return marks.count(_OTHER + run) + marks.startswith(run)


def _beyond(marks: bytes, first: int) -> int:
    """The marks that are not among the first so many of their run."""
    if _MARK * (first + 1) not in marks:  # as mostly
        return 0
    number = int.from_bytes(marks, "big")  # one byte for each place, so that all of them move at once
    for _ in range(first):
        number &= number >> 8  # takes the first mark off each run
    return number.bit_count()


def cautious_tokens(text: str) -> float:
    """The count; 0 for the empty text alone."""
    raw = text.encode("utf-8", "replace")
    counts = class_counts(raw)
    return MARGIN * _estimate(len(raw), counts) + _surcharge(*counts[len(_PRICES) :])


def surcharge(text: str) -> float:
    """What a text that is not of the usual make costs beyond its estimate."""
    return _surcharge(*class_counts(text.encode("utf-8", "replace"))[len(_PRICES) :])


def _surcharge(capitals: int, punctuation: int, machine: int, digits: int, dense: int, astral: int) -> float:
    tokens = PER_LATER_CAPITAL * capitals + PER_LATER_PUNCTUATION * punctuation + PER_LATER_MACHINE_CHARACTER * machine
    return tokens + PER_LONE_DIGIT * digits + PER_DENSE_CHARACTER * dense + PER_ASTRAL_CHARACTER * astral


def _later_machine_characters(raw: bytes) -> int:
    marks = raw.translate(_MACHINE_WORD)
    if _MARK * _SHORTEST_MACHINE_WORD not in marks:
        return 0
    lengths = [len(run) for run in marks.split(_OTHER)]
    return sum([length - _FIRST_OF_MACHINE_WORD for length in lengths if length >= _SHORTEST_MACHINE_WORD])


_VERSION = r"(?<!\d)(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)"
_CLAUDE = ("claude", "haiku", "sonnet", "opus")

CLAUDE_FACTOR = 1.20
CLAUDE_NEW_FACTOR = 1.55
CLAUDE_NEW_SINCE = (4, 7)


def model_factor(model: str) -> float:
    """What to multiply an o200k_base count by to expect the count of a model's own tokenizer.

    OpenAI's models use o200k_base. Claude's tokenizers have not been public since Claude 3: public reports
    and an unofficial reconstruction agree on 1.13 to 1.33 up to Claude 4.6 and on 1.43 to 1.64 since 4.7;
    these are the expected values. A Claude name without a version means the newest. Unknown models get 1.
    """
    name = model.lower()
    starts = [at for family in _CLAUDE if (at := name.find(family)) >= 0]
    if not starts:
        return 1.0
    if not any(map(str.isdigit, name)):
        return CLAUDE_NEW_FACTOR
    import re  # noqa: PLC0415  start-up: most names have no version

    version = re.search(_VERSION, name[min(starts) :])
    if version and (int(version[1]), int(version[2] or 0)) < CLAUDE_NEW_SINCE:
        return CLAUDE_FACTOR
    return CLAUDE_NEW_FACTOR


_limits_tokens = cache(lambda: {name: int(limit) for name, limit in rows(__file__, "models")})


def model_limit(model: str | None) -> tuple[int, bool]:
    """The context limit of a model in tokens, and whether the model is known; if not, the usual limit."""
    name, limits = (model or "").lower(), _limits_tokens()
    if name in limits:
        return limits[name], True
    if not name:
        return DEFAULT_LIMIT_TOKENS, False
    import re  # noqa: PLC0415  start-up: every spawn asks, and most for one of these names or for none

    for key in sorted(limits, key=len, reverse=True):
        if key in name and re.search(rf"(?<![a-z0-9-]){re.escape(key)}(?![a-z0-9.])", name):
            return limits[key], True
    return DEFAULT_LIMIT_TOKENS, False
