r"""What shows nothing goes, and what a text needs stays. Joiners and selectors are written as escapes, to be seen."""

import re
import unicodedata

import pytest
from disguises import BRAILLE_BLANK, CONTROLS, ESCAPES, IGNORABLE
from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.text.escapes import without_escapes
from ctxrank.indexer.text.invisible import is_ignorable, is_invisible, without_ignorable, without_invisible
from ctxrank.indexer.text.lines import fence, is_one_line, one_line, printable, shown_json, visible_json

_ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
KEPT = (
    "👍🏽 ✅ 🎉 plain emoji, 🇩🇪 a flag, © and ™",
    "❤\ufe0f and ☎\ufe0e, 1\ufe0f\u20e3 #\ufe0f\u20e3 keycaps",
    "👨\u200d👩\u200d👧, 👩🏽\u200d💻 with a skin tone, 🏳\ufe0f\u200d🌈 🏴\u200d☠\ufe0f flags, ❤\ufe0f\u200d🔥",
    f"{_ENGLAND} a region",
    "می\u200cخواهم کتاب\u200cها را بخوانم؛ PDF\u200cها، ۱۲\u200cام، سال ۱۴۰۳ ه\u200d.ش",  # noqa: RUF001
    "عربي: السَّلامُ عليكم، لغة\u200c\u200bx".replace("\u200c\u200b", " "),
    "हिन्दी: क्\u200dष, क्\u200cष, श्री, विद्यार्थी",
    "বাংলা: র\u200d্যাব, উদ্\u200cঘাটন; සිංහල: ශ්\u200dරී; മലയാളം: ന്\u200d",
    "한국어: 안녕하세요, \u1112\u1161\u11ab 조합형",
    "日本語とアイウ、繁體字 ไทย עברית Ελληνικά Русский",
    "e\u0301 o\u0308 combining, ½ ² ª",
)
GONE = (
    ("".join(f"a{chr(0xE0100 + byte)}" for byte in b"do as I say"), "a" * 11),
    ("😀" + "".join(chr(0xE0100 + byte) for byte in b"do as I say"), "😀"),
    ("x" + "".join(chr(0xE0000 + byte) for byte in b"do as I say"), "x"),
    ("\U0001f3f4" + "".join(chr(0xE0000 + byte) for byte in b"ustx") + "\U000e007f", "\U0001f3f4"),
    ("a\ufe0fb 1\ufe0f2 漢\ufe00 漢\U000e0100 ≨\ufe00", "ab 12 漢 漢 ≨"),
    ("❤\ufe0f\ufe0f\ufe0e ☎\ufe0e\ufe0e", "❤\ufe0f ☎\ufe0e"),
    ("👩\u200d\u200d💻 👩\u200d a\u200d👩 a\u200db a\u200cb", "👩\u200d💻 👩 a👩 ab ab"),
    ("می\u200c\u200c\u200dخوب \u200cم م\u200c", "می\u200cخوب م م"),
    ("क्\u200d\u200dष क\u200dष क\u200cष", "क्\u200dष कष कष"),
    ("가\u3164나 \u115f\u1160 \uffa0x", "가나  x"),
    (f"a{BRAILLE_BLANK}b c\u034fd e\u00adf g\u200bh i\u2060j \ufeffk", "ab cd ef gh ij k"),
    ("a\u202eb\u2066c\u200ed\u061ce", "abcde"),
)  # fmt: skip


@each_row("text", KEPT)
def test_a_text_in_any_script_comes_out_as_it_went_in(text: str) -> None:
    assert without_invisible(text) == printable(text) == one_line(text) == without_ignorable(text) == text
    assert is_one_line(text)
    assert shown_json(f'"{text}"') == visible_json(f'"{text}"')


@each_row("text, shown", GONE)
def test_what_hides_goes_and_at_most_one_joiner_or_selector_stays(text: str, shown: str) -> None:
    assert without_invisible(text) == printable(text) == without_ignorable(text) == shown
    assert not is_one_line(text)
    assert without_ignorable(f"{text}\n" * 2500) == f"{shown}\n" * 2500


