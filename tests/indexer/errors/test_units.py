"""Console output is cut into errors, the one that explains the rest first; whatever is fed in, it ends well."""

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row
from tool_outputs import OUTPUTS, SAYING, SUMMARIES, TRACEBACK

from ctxrank.indexer.errors.parse.console import clean
from ctxrank.indexer.errors.parse.summaries import is_summary
from ctxrank.indexer.errors.parse.units import MAX_UNITS, ErrorUnit, error_units
from ctxrank.indexer.errors.signature import sign


def first(text: str) -> ErrorUnit:
    return error_units(text)[0]


@each_row("name", OUTPUTS)
def test_the_error_of_each_tool_is_found(name: str) -> None:
    text, (tool, error_type, code, message) = OUTPUTS[name]
    unit = first(text)
    assert unit.message == message
    assert (unit.tool, unit.error_type) == (tool, error_type)
    assert not code or unit.codes[0] == code


@each_row("text", [*(text for text, _ in OUTPUTS.values()), TRACEBACK])
def test_what_is_kept_of_an_error_signs_to_the_same_signature(text: str) -> None:
    """A newer normaliser has nothing else to sign again."""
    for unit in error_units(text):
        kept, signature = sign(first(unit.text)), sign(unit)
        assert (kept.template, kept.instance, kept.frames) == (signature.template, signature.instance, signature.frames)


def test_a_report_is_all_that_was_printed_or_what_stands_around_the_error() -> None:
    short = "Compiling a\nerror: no such thing as 'x'\nerror: no such thing as 'y'\n1 step done"
    assert {unit.report for unit in error_units(short)} == {short}
    lines = [f"step {number} of 'a'" for number in range(200)]
    lines[150] = "error: no such thing as 'x'"
    assert first("\n".join(lines)).report.split("\n") == lines[120:180]
    assert len(first("\n".join([*lines[:120], "x" * 1999, "x" * 1999, *lines[150:]])).report) == 4000


def test_the_last_exception_of_a_chain_leads_with_its_frames_and_their_code() -> None:
    unit = first(TRACEBACK)
    assert (unit.error_type, unit.message) == ("PaymentError", "no rate for CHF")
    assert [frame.place for frame in unit.frames] == ["app.py:main", "pay.py:charge"]
    assert unit.frames[-1].code == 'raise PaymentError(f"no rate for {currency}")'


@each_row("below, tool", [("", ""), ("\n  --> src/main.rs:1:5", "rust"), ("\n  --> src/main.rs:1:5\n", "rust")])
def test_the_place_below_a_message_says_whose_it_is(below: str, tool: str) -> None:
    assert first(f"error: the lock was not taken{below}").tool == tool


def test_a_syntax_error_keeps_the_line_that_does_not_parse() -> None:
    unit = first("  File \"/srv/x.py\", line 3\n    if True\n           ^\nSyntaxError: expected ':'\n")
    assert (unit.error_type, unit.message) == ("SyntaxError", "expected ':'")


def test_of_an_exception_group_a_member_is_found() -> None:
    text = (
        "  + Exception Group Traceback (most recent call last):\n  |   File \"/srv/a.py\", line 1, in main\n"
        "  |     run()\n"
        "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n"
        "  +-+---------------- 1 ----------------\n"
        '    | Traceback (most recent call last):\n    |   File "/srv/a.py", line 9, in task\n    |     1 / 0\n'
        "    | ZeroDivisionError: division by zero\n    +------------------------------------\n"
    )  # fmt: skip
    assert "ZeroDivisionError" in {unit.error_type for unit in error_units(text)}


def test_several_errors_are_several_units_and_a_summary_does_not_lead() -> None:
    text = "FAILED t.py::it - another\na.c:1:2: error: first thing\nb.c:1:2: error: second thing\n"
    units = error_units(text)
    assert [unit.message for unit in units] == ["first thing", "second thing", "another"]
    assert all(unit.why for unit in units)


@each_row("text", SUMMARIES)
def test_a_summary_says_only_that_something_failed_and_gives_way_to_what_says_more(text: str) -> None:
    assert is_summary(first(text).message)
    for both in (f"{text}\n\na.c:1:2: error: the cause\n", f"a.c:1:2: error: the cause\n{text}\n"):
        assert [unit.message for unit in error_units(both)] == ["the cause"]


@each_row("text", SAYING)
def test_a_line_that_says_what_failed_is_no_summary(text: str) -> None:
    assert not is_summary(first(text).message)


def test_a_line_that_speaks_of_failure_is_better_than_a_summary_below_it() -> None:
    assert first("frob: it cannot be done\nfrob ends\nmake: *** [all] Error 1\n").message == "frob: it cannot be done"
    assert first("frob ends\nmake: *** [all] Error 1\n").message == "*** [all] Error 1"


def test_an_exit_status_is_no_status_of_http() -> None:
    assert first("error: the child said exit status: 101\n").codes == ()
    assert first("error: the server said status: 503\n").codes == ("HTTP 503",)


