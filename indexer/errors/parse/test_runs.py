"""Where in a test runner's report each failed test begins, what it is called, and where and in what words it failed.

    failed_tests(["___ test_cart ___", ">  assert a == 200", "E  assert 404 == 200", "test_cart.py:7: AssertionError"])
        ->  one FailedTest: test_cart, with the frame test_cart.py:test_cart

A message of a test (`assert 404 == 200`) says nothing without its place, and runners write the place on other lines
than the message. One row of runners.tsv for each way to write it.
"""

import re

from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.frames import Frame, file_name, frame_at, frame_of
from ctxrank.indexer.errors.parse.notations import NOTHING, way
from ctxrank.indexer.errors.parse.tables import Expressions, rows
from ctxrank.indexer.light_typing import NamedTuple, cache

_MAX_TESTS = 200
_MAX_LINES = 400  # of one test's report
_MAX_MESSAGE = 600
_MAX_DETAIL = 30


class Runner(NamedTuple):
    """How a runner reports a failed test. Named groups: name and file of the test, file of a place, message."""

    tool: str
    signs: tuple[str, ...]  # one of which a heading holds
    heading: str
    place: str = ""  # below the heading: where the failure is; the last of the project counts
    message: str = ""  # below the heading, where what it says is announced by nothing else
    end: str = ""  # what ends the report of a test, other than the next heading
    mark: str = ""  # a line that such a report holds, where a heading looks like other things


@cache
def _runners() -> tuple[Runner, ...]:
    return tuple(Runner(tool, tuple(signs.split("¦")), *rest) for tool, signs, *rest in rows("runners"))


_REPORTED = Expressions("test_runs")


class FailedTest(NamedTuple):
    """The lines that report one failed test, and its place."""

    runner: Runner
    start: int
    end: int  # the line after the last
    name: str
    frames: tuple[Frame, ...]  # from the test to where it failed
    error_type: str = ""
    message: str = ""
    message_line: int = 0
    detail: tuple[str, ...] = ()  # what stands between the message and the place: what was expected, and what came


def failed_tests(lines: list[str]) -> list[FailedTest]:
    """The failed tests that a report names, in order; none for output that is no test runner's."""
    text = "\n".join(lines)
    runners = [
        runner
        for runner in _runners()
        if any(sign in text for sign in runner.signs) and (not runner.mark or f"\n{runner.mark}\n" in text)
    ]
    if not runners:
        return []
    headings: list[tuple[int, Runner, re.Match[str]]] = []
    for at, line in enumerate(lines):
        for runner in runners:
            if any(sign in line for sign in runner.signs) and (match := kept.match(runner.heading, line)):
                headings.append((at, runner, match))
                break
    ends = [*(at for at, _, _ in headings[1:]), len(lines)]
    return [
        _failed_test(lines, at, min(end, at + _MAX_LINES), runner, match)
        for (at, runner, match), end in zip(headings[:_MAX_TESTS], ends, strict=False)
    ]


def summary_places(lines: list[str]) -> dict[str, tuple[int, Frame]]:
    """The tests of pytest's summary by what it says of each, where it last does: a report may show no other place."""
    return {
        _said(match["message"] or ""): (at, Frame(file_name(match["file"]), match["name"] or ""))
        for at, line in enumerate(lines)
        if line.startswith(("FAILED ", "ERROR ")) and (match := _REPORTED["summary"].match(line))
    }


def place_in_summary(message: str, places: dict[str, tuple[int, Frame]]) -> Frame | None:
    """The test of the last line whose words this message begins with."""
    found = [places[said] for length in set(map(len, places)) if (said := message[:length]) in places]
    return max(found)[1] if found and message else None


def _said(message: str) -> str:
    """A summary's message as far as it is not cut off, without its exception."""
    said = message.removesuffix("...")
    kind, colon, rest = said.partition(": ")
    return rest if colon and kind.isidentifier() else said


def _failed_test(lines: list[str], start: int, limit: int, runner: Runner, heading: re.Match[str]) -> FailedTest:
    named = heading.groupdict()
    name = _test_name(lines, start, runner, named["name"])
    frames: list[Frame] = []
    message, error_type, message_line = "", "", start
    shown_line = shown_function = ""
    detail: list[str] = []
    line_pattern, function_pattern = way("shows line", runner.tool), way("shows function", runner.tool)
    at = start
    while (at := at + 1) < limit:
        line = lines[at]
        if message and not frames and len(detail) < _MAX_DETAIL and not _REPORTED["no detail"].match(line):
            detail.append(line.strip())
        if runner.end and kept.match(runner.end, line):
            break
        if match := kept.match(line_pattern, line):
            shown_line = match[1]
        elif match := kept.match(function_pattern, line):
            shown_function = match[1]
        if not message and runner.message and (match := kept.match(runner.message, line)):
            message, message_line = match[match.lastindex or 0][:_MAX_MESSAGE], at
        if runner.place and (match := kept.match(runner.place, line)):
            groups = match.groupdict("")
            function = groups.get("function", "")
            frame = frame_of(line) or frame_at(groups["file"], function)
            if line_pattern != NOTHING:
                code = lines[at + 1].strip() if function and at + 1 < limit else shown_line
                frames.append(frame._replace(function=function or shown_function, code=code))
            else:
                frames.insert(0, frame)  # printed from the innermost call outwards
            error_type = groups.get("type") or error_type
            shown_line = shown_function = ""
    file = file_name(named.get("file") or "") or next((one.file for one in frames if one.is_ours), "")
    calls = [frame for frame in frames if frame.is_ours and frame.function]
    if kind := _REPORTED["kind"].match(message):
        error_type, message = kind[1], message[kind.end() :]
    places = (Frame(file or named.get("group") or "", name), *calls)
    return FailedTest(runner, start, at, name, places, error_type, message, message_line, tuple(detail))


def _test_name(lines: list[str], start: int, runner: Runner, name: str) -> str:
    """The test's name; some runners write each level of it on a line of its own."""
    level = way("level", runner.tool)
    if level == NOTHING or kept.match(level, name):
        return re.sub(r"\[.*\]$", "", name).rstrip(":")
    levels = [name]
    for line in map(str.strip, lines[start + 1 : start + 8]):
        if not line:
            break
        levels.append(line)
        if kept.match(level, line):
            break
    return " > ".join(levels).rstrip(":")
