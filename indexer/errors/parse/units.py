"""Console output cut into errors: what failed, with what message, where; the one that explains the rest first.

    error_units("make\\nx.c:3:5: error: unknown type name 'foo'\\n")[0].message  ->  "unknown type name 'foo'"

Tools announce an error in one line (notations.py) or as a stack of calls. What belongs to it (notes, code, frames)
follows, and is kept as detail. Output that announces nothing is one unit: its last line that is not empty.
"""

import bisect
import re

from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.console import clean, unwrapped
from ctxrank.indexer.errors.parse.frames import (
    JAVA_FILES,
    NAMELESS,
    Frame,
    called_above,
    file_of,
    frame_at,
    frame_of,
    last_part,
    own_frames,
)
from ctxrank.indexer.errors.parse.messages import WORDED_BY_LANGUAGE, in_full
from ctxrank.indexer.errors.parse.notations import (
    CAUSE,
    NOTHING,
    SIGNAL,
    TEXT,
    TOOL,
    WARNING,
    Headline,
    headline_of,
    way,
)
from ctxrank.indexer.errors.parse.reasons import reasons_beside
from ctxrank.indexer.errors.parse.structure import better_line, concludes, names_something, without_stamp
from ctxrank.indexer.errors.parse.summaries import is_advice, is_summary
from ctxrank.indexer.errors.parse.tables import Expressions
from ctxrank.indexer.errors.parse.test_runs import FailedTest, failed_tests, place_in_summary, summary_places
from ctxrank.indexer.light_typing import NamedTuple

MAX_UNITS = 20
NO_ERROR = "nothing here announces an error"  # ends the reason of a unit that is one all the same
_MAX_TEXT = 400_000  # characters that are looked at; beginning and end of longer text
_MAX_FRAMES = 60
_MAX_DETAIL_LINES = 40
_MAX_MESSAGE = 600
_MAX_UNIT_TEXT = 2000
_MOST_AROUND = 30  # lines on either side that belong to a report
_MAX_REPORT = 4000

_PRINTED = Expressions("units")


class ErrorUnit(NamedTuple):
    """One error of an output. `frames` run from the outermost call to the one that failed."""

    family: str  # "trace", "compiler", "test", "tool" or "text": what kind of thing speaks
    tool: str  # "python", "rust", "tsc", "npm" …, or ""
    message: str
    error_type: str = ""  # of an exception, without its module
    codes: tuple[str, ...] = ()  # as printed: E0308, TS2322, ENOENT …
    frames: tuple[Frame, ...] = ()
    detail: tuple[str, ...] = ()
    place: str = ""  # file:line as printed
    text: str = ""  # the lines it was read from, bounded
    line: int = 0  # of the output, from 0
    rank: int = 0  # smaller explains more
    why: str = ""  # a sentence: why it is at this position
    reasons: tuple[str, ...] = ()  # of the first one: what the report says beside its message
    report: str = ""  # what was printed around the first one


def error_units(text: str) -> tuple[ErrorUnit, ...]:
    """The errors in the output, at most MAX_UNITS, the primary one first; none only where nothing is printed."""
    lines = looked_at(text).rstrip("\n").split("\n")
    units = _without_summaries(_placed(_units(lines), lines), lines)
    # Warnings explain nothing of what is worse.
    units = _in_step([unit for unit in units if unit.rank < WARNING] or units) or _fallback(lines)
    # Of several stack traces the last is the one that ended the program; of everything else the first comes first.
    units.sort(key=lambda unit: (unit.rank, -unit.line if unit.family == "trace" else unit.line))
    distinct: dict[tuple[str, str, tuple[str, ...]], ErrorUnit] = {}
    for unit in units:
        distinct.setdefault((unit.error_type, unit.message, unit.codes), unit)
    led = _led_by_what_is_wrong(list(distinct.values()), lines)
    if led and led[0].family in ("tool", "text", "compiler") and not led[0].frames:
        led[0] = _with_reasons(led[0], lines)
    at = led[0].line if led else 0
    report = "\n".join(lines[max(0, at - _MOST_AROUND) : at + _MOST_AROUND])[:_MAX_REPORT]
    return tuple(unit._replace(report=report) for unit in led[:MAX_UNITS])


