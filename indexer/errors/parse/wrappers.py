"""What a tool printed, without what another tool that ran it put before each line.

    unwrapped(["#12 1.234 x.c:1:2: error: no"])  ->  ["x.c:1:2: error: no"]

pip indents what a build printed, docker build numbers it, and a build server writes the time before it. The errors are
those inside: their notations begin at the beginning of a line.
"""

import re

from ctxrank.indexer.errors.parse.tables import Expressions

_AROUND = Expressions("wrappers")

_BORDERS = (
    "\u2502\u2503\u2500\u2501\u256d\u256e\u2570\u256f\u250c\u2510\u2514\u2518\u2577\u2575\u250f\u2513\u2517\u251b"
)


def unwrapped(lines: list[str]) -> list[str]:
    """The lines as the innermost tool wrote them."""
    found: list[str] = []
    margin = -1  # of what pip has indented; below 0 outside of it, 0 where its first line is still to come
    for line in lines:
        if "\u2570\u2500>" in line and _AROUND["begins"].match(line):
            margin = 0
        elif margin >= 0 and _AROUND["ends"].match(line):
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
        found.append(_AROUND["prefix"].sub("", line, count=1))
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
            found += [f"    at {re.sub(_AROUND['unnamed test'], called, call)}" for call in calls]
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