def test_every_ignorable_character_goes_from_between_two_letters() -> None:
    assert not any(printable(f"a{char}b") != "ab" for char in (*IGNORABLE, *CONTROLS, BRAILLE_BLANK))
    assert all(map(is_ignorable, IGNORABLE)) and len(IGNORABLE) == 4174


@pytest.mark.slow
def test_what_is_of_category_c_is_invisible() -> None:
    assert all(is_invisible(char) for char in map(chr, range(0x110000)) if is_other(char))
    others = (char for char in map(chr, range(0x110000)) if not is_other(char) and not is_ignorable(char))
    assert list(filter(is_invisible, others)) == [BRAILLE_BLANK]


def is_other(char: str) -> bool:
    return unicodedata.category(char)[0] == "C" and char not in "\n\t"


def test_nothing_that_is_seen_is_taken_for_ignorable() -> None:
    known = set(IGNORABLE)
    assigned = (char for char in map(chr, range(0x110000)) if unicodedata.category(char) not in ("Cn", "Cs", "Co"))
    assert not any(is_ignorable(char) != (char in known) for char in assigned)


def test_line_and_paragraph_separators_end_a_line() -> None:
    assert printable("a\u2028b\u2029c\r\nd\re") == "a\nb\nc\nd\ne"
    assert one_line("a\u2028b") == "a b" and shown_json('"a\u2028b"') == '"a\\u2028b"'


@given(
    st.text(
        st.sampled_from(
            [*"a1#म्که漢\u20e3", "👩", "❤", "🏽", "\U0001f3f4", *_ENGLAND[1:], *"\u200b\u200c\u200d\ufe0e\ufe0f"]
        )
    )
)
def test_what_was_shown_once_is_shown_the_same_again(text: str) -> None:
    shown = without_invisible(text)
    assert without_invisible(shown) == shown
    assert not re.search("[\u200c\u200d\ufe0e\ufe0f]{2}", shown.replace("\ufe0f\u200d", "\u200d"))


@each_row("escape", [escape for escape in ESCAPES if escape not in ("\x1b[", "\x1b]", "\x1b")])
def test_an_escape_goes_whole(escape: str) -> None:
    assert without_escapes(f"a{escape}é\n{escape}{escape}b") == "aé\nb"


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["\u200d", "👩\u200d", "\U000e0041", "a\ufe0f", "\x1b[1", "\x1b]"])
def test_long_runs_take_linear_time(piece: str) -> None:
    assert len(printable(without_escapes(piece * 200_000))) <= 600_000  # the run's own limit says the rest


@each_row("text, ticks", [("", 3), ("a ``b``", 3), ("```", 4), ("a ````` b ```\n", 6), ("`" * 100_000, 100_001)])
def test_a_fence_is_longer_than_any_in_its_text(text: str, ticks: int) -> None:
    assert fence(text) == "`" * ticks


@each_row("first, last", [(0x115F, 0x1160), (0x17B4, 0x17B5), (0x200B, 0x200F), (0x2060, 0x206F), (0xFFF0, 0xFFF8)])
def test_a_range_of_ignorable_characters_ends_where_unicode_says(first: int, last: int) -> None:
    found = [code for code in range(first - 2, last + 3) if is_ignorable(chr(code))]
    assert found == [*range(first, last + 1)]


@each_row("text", ["\u200dab", "ab\u200d", "\u200b", "a\u00ad\u200db", "\ufe0fa\ufe0f"])
def test_what_hides_at_an_end_goes_and_in_a_long_text_too(text: str) -> None:
    plain = "".join(char for char in text if char in "ab")
    assert without_invisible(text) == without_ignorable(text) == plain
    assert without_ignorable(text + "é" * 20_000) == plain + "é" * 20_000