def _with_reasons(unit: ErrorUnit, lines: list[str]) -> ErrorUnit:
    """The unit with the lines that give its reason, which then belong to its text."""
    is_bare = (unit.family == "tool" or not unit.tool) and not names_something(unit.message)
    more = 0 if is_bare else unit.text.count("\n")
    found = reasons_beside(unit.message, lines, unit.line, unit.line + 1 + more)
    return unit._replace(text=_bounded(lines[found.begin : found.end]), reasons=found.lines) if found else unit


def _led_by_what_is_wrong(units: list[ErrorUnit], lines: list[str]) -> list[ErrorUnit]:
    """The units; where the first one only concludes or names nothing, the line that says what is wrong before it."""
    first = units[0] if units else None
    if first is None or first.codes or first.family in ("trace", "test"):
        return units
    if len(units) == 2 and _explains(units[1], first):
        both = _bounded(lines[first.line : first.line + 2])
        return [first._replace(message=f"{first.message}: {units[1].message}"[:_MAX_MESSAGE], text=both)]
    better = better_line(first.message, lines, first.line)
    if better is None or without_stamp(lines[better]) == first.message:
        return units
    alone = error_units(_bounded([lines[better]]))[0]  # as it is read when it is signed again
    if not alone.message:  # a heading, whose message stands in the next line
        return units
    kept = [unit for unit in units if unit.line != better and unit is not first]
    return [alone._replace(line=better, why="the line that says what is wrong, by the shape of the report"), *kept]


def _explains(unit: ErrorUnit, above: ErrorUnit) -> bool:
    """Whether one speaker says in the next line why it could not do what it says above."""
    is_same = unit.family == above.family and unit.tool == above.tool and unit.rank == above.rank
    is_next = is_same and unit.line == above.line + 1
    is_placed = bool(unit.place or above.place or unit.codes or unit.error_type)
    return is_next and not is_placed and not (concludes(above.message) or concludes(unit.message))


