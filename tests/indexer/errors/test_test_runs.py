"""A failed test has a place in the report of every runner, and a progress line is no message."""

import pytest
from tables import each_row
from tool_outputs import REPORTS

from ctxrank.indexer.errors.parse.test_runs import failed_tests
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign


@pytest.mark.parametrize("runner", REPORTS)
def test_a_failed_test_has_its_message_and_its_place(runner: str) -> None:
    report, message, place = REPORTS[runner]
    unit = error_units(report)[0]
    signature = sign(unit)
    assert unit.message == message
    assert signature.frames[-1].place == place
    assert signature.is_traced
    # What is stored says the same when it is signed again.
    again = sign(error_units(unit.text)[0])
    assert (again.template, again.frames[-1].place) == (signature.template, place)


@each_row("runner", REPORTS)
def test_a_report_may_end_anywhere(runner: str) -> None:
    lines = REPORTS[runner][0].split("\n")
    for end in range(1, len(lines)):
        assert all(unit.message or unit.frames for unit in error_units("\n".join(lines[:end])))


_SHORT = "=== FAILURES ===\n____ test_x ____\nt.py:3: in test_x\n    assert add(1) == 3\n"


@each_row(
    "below, calls",
    [
        (
            "shop.py:7: in add\n    raise KeyError(rate)\nE   KeyError: 'CHF'",
            ["assert add(1) == 3", "raise KeyError(rate)"],
        ),
        ("E   assert 2 == 3\n", ["assert add(1) == 3"]),
        ("E   assert 2 == 3\nshop.py:7: in add\n    raise Odd", ["assert add(1) == 3", "raise Odd"]),
        ("E   assert 2 == 3\nshop.py:7: in add\n", ["assert add(1) == 3", ""]),
        ("E   assert 2 == 3\nshop.py:7: in add", ["assert add(1) == 3", ""]),
    ],
)
def test_pytest_says_the_code_of_a_call_below_it_where_it_is_short(below: str, calls: list[str]) -> None:
    _, *frames = error_units(_SHORT + below)[0].frames  # the first is the test
    assert [frame.code for frame in frames] == calls


def test_a_tool_inside_another_one_speaks_for_itself() -> None:
    inside = [
        "  \u2570\u2500> [3 lines of output]\n      gcc -c x.c\n"
        "      x.c:1:10: fatal error: Python.h: No such file or directory\n"
        "      [end of output]\n  error: metadata-generation-failed\n",
        "#9 0.412 x.c:1:10: fatal error: Python.h: No such file or directory\n"
        'ERROR: process "/bin/sh -c make" did not complete successfully: exit code: 2\n',
        "2026-01-02T03:04:05.0000000Z x.c:1:10: fatal error: Python.h: No such file or directory\n",
    ]
    assert {error_units(text)[0].message for text in inside} == {"Python.h: No such file or directory"}


@each_row("count", [0, 1, 6, 7, 20])
def test_a_name_of_several_lines_has_its_heading_and_seven_more(count: int) -> None:
    levels = [*(f"level{number}" for number in range(count)), "divides:", "never"]
    text = "\n".join(["  1) calc", *(f"       {level}" for level in levels), "", "      AssertionError: no", ""])
    wanted = ["calc", *levels[: min(count + 1, 7)]]
    assert error_units(text)[0].frames[-1].function == " > ".join(wanted).rstrip(":")


def test_what_is_read_of_a_report_is_bounded() -> None:
    def report(lines_between: int) -> list[str]:
        between = [f"detail {number}" for number in range(lines_between)]
        below = [f"     Error: {'x' * 700}", *between, "      at load (a.js:7:1)"]
        return [line for number in range(201) for line in (f"  {number}) calc:", *below)]

    for between, calls in ((397, ["calc", "load"]), (398, ["calc"])):
        first, *_, last = found = failed_tests(report(between))
        assert (len(found), len(first.message), first.message_line, len(first.detail)) == (200, 600, 1, 30)
        assert (first.start, first.end, last.start) == (0, min(between + 3, 400), 199 * (between + 3))
        assert [frame.function for frame in first.frames] == calls
    assert failed_tests(report(3))[0].detail == ("detail 0", "detail 1", "detail 2")


def test_junit_names_the_test_in_its_heading() -> None:
    text = (
        "There was 1 failure:\n1) cycleIsRefused(shop.RoutesTest)\n"
        "java.lang.AssertionError: Expected exception: java.lang.IllegalStateException\n"
        "\tat org.junit.internal.runners.statements.ExpectException.evaluate(ExpectException.java:34)\n"
    )
    assert error_units(text)[0].frames[-1].place == "shop.RoutesTest:cycleIsRefused"


def test_mocha_says_below_the_message_what_it_saw() -> None:
    text = (
        "  1) calc\n       divides:\n\n      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n"
        "0 !== 11\n\n      + expected - actual\n\n      -0\n      +11\n"
    )
    assert "0 !== 11" in error_units(text)[0].detail
