"""What a command printed, as text that can be looked at: without colours and progress bars, and without what a log and
another tool put before each line.

    clean("\\x1b[31merror\\x1b[0m: no such file\\r\\n")  ->  "error: no such file\\n"
    unwrapped(["#12 1.234 x.c:1:2: error: no"])  ->  ["x.c:1:2: error: no"]

pip indents what a build printed, docker build numbers it, and a build server writes the time before it. The errors are
those inside: their notations begin at the beginning of a line. Of a long line the beginning and the end are kept; of a
long output capture.py does, and units.py looks at no more.
"""

import re

from ctxrank.indexer.errors.parse.tables import Expressions
from ctxrank.indexer.text.escapes import without_escapes

MAX_LINE_LENGTH = 2000
_LINE_TAIL = 400
_CUT = " … "

_PRINTED = Expressions("console")
_FORMS = ("passed on", "stamped", "process", "joined", "counted", "keyed")
_OF_ERRORS = ("ERR", "FAT", "CRI", "PAN", "ALE", "EME", "SEV")
_BORDERS = (
    "\u2502\u2503\u2500\u2501\u256d\u256e\u2570\u256f\u250c\u2510\u2514\u2518\u2577\u2575\u250f\u2513\u2517\u251b"
)


def clean(text: str) -> str:
    """The text as a terminal would leave it, without colours, with one kind of line end."""
    text = without_escapes(text).replace("\r\n", "\n")
    if "\b" in text:  # a spinner, or the bold type of old manual pages
        text = re.sub(r"[^\n\b]\x08", "", text).replace("\b", "")
    return "\n".join(_without_prefixes([as_said(_clean_line(line)) for line in text.split("\n")]))


def _clean_line(line: str) -> str:
    if "\r" in line:
        # A progress bar writes its line again and again; what stays is the last state that says anything.
        line = next((part for part in reversed(line.split("\r")) if part.strip()), "")
    if not line.isascii():
        line = _PRINTED["spinner"].sub("", line)
    if len(line) > MAX_LINE_LENGTH:
        line = line[: MAX_LINE_LENGTH - _LINE_TAIL] + _CUT + line[-_LINE_TAIL:]
    return _PRINTED["controls"].sub("", line).rstrip()


def _without_prefixes(lines: list[str]) -> list[str]:
    """The lines without a quotation's margin, and the time and the name of who speaks where most have one."""
    margins = [margin.end() for line in lines if (margin := _PRINTED["margin"].match(line))]
    if len(margins) > 1 and len(margins) == sum(bool(line.strip(" \t>|")) for line in lines):
        lines = [line[min(margins) :] for line in lines]
    most = sum(map(bool, lines[:200])) * 2
    for name in ("timestamp", "speaker"):
        found = [match[0] for match in map(_PRINTED[name].match, lines[:200]) if match]
        # A name is that of a speaker where it comes again.
        if found and len(found) * 3 >= most and (name != "speaker" or len(set(found)) * 2 <= len(found)):
            lines = [line[match.end() :] if (match := _PRINTED[name].match(line)) else line for line in lines]
    return lines


def as_said(line: str) -> str:
    """A line of a log as what its program said: without time, level, process, and the container or part that speaks.

    as_said("2026-01-02 03:04:05,678 - app.worker - ERROR - database is locked")    ->  "ERROR: database is locked"
    as_said('web-1  | level=info msg="listening on \\":80\\""')                        ->  'listening on ":80"'

    What stands before a message differs from day to day and from one way to start a program to the next; that the level
    is one of errors stays, since it announces one. A line with nothing of the kind is left as it is.
    """
    if " |" in line and (container := _PRINTED["container"].match(line)):
        line = line[container.end() :]
    for form in _FORMS:
        if (form != "keyed" or "level" in line or "severity" in line) and (found := _PRINTED[form].match(line)):
            named = found.groupdict("")
            level = (named.get("level") or named.get("in_brackets", "")).upper()
            said = named["message"].replace('\\"', '"') if form == "keyed" else line[found.end() :]
            said += f": {named['cause']}".replace('\\"', '"') if named.get("cause") else ""
            return f"ERROR: {said}" if said and level.startswith(_OF_ERRORS) and "rror" not in said[:40] else said
    return line


def unwrapped(lines: list[str]) -> list[str]:
    """The lines as the innermost tool wrote them."""
    found: list[str] = []
    margin = -1  # of what pip has indented; below 0 outside of it, 0 where its first line is still to come
    for line in lines:
        if "\u2570\u2500>" in line and _PRINTED["begins"].match(line):
            margin = 0
        elif margin >= 0 and _PRINTED["ends"].match(line):
            margin = -1
        elif margin == 0 and line.strip():
            margin = len(line) - len(line.lstrip())
        if margin > 0 and not line[:margin].strip():
            line = line[margin:]
        if line and line[0] in "\u2502\u2503":  # inside a box that is drawn around a message
            line = line[1:].removeprefix(" ").rstrip("\u2502\u2503 ")
        elif line and line[0] in _BORDERS:
            title = line.strip(_BORDERS + " ")
            line = f"{title}:" if title and not title.endswith(":") else title
        found.append(_PRINTED["prefix"].sub("", line, count=1))
    return _without_tap(found) if any(line.startswith("TAP version") for line in found) else found


def _without_tap(lines: list[str]) -> list[str]:
    """A report in TAP, each failed test as an exception with its stack: that is what its YAML holds."""
    found: list[str] = []
    test, title, key = "", "", ""
    told: dict[str, list[str]] = {}
    for line in lines:
        if begun := re.match(r"\s*not ok \d+(?: -)? (.*)$", line):
            test = begun[1]
            told = {}
        elif field := re.match(r"\s{2,}(error|name|stack|expected|actual) *: +(.*)$", line):
            key = field[1]
            told[key] = [] if field[2].startswith("|") else [field[2].strip("'\"")]
        elif line.strip() == "..." and ("error" in told or "actual" in told):
            seen = [test, "expected", *told.get("expected", []), "got", *told.get("actual", [])]
            message = " ".join(told.get("error", []) or seen)
            kind = " ".join(told.get("name", [])) or ("Error" if "error" in told else "AssertionError")
            found.append(f"{kind}: {message}")
            called = (test if "error" in told else title or test).replace("\\", r"\\")
            calls = (call.removeprefix("at ") for call in told.get("stack", []) if "Error: " not in call)
            found += [f"    at {re.sub(_PRINTED['unnamed test'], called, call)}" for call in calls]
            told, key = {}, ""
        elif key and re.match(r"\s{2,}\w+ *: ", line) and "Error: " not in line:
            key = ""
        elif key:
            told[key] += [line.strip()] if line.strip() else []
        elif line.startswith("# ") and not re.match(
            r"# (?:Subtest|tests|suites|pass|fail|cancelled|skipped|todo|dur)", line
        ):
            title = line[2:]
            found.append(title)
        elif not told and not line.startswith(("#", "TAP version", "1..")):
            found.append(line)
    return found