def looked_at(text: str) -> str:
    """An output as `error_units` reads it: the lines that a unit's `line` and `text` are of."""
    if len(text) > _MAX_TEXT:
        text = text[: _MAX_TEXT // 4] + "\n" + text[-_MAX_TEXT * 3 // 4 :]
    return "\n".join(unwrapped(clean(text).split("\n")))


def _in_step(units: list[ErrorUnit]) -> list[ErrorUnit]:
    """Without what a parser expected later in a file where it had lost its step: the first message is the cause."""
    first: dict[str, ErrorUnit] = {}
    files = (
        file_of(unit.place) * (unit.family == "compiler" and unit.message.startswith("expected ")) for unit in units
    )
    return [unit for unit, file in zip(units, files, strict=True) if not file or first.setdefault(file, unit) is unit]


def _placed(units: list[ErrorUnit], lines: list[str]) -> list[ErrorUnit]:
    """The units, those inside a test runner's report with the test as their place."""
    tests = failed_tests(lines)
    starts = [test.start for test in tests]
    reports = [_bounded(lines[test.start : test.end]) for test in tests]
    summary = summary_places(lines)
    placed: list[ErrorUnit] = []
    told: set[int] = set()
    for unit in units:
        at = bisect.bisect_right(starts, unit.line) - 1
        if at < 0 or unit.line >= tests[at].end:
            placed.append(_in_summary(unit, summary))
        elif unit.rank <= CAUSE and unit.line != starts[at]:  # else it is a test's name or a place
            placed.append(_at_test(unit, tests[at], reports[at]))
            told.add(at)
    # What a test's report says where nothing in it announces an error.
    silent = [test for at, test in enumerate(tests) if test.message and at not in told]
    return placed + [
        ErrorUnit(
            "test", test.runner.tool, test.message, test.error_type, _codes_in(test.message), test.frames, test.detail,
            text=reports[starts.index(test.start)], line=test.message_line, rank=CAUSE, why="a failed test",
        )
        for test in silent
    ]  # fmt: skip


def _own_calls(unit: ErrorUnit) -> tuple[Frame, ...]:
    return tuple(frame for frame in own_frames(unit.frames) if frame.is_ours)


def _in_summary(unit: ErrorUnit, summary: dict[str, tuple[int, Frame]]) -> ErrorUnit:
    if _own_calls(unit) or (frame := place_in_summary(unit.message, summary)) is None:
        return unit
    line = f"FAILED {frame.file}::{frame.function} - {unit.message}"
    return unit._replace(frames=(frame,), text=f"{unit.text}\n{line}" if unit.rank == CAUSE else unit.text)


def _at_test(unit: ErrorUnit, test: FailedTest, report: str) -> ErrorUnit:
    own = _own_calls(unit)
    if own and own[-1].function not in NAMELESS and way("shows line", unit.tool) == NOTHING:
        return unit
    # The runner calls a function without a name: its name is the test's.
    frames = (own[-1]._replace(function=test.name),) if own and own[-1].file else test.frames
    family = unit.family if own else "test"
    return unit._replace(frames=frames, error_type=unit.error_type or test.error_type, family=family, text=report)


def _without_summaries(units: list[ErrorUnit], lines: list[str]) -> list[ErrorUnit]:
    """The units that say what failed; where none does, a line that speaks of it, or else the summaries."""
    telling = [unit for unit in units if not is_summary(unit.message)]
    # "Error compiling x:" is a heading where something is said below it.
    telling = [unit for unit in telling if unit.rank < TOOL or not unit.message.endswith(":")] or telling
    if len(telling) == len(units) or any(unit.rank < WARNING for unit in telling):
        return telling
    return _spoken(lines) or units


def _units(lines: list[str]) -> list[ErrorUnit]:
    found: list[ErrorUnit] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        unit, end = None, at + 1
        if SIGNAL.search(line) is None:
            pass
        elif match := _PRINTED["traceback"].match(line) or _PRINTED["headless"].match(line):
            unit, end = _traceback(lines, at, match["margin"])
        elif (head := _PRINTED["stack head"].match(line)) is not None and (
            # Its calls stand below it, or its message.
            _PRINTED["stack below"].match("\n".join(lines[at + 1 : at + 7]))
            or (line.endswith(":") and not head["message"])
        ):
            unit, end = _stack(lines, at)
        elif (ruby := _PRINTED["ruby"].match(line)) is not None and ".rb" in line:
            unit, end = _ruby(lines, at, ruby)
        elif (headline := headline_of(line, lines[at + 1] if at + 1 < len(lines) else "")) is not None:
            unit, end = _diagnostic(lines, at, headline)
        if unit is not None:
            found.append(unit)
        at = max(end, at + 1)
    return found


def _traceback(lines: list[str], begin: int, margin: str) -> tuple[ErrorUnit | None, int]:
    """A traceback from its heading or first frame to its message; the margin is the prefix of each line."""
    frames: list[Frame] = []
    at = begin if 'File "' in lines[begin] else begin + 1
    head = ""
    while at < len(lines):
        head = lines[at].removeprefix(margin)
        if "|" in margin or "+" in margin:  # the bars of an exception group, else the indentation of a log
            head = _PRINTED["bars"].sub("", lines[at])
        if head and not head[0].isspace():
            break
        if frame := frame_of(head):
            frames.append(frame)
            del frames[:-_MAX_FRAMES]
        elif frames and not frames[-1].code and head.strip() and not _PRINTED["no code"].match(head):
            frames[-1] = frames[-1]._replace(code=" ".join(head.split())[:200])
        at += 1
    match = _PRINTED["exception"].match(head) if at < len(lines) else None
    if match is None:
        return None, at
    end = at + 1
    message = match["message"] or ""
    detail: list[str] = []
    while end < len(lines) and lines[end].strip() and len(detail) < _MAX_DETAIL_LINES:
        line = lines[end]
        if _PRINTED["another"].match(line) or headline_of(line) is not None:
            break
        detail.append(line)
        end += 1
    unit = ErrorUnit(
        "trace", "python", _first_said(message, detail), match["type"].rpartition(".")[2], _codes_in(message),
        tuple(frames), tuple(detail), text=_bounded(lines[begin:end]), line=at, rank=CAUSE,
        why="the exception of the last traceback",
    )  # fmt: skip
    return unit, end


def _first_said(message: str, detail: list[str]) -> str:
    """The exception's message; its first lines where the first one is empty."""
    if detail and _PRINTED["counted"].match(message):
        return " ".join(map(str.strip, [message, *detail[:2]]))[:_MAX_MESSAGE]
    return next((line.strip() for line in (message, *detail) if line.strip()), "")[:_MAX_MESSAGE]


def _stack(lines: list[str], start: int) -> tuple[ErrorUnit, int]:
    """An exception with its frames below it; of a chain of causes the last, which is where it began."""
    at = start
    frames: list[Frame] = []
    detail: list[str] = []
    outer: list[str] = []
    head = start
    while (at := at + 1) < len(lines):
        line = lines[at]
        # A loader's own class says only whose the error in the next line is.
        is_inner = line.startswith("Caused by: ") or (at == start + 1 and lines[start].endswith(":"))
        if is_inner and _PRINTED["stack head"].match(line):
            outer.append(lines[head].strip())
            head, frames, detail = at, [], []
        elif frame := frame_of(line):
            frames.append(frame)
            del frames[_MAX_FRAMES:]
        elif not re.match(r"\s+(?:\.\.\. \d+ more|at |Suppressed:)|\s*[{}]|\s+\w+: ", line):
            if frames or not line.strip() or len(detail) >= _MAX_DETAIL_LINES:
                break
            detail.append(line)
    match = _PRINTED["stack head"].match(lines[head])
    assert match is not None, "the line was matched when it became the head"
    message = match["message"] or ""
    is_java = re.match(r"[a-z]\w*\.", match["type"]) or any(frame.file.endswith(JAVA_FILES) for frame in frames)
    unit = ErrorUnit(
        "trace", "java" if is_java else "node", _first_said(message, detail), match["type"].rpartition(".")[2],
        tuple(filter(None, (match["code"],))) + _codes_in(message), tuple(reversed(frames)), tuple(detail + outer),
        text=_bounded(lines[head:at]), line=head, rank=CAUSE,
        why="the innermost cause of an exception" if outer else "an exception with its stack",
    )  # fmt: skip
    return unit, at


def _ruby(lines: list[str], start: int, head: re.Match[str]) -> tuple[ErrorUnit, int]:
    """An exception as Ruby prints it: the innermost call and the message in one line, the outer calls below."""
    frames = [frame_at(head["file"], head["function"] or "")]
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or lines[end][0].isspace()):
        if call := re.match(r"\s+from (?P<file>.+?):\d+:in [`'](?P<function>[^`']+)'", lines[end]):
            frames.append(frame_at(call["file"], call["function"]))
        end += 1
    # A method of the language's own has no line: it is shown at its caller's.
    if len(frames) > 1 and frames[0].file == frames[1].file and lines[start].split(":in ")[0] in lines[start + 1]:
        del frames[0]
    message = head["message"].strip()[:_MAX_MESSAGE]
    unit = ErrorUnit(
        "trace", "ruby", message, head["type"].rpartition("::")[2], _codes_in(message),
        tuple(reversed(frames[:_MAX_FRAMES])), text=_bounded(lines[start:end]), line=start, rank=CAUSE,
        why="an exception with its calls",
    )  # fmt: skip
    return unit, end


