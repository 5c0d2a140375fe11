"""Where a reading ends: what is one line, character or byte more than a bound, and what is exactly as much."""

import io
from pathlib import Path

import pytest
from tables import each_row

from ctxrank.indexer.errors.masks import MAX_WORDS, level, masked
from ctxrank.indexer.errors.parse import capture, console
from ctxrank.indexer.errors.parse.capture import Capture, capture_file, capture_stream
from ctxrank.indexer.errors.parse.console import unwrapped
from ctxrank.indexer.errors.parse.messages import in_full, with_first_of_list
from ctxrank.indexer.errors.parse.notations import headline_of
from ctxrank.indexer.errors.parse.reasons import reasons_beside
from ctxrank.indexer.errors.parse.structure import better_line
from ctxrank.indexer.errors.parse.units import MAX_UNITS, error_units, looked_at
from ctxrank.indexer.errors.signature import sign
from ctxrank.indexer.errors.vocabulary import is_mistyped, is_ordinary


def _kept(data: bytes, head: int, tail: int) -> bytes:
    """What is to be kept of an output, said in another way: whole lines from both ends."""
    if len(data) <= head + tail:
        return data
    first, last = data[:head], data[-tail:]
    begin = first[: first.rfind(b"\n") + 1] if b"\n" in first else first + b"\n"
    at = last[:-1].find(b"\n")
    return begin + (last[at + 1 :] if at >= 0 else last)


_LINES = b"".join(b"%d\n" % (n * n) for n in range(40))
_OUTPUTS = [_LINES[:length] for length in (0, 1, 19, 20, 21, 49, 50, 51, 52, 53, 54, 55, 79, 80, 81, 82, 120)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("HEAD_BYTES", 20), ("TAIL_BYTES", 30)):
        monkeypatch.setattr(capture, name, size)
    monkeypatch.setattr(capture, "_CHUNK_BYTES", 8)


@pytest.mark.usefixtures("small")
def test_whole_lines_of_both_ends_are_kept_however_they_arrive(tmp_path: Path) -> None:
    for data in (*_OUTPUTS, b"x" * 90, b"x" * 90 + b"\n", b"x" * 19 + b"\n" + b"y" * 60 + b"\nzz\n"):
        wanted = _kept(data, 20, 30)
        for step in (1, 3, 7, 8, 9, 25, 200):
            one = Capture()
            for at in range(0, len(data), step):
                one.feed(data[at : at + step])
            assert (one.data(), one.size_bytes) == (wanted, len(data))
        (tmp_path / "out").write_bytes(data)
        for read in (capture_stream(io.BytesIO(data)), capture_file(str(tmp_path / "out"))):
            assert (read.data(), read.size_bytes) == (wanted, len(data))