def test_colours_and_carriage_returns_and_timestamps_change_nothing() -> None:
    plain = "building\nsrc/a.c:3:5: error: unknown type name 'foo'\nstopped\n"
    coloured = plain.replace("error:", "\x1b[1;31merror:\x1b[0m").replace("\n", "\r\n")
    stamped = "".join(f"2026-11-22T10:00:0{i}.123Z {line}\n" for i, line in enumerate(plain.splitlines()))
    for text in (coloured, stamped, f"10%\r50%\r100%\r\n{plain}"):
        assert first(text).message == first(plain).message


def test_what_announces_nothing_is_all_of_its_last_lines() -> None:
    assert first("one\ntwo\n\n").message == "one two"
    assert first("it all went wrong: unable to comply\nbye\n").message == "it all went wrong: unable to comply"
    assert error_units(" \n\n") == ()


_LOADED = "java.lang.IllegalStateException: no table\n\tat shop.Db.query(Db.java:17)\n"


@each_row(
    "outer, message, leads",
    [
        ("", "no table", "IllegalStateException"),
        ("shop.LoaderException:\n", "no table", "IllegalStateException"),
        ("shop.LoaderException: not loaded\n", "not loaded", "LoaderException"),
        ("shop.LoaderException: not loaded\nCaused by: ", "no table", "IllegalStateException"),
        ("shop.LoaderException: not loaded\n\tat shop.Loader.run(Loader.java:3)\nCaused by: ", "no table",
         "IllegalStateException"),
    ],
)  # fmt: skip
def test_the_class_of_a_loader_says_nothing_of_the_error_below_it(outer: str, message: str, leads: str) -> None:
    unit = first(outer + _LOADED)
    assert (unit.message, unit.error_type) == (message, leads)
    # What stood above is told below the message.
    assert ("shop.LoaderException" in "".join(unit.detail)) == (leads == "IllegalStateException" and bool(outer))


@each_row(
    "outer", ["java.lang.RuntimeException: ", "Caused by: a.b.JobException: java.lang.RuntimeException: ", "java: "]
)
@each_row("frames", ["", "\n\tat shop.Db.query(Db.java:17)\n"])
def test_what_only_passes_an_exception_on_is_not_its_class(outer: str, frames: str) -> None:
    unit = first(f"{outer}java.lang.NoSuchFieldError: Class a.B has no field x{frames}")
    assert (unit.error_type, unit.message) == ("NoSuchFieldError", "Class a.B has no field x")


@each_row(
    "text, message, place",
    [
        ("shop.rb:2:in `total': undefined method `net' for nil (NoMethodError)\n\tfrom shop.rb:5:in `<main>'",
         "undefined method `net' for nil", "shop.rb:total"),
        ("shop.rb:2:in `/': divided by 0 (ZeroDivisionError)\n\tfrom shop.rb:2:in `mean'\n\tfrom shop.rb:5:in `<main>'",
         "divided by 0", "shop.rb:mean"),
        ("TAP version 13\n# Subtest: adds up\nnot ok 1 - adds up\n  ---\n  error: |-\n    Expected values:\n\n"
         "    4 !== 2\n\n  name: 'AssertionError'\n  stack: |-\n"
         "    TestContext.<anonymous> (/srv/a.test.js:3:2)\n  ...\n1..1",
         "Expected values: 4 !== 2", "a.test.js:adds up"),
    ],
)  # fmt: skip
def test_ruby_and_tap_name_the_call_that_failed(text: str, message: str, place: str) -> None:
    unit = error_units(text)[0]
    assert (unit.message, unit.frames[-1].place) == (message, place)


@each_row(
    "text, message",
    [
        ("lua: a.lua:2: attempt to index a nil value\nstack traceback:\n\ta.lua:2: in local 'f'\n\t[C]: in ?",
         "lua: a.lua:2: attempt to index a nil value"),
        ('can\'t find package x\n    while executing\n"package require x"\n    (file "a.tcl" line 1)',
         "can't find package x"),
        ("tar: This does not look like a tar archive\ntar: Exiting with failure status due to previous errors",
         "tar: This does not look like a tar archive"),
        ("F401 [*] `os` imported but unused\n --> a.py:1:8\n  |\n1 | import os\n  |        ^^\n\nFound 1 error.",
         "`os` imported but unused"),
    ],
)  # fmt: skip
def test_what_follows_a_message_is_no_message(text: str, message: str) -> None:
    units = error_units(text)
    assert (units[0].message, len(units)) == (message, 1)


def test_long_output_keeps_beginning_and_end() -> None:
    log = "a.c:1:2: error: at the start\n" + "noise " * 700_000 + "\nb.c:1:2: error: at the end\n"
    assert {unit.message for unit in error_units(clean(log))} == {"at the start", "at the end"}


@each_row("data", [b"", b"\x00\xff\xfe" * 3000, b"\x1b]0;" * 2000, b"error: " * 900_000, b"\r\b" * 50_000])
def test_odd_bytes_end_well(data: bytes) -> None:
    assert len(error_units(clean(data.decode("utf-8", "replace")))) <= MAX_UNITS


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.sampled_from([*(text for text, _ in OUTPUTS.values()), TRACEBACK, "  + |", "Caused by: x", "E   "])
        | st.text()
    )
)
def test_any_mixture_of_outputs_ends_well(parts: list[str]) -> None:
    units = error_units("".join(parts))
    assert len(units) <= MAX_UNITS
    assert all(len(unit.text) < 2100 and unit.rank >= 0 for unit in units)