def _diagnostic(lines: list[str], start: int, headline: Headline) -> tuple[ErrorUnit, int]:
    """A line that announces an error, with what is printed below it and belongs to it."""
    notation, tool = headline.notation, headline.tool
    end = start + 1
    detail: list[str] = []
    frames: list[Frame] = []
    prefix = _PRINTED["prefix"] if _PRINTED["prefix"].match(lines[start]) else kept.compiled(NOTHING)
    call_above, fact, name_below = (way(one, tool) for one in ("call above", "fact", "name below"))
    owned = notation.owns or NOTHING
    while end < len(lines) and end - start < _MAX_DETAIL_LINES and kept.match(owned, lines[end]):
        line = lines[end]
        frame = frame_of(line)
        if frame is not None:
            frames.append(called_above(lines[end - 1], frame, call_above))
        elif line.strip():
            detail.append(prefix.sub("", line))
        end += 1
    wrapped = [headline.message]  # each line with the place before it
    while end < len(lines) and lines[end].startswith(f"{headline.place}:  "):
        wrapped.append(lines[end].removeprefix(f"{headline.place}:").strip())
        end += 1
    if headline.place and notation.family in ("test", "trace"):
        frames.append(Frame(last_part(headline.place).split(":")[0], headline.function))
    causes = _PRINTED["cause"].findall("\n".join(detail[1:]))
    message = " ".join(wrapped) or ": ".join(line.strip() for line in (*detail[:1], *causes))
    is_free = not (tool or headline.codes or _codes_in(message) or headline.error_type in WORDED_BY_LANGUAGE)
    message, begin, end = in_full(message, lines, start, end, may_be_title=is_free)
    if way("wraps", tool) != NOTHING and not headline.message:
        message = " ".join(map(str.strip, detail))  # wrapped to the width of a page
    if symbol := next(filter(None, (kept.match(name_below, line) for line in detail)), None):
        message += f": {symbol[1]}"
    if fact != NOTHING and (not message or is_summary(message) or kept.match(fact, message)):
        # The first lines of such a report are facts, what the failed script printed follows.
        said = (line.strip() for line in detail if not kept.match(fact, line) and not is_summary(line))
        message = next(said, message or prefix.sub("", lines[start]))
    unit = ErrorUnit(
        notation.family, tool, message[:_MAX_MESSAGE], headline.error_type,
        tuple(dict.fromkeys((*headline.codes, *_codes_in(message)))), tuple(reversed(frames[:_MAX_FRAMES])),
        tuple(detail), headline.place, _bounded(lines[begin:end]), start, notation.rank, notation.why,
    )  # fmt: skip
    return unit, end