def test_what_is_kept_of_a_long_output_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last bytes are kept in pieces; those that are pushed out by later ones are given back."""
    for name, size in (("HEAD_BYTES", 20), ("TAIL_BYTES", 64), ("_CHUNK_BYTES", 8)):
        monkeypatch.setattr(capture, name, size)
    one = Capture()
    for _ in range(1000):
        one.feed(b"12345678")
        assert sum(map(len, vars(one)["_tail"])) < 64 + 8


def test_a_long_line_keeps_its_two_ends() -> None:
    whole, cut = "a" * 1000 + "b" * 1000, "a" * 1000 + "b" * 600 + " … " + "c" * 400
    assert console.clean(whole) == whole
    assert console.clean("a" * 1000 + "b" * 601 + "c" * 400) == cut


@pytest.mark.parametrize(("stamped", "bare", "is_cut"), [(2, 1, True), (3, 2, False), (4, 2, True), (190, 101, True)])
def test_a_time_before_two_lines_of_three_is_cut(stamped: int, bare: int, is_cut: bool) -> None:
    lines = [f"2026-11-22T10:00:00Z said {n}" for n in range(stamped)] + [f"said {n}" for n in range(bare)]
    assert console.clean("\n\n".join(lines)).startswith("said 0" if is_cut else "2026")


@each_row(
    "lines, is_cut",
    [
        (["[web] said", "[web] so"], True),
        (["[web] said", "[web] so", "bare"], True),
        (["[web] said", "[web] so", "bare", "[db bare"], False),
        (["[web] said", "[web] so", "[db] again", "[db] now"], True),
        (["[web] said", "[web] so", "[db] again"], False),
        (["[web] said", "[db] so"], False),
        (["[web] said"], False),
    ],
)
def test_a_name_before_two_lines_of_three_is_cut_where_each_comes_twice(lines: list[str], is_cut: bool) -> None:
    said = [line.partition("] ")[2] or line for line in lines] if is_cut else lines
    assert console.clean("\n".join(lines)).split("\n") == said


def test_the_first_200_lines_say_whether_times_are_cut() -> None:
    stamp, bare = "2026-11-22T10:00:00Z said", "said"
    for lines, is_cut in (([stamp] * 134 + [bare] * 66, True), ([stamp] * 133 + [bare] * 67 + [stamp] * 2, False)):
        assert (stamp in console.clean("\n".join(lines))) is not is_cut


def test_what_a_terminal_does_not_show_is_gone() -> None:
    assert console.clean("so\bo it\x07 go\x00es\t on  \r\n\x1b[1mb\x08bold\x1b[0m") == "so it goes\t on\nbold"
    assert console.clean("10%\r 50%\rdone\r\r") == "done"


def test_the_lines_of_a_wrapped_output_are_as_they_were_before() -> None:
    begin, end = "  ╰─> [2 lines of output]", "      [end of output]"
    inside = ["      first", "        second", "", "      third"]
    assert unwrapped([begin, *inside, end, "      after"]) == [
        begin,
        "first",
        "  second",
        "",
        "third",
        end,
        "      after",
    ]
    assert unwrapped([begin, end, "      after", "   more"]) == [begin, end, "      after", "   more"]
    assert unwrapped([begin, "", *inside[:1], "  less"]) == [begin, "", "first", "  less"]
    assert unwrapped(["│ said │", "╭─ Error ─╮", "╭─ Why: ─╮", "──", "│"]) == ["said", "Error:", "Why:", "", ""]


_STACK = (
    "  stack: |-",
    "    at <anonymous> (a.js:1:2)",
    "    Test.<anonymous> (b.js:3:4)",
    "    Error: it",
    "  code: 1",
    "    x",
)


@each_row(
    "fields, said",
    [
        (("  operator: equal",), ["  ---", "  operator: equal", "  ..."]),
        (("  expected: 1",), ["  ---"]),
        (("  error: 'no'",), ["  ---", "Error: no"]),
        (("  actual: 2",), ["  ---", "AssertionError: adds up expected got 2"]),
        (("  expected: 1", "  actual: 2"), ["  ---", "AssertionError: adds up expected 1 got 2"]),
        (("  error: 'no'", "  actual: 2"), ["  ---", "Error: no"]),
        (("  error: |-", "    one", "", "    two", "  name: TypeError"), ["  ---", "TypeError: one two"]),
        (
            ("  error: no", *_STACK),
            ["  ---", "Error: no", "    at <anonymous> (a.js:1:2)", "    at adds up (b.js:3:4)"],
        ),
        (
            ("  actual: 2", *_STACK),
            [
                "  ---",
                "AssertionError: adds up expected got 2",
                "    at <anonymous> (a.js:1:2)",
                "    at cart (b.js:3:4)",
            ],
        ),
    ],
)
def test_a_failed_test_in_tap_is_an_exception_with_its_calls(fields: tuple[str, ...], said: list[str]) -> None:
    lines = [
        "TAP version 13",
        "# cart",
        "ok 1 - pays",
        "not ok 2 - adds up",
        "  ---",
        *fields,
        "  ...",
        "1..2",
        "# pass 1",
    ]
    assert unwrapped(lines) == ["cart", "ok 1 - pays", *said]


_CLOSING = "Exiting due to 1 error(s)"


@each_row(
    "lines, leads",
    [
        (["ok", "cannot go"], "cannot go"),
        (["ok", "   cannot go"], ""),  # 4 and 1, and 4 alone
        (["cannot go", "ok", "cannot go to 'x'"], "cannot go to 'x'"),
        (["ok", "  cannot go", "cannot run"], "cannot run"),
        (["ok", "cannot go", "cannot run"], "cannot go"),
        (["ok", "x.c:7 'y' goes on"], ""),
        (["cannot go"], "cannot go"),
        (["cannot go", "error x.c:7 'y'"], "x.c:7 'y'"),
    ],
)
def test_a_line_leads_by_what_it_looks_like(lines: list[str], leads: str) -> None:
    """Loud 4, named 2, at the margin 1: 5 lead, of several the first."""
    found = better_line(_CLOSING, [*lines, _CLOSING], len(lines))
    assert ("" if found is None else lines[found]).strip().removeprefix("error ") == leads


def test_a_line_that_leads_is_looked_for_near_the_one_that_concludes() -> None:
    for between, is_found in ((59, True), (60, False)):
        above = ["error: 'x' is gone", *["ok"] * between, _CLOSING]
        assert (better_line(_CLOSING, above, between + 1) is not None) is is_found
    for between, is_found in ((58, True), (59, False)):
        below = [_CLOSING, *["ok"] * between, "error: 'x' is gone"]
        assert (better_line(_CLOSING, below, 0) is not None) is is_found


def test_a_colon_is_followed_by_the_first_of_two_lines() -> None:
    for below, said in ((["- x"], " x"), (["", " * y"], " y"), (["", "", "z"], ""), ([], "")):
        assert with_first_of_list("not there:", ["not there:", *below], 1) == f"not there:{said}"
    assert with_first_of_list("not there", ["not there", "x"], 1) == "not there"
    assert with_first_of_list("line 3:", ["line 3:", "x"], 1) == "line 3:"


def test_a_message_in_full_says_which_lines_it_is_of() -> None:
    def of(lines: list[str], start: int, *, title: bool = True) -> tuple[str, int, int]:
        return tuple(in_full(lines[start], lines, start, start + 1, may_be_title=title))  # type: ignore[return-value]

    code = ["let a = b;", "        ^"]
    assert of(["Not so", *code], 0) == ("Not so", 0, 1)
    assert tuple(in_full("Not so", ["Not so", *code], 0, 3, may_be_title=True)) == ("Not so: `b`", 0, 3)
    assert tuple(in_full("Not so", ["Not so", *code], 0, 3, may_be_title=False)) == ("Not so", 0, 3)
    assert of([*code, "Not so"], 2) == ("Not so: `b`", 0, 3)
    assert of(["x = 'ab cd'", "    ^~~~~~~", "Not so."], 2) == ("Not so: `ab cd`", 0, 3)
    assert of(["^", "Not so"], 1) == ("Not so", 1, 2)
    six, seven = " ".join(["word"] * 6), " ".join(["word"] * 7)
    assert of([*code, six], 2)[0] == f"{six}: `b`" and of([*code, seven], 2)[0] == seven
    assert of(["in x.c 3:", "  1 | y", "it is 'y'"], 0) == ("it is 'y'", 0, 3)
    assert of(["E_NO_Y", "  1 | y", "it is 'y'"], 0) == ("E_NO_Y: it is 'y'", 0, 3)
    for between, is_found in ((13, True), (14, False)):
        assert (of(["in x.c 3:", *["  1 | y"] * between, "it is 'y'"], 0)[0] == "it is 'y'") is is_found
        assert ("'y'" in of(["Not so", *["  1 | y"] * between, "The 'y' is."], 0)[0]) is is_found
    assert of(["Not so", "", "The 'y' is no", "number. It ends."], 0) == ("Not so: The 'y' is no number", 0, 4)
    assert of(["Not so", "it is said 'y'", "The 'y' is no", "number."], 0) == ("Not so", 0, 1)


def test_reasons_are_the_nearest_lines() -> None:
    lines = [*(f"cannot read 'a{n}'" for n in range(8)), "Error: it is 'x'", *(f"of 'b{n}' it is" for n in range(14))]
    found = reasons_beside("it is 'x'", lines, 8, 9)
    assert found == ((*lines[2:8], *lines[9:15]), 2, 15)
    assert reasons_beside("it is 'x'", lines[:1], 0, 1) is None
    long = reasons_beside("it is 'x'", ["it is 'x'", f"of {'b' * 500}"], 0, 1)
    assert long is not None and len(long.lines[0]) == 400


def test_messages_and_units_are_bounded() -> None:
    text = "\n".join(f"a{n}.c:1:2: error: '{n}' {'x' * 700}" for n in range(30))
    units = error_units(text)
    assert len(units) == MAX_UNITS == 20
    assert {len(unit.message) for unit in units} == {600}
    trace = "Traceback (most recent call last):\n" + "".join(
        f'  File "/srv/a.py", line 1, in f{n}\n    {"y" * 300}\n' for n in range(90)
    )
    unit = error_units(f"{trace}ValueError: {'z' * 3000}\n" + "w\n" * 60)[0]
    assert [frame.function for frame in unit.frames] == [f"f{n}" for n in range(30, 90)]
    assert {len(frame.code) for frame in unit.frames} == {200}
    assert len(unit.detail) == 40 and len(unit.text) == 2003 and len(unit.message) == 600
    assert unit.text[:1000] == trace[:1000]


def test_what_is_looked_at_of_a_long_text_is_its_two_ends() -> None:
    text = "".join(f"{n:07}\n" for n in range(60_000))
    seen = looked_at(text)
    assert seen == f"{text[:100_000]}\n{text[-300_000:]}"
    assert looked_at(text[:400_000]) == text[:400_000]


def test_an_announcement_is_read_of_the_first_800_characters() -> None:
    found = headline_of(f"a.c:1:2: error: {'x' * 900}")
    assert found is not None and len(found.message) == 800 - len("a.c:1:2: error: ")


def test_a_template_and_its_values_are_bounded() -> None:
    found = masked(" ".join(f"word '{n}{'x' * 200}'" for n in range(90)))
    assert len(found.words) == MAX_WORDS == 60
    assert {len(value) for value in found.values} == {120}
    assert masked("'a' 'b' or 'c' and 'd'") == (("<v>", "or", "and", "<v>"), ("a", "b", "c", "d"))
    syntax = "while in for do else if"  # 23 characters, one more is the last that is syntax
    assert masked(f"'{syntax} '").words == ("'whileinfordoelseif'",)
    assert masked(f"'{syntax} if'").words == masked("'for x'").words == ("<v>",)


def test_a_word_is_levelled() -> None:
    levelled = {
        "bodies": "body",
        "dies": "die",
        "ties": "tie",
        "flies": "fly",
        "classes": "class",
        "pushes": "push",
        "boxes": "box",
        "was": "is",
        "gas": "gas",
        "abs": "abs",
        "bus": "bus",
        "keys": "key",
        "pass": "pass",
        "status": "status",
        "this": "this",
        "it's": "it's",
        "Types": "type",
        "batches": "batch",
    }
    assert {word: level(word) for word in levelled} == levelled


@each_row(
    "word, is_wrong",
    [
        ("fiel", True),
        ("flie", True),
        ("ifle", True),
        ("file", False),
        ("filex", True),
        ("xfile", True),
        ("fixle", True),
        ("fil3", False),
        ("fle", True),
        ("ile", True),
        ("fil", True),
        ("quzz", False),
        ("failure", False),
    ],
)
def test_a_word_that_is_one_slip_from_another_is_mistyped(word: str, is_wrong: bool) -> None:
    assert is_mistyped(word, "option") is is_wrong
    assert not is_mistyped(word, "file")


def test_an_ending_tells_a_word_of_six_letters() -> None:
    assert is_ordinary("frobed") and not is_ordinary("frbed") and not is_ordinary("frobqx")


def test_notes_and_details_are_bounded() -> None:
    words = ["argument", "value", "type", "field", "column", "table", "module", "package", "library", "server"]
    notes = "".join(f"  = note: the {one} and the {two} are used\n" for one in words for two in words if one != two)
    unit = error_units(f"error[E0001]: not so\n --> a.rs:1:1\n  |\n{notes}")[0]
    signature = sign(unit)
    assert len(signature.notes) == 8 and 0 < len(signature.details) <= 40
    assert sign(error_units("error[E0001]: not so\n --> a.rs:1:1\n  |\n  = note: the value\n")[0]).notes == ()


@pytest.mark.parametrize("headline", ["ValueError: bad:", "error: these differ:", "Error: no", "FAILED", "panic: x:"])
def test_a_text_may_end_behind_its_headline(headline: str) -> None:
    """What belongs to a message is looked for below it, also where nothing more was printed."""
    for below in ([], ["x"], ["", "x"], ["- x", "- y"], ["x ^^^"], ["Sentence of what is wrong."]):
        units = error_units("\n".join([headline, *below]))
        assert all(unit.message for unit in units)
    assert error_units("ValueError: bad:\nx")[0].message == "bad: x"