_MAX_LAST_LINES = 200  # of output that announces nothing
_MAX_TELLING = 6


def _codes_in(message: str) -> tuple[str, ...]:
    """Names of conditions inside a message: ENOENT, an HTTP status."""
    found = (code or f"HTTP {status}" for code, status in _PRINTED["condition"].findall(message))
    return tuple(dict.fromkeys(found))[:3]


def _fallback(lines: list[str]) -> list[ErrorUnit]:
    """The last line that speaks of failure, else the last line that says anything."""
    if spoken := _spoken(lines):
        return spoken
    said = [at for at in range(max(0, len(lines) - _MAX_LAST_LINES), len(lines)) if lines[at].strip()]
    telling = [at for at in said if not _PRINTED["footer"].search(lines[at]) and not is_advice(lines[at])]
    leading = [at for at in telling if not lines[at][0].isspace()] or telling
    telling = [at for at in telling if not is_summary(lines[at])] or telling
    denied = next((at for at in (*leading, *telling) if _denies(lines[at])), None)
    if denied is not None:
        return [_plain(lines, denied, "the first line that says what is not so")]
    if leading and len(telling) < len(said) and not _spoken(lines, with_summaries=True):
        # What a program says after its message leads back to it: the calls, or where to read more.
        return [_plain(lines, leading[0], "the first line before what only says where")]
    if len(telling) > 1:
        # Nothing tells the message from what else was printed, so that all of it is the message.
        unit = _plain(lines, telling[-1], f"the last lines printed; {NO_ERROR}")
        shown = [lines[at] for at in telling[-_MAX_TELLING:]]
        return [unit._replace(message=" ".join(map(str.strip, shown))[:_MAX_MESSAGE], text=_bounded(shown))]
    return [_plain(lines, said[-1], f"the last line printed; {NO_ERROR}")] if said else []


def _denies(line: str) -> bool:
    return _PRINTED["absence"].search(line) is not None and not is_summary(line)


def _spoken(lines: list[str], *, with_summaries: bool = False) -> list[ErrorUnit]:
    """The last line that speaks of failure, and unless asked for says more than that there is one."""
    for at in range(len(lines) - 1, -1, -1):
        said = _PRINTED["prefix"].sub("", lines[at])
        if said.lstrip("| ").startswith(("^", "~")) or is_advice(said) or re.match(r"\s+at \S", said):
            continue
        if _PRINTED["failure"].search(said) and with_summaries >= is_summary(said):
            at = _first_of_speaker(lines, at)
            return [_plain(lines, at, "the last line that speaks of failure")]
    return []


def _first_of_speaker(lines: list[str], at: int) -> int:
    """The first of the complaints of one program that this line is of: the others follow from it."""
    if (speaker := re.match(r"([\w./+-]+)(?: [Ee]rror)?: ", lines[at])) is None:
        return at
    before = (i for i in range(at) if re.match(rf"\s*{re.escape(speaker[1])}(?: \w+)?: ", lines[i]))
    return next(
        (i for i in before if not is_summary(lines[i]) and (_PRINTED["failure"].search(lines[i]) or _denies(lines[i]))),
        at,
    )


def _plain(lines: list[str], at: int, why: str) -> ErrorUnit:
    message = without_stamp(lines[at])[:_MAX_MESSAGE]
    shown = _bounded([lines[at]])
    return ErrorUnit("text", "", message, "", _codes_in(message), text=shown, line=at, rank=TEXT, why=why)


def _bounded(lines: list[str]) -> str:
    text = "\n".join(lines[: _MAX_DETAIL_LINES + _MAX_FRAMES])
    # The message is at one of the two ends, whatever the tool.
    return text if len(text) <= _MAX_UNIT_TEXT else text[: _MAX_UNIT_TEXT // 2] + "\n…\n" + text[-_MAX_UNIT_TEXT // 2 :]
