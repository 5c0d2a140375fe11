"""Errors: whether a pasted failure is known, what was recognised in it and why, and what is known altogether."""

import re

from ctxrank.extensions.web.answers import Commands, Json, Parameters
from ctxrank.extensions.web.text_line import TextLine
from ctxrank.indexer.errors.parse.units import NO_ERROR

_LISTED = 20
_AN_ERROR = re.compile(r"error:\d+(@[0-9a-f]+)?")


def values(ask: Commands, given: Parameters) -> Json:
    """The known errors; of a pasted output also what is recognised in it. Nothing is recorded."""
    output, project = given("output"), given("project")
    listed = ask("error list", project=project or None, limit=_LISTED).fields
    shown: Json = {
        "output": output,
        "project": project,
        "errors": listed.get("errors", []),
        "total": listed.get("total"),
        "found": None,
        "nearest": None,
    }
    if output:
        found = ask("error match", stdin=output, file="-", project=project or None, with_units=True, limit=6).fields
        for near in (*found.get("unsure", []), *found.get("elsewhere", [])):
            near["error"] = ask.title(near["id"])
        nearest = _AN_ERROR.search(found.get("reason") or "")
        if nearest and not found.get("matches"):
            shown["nearest"] = {"id": nearest[0], "error": ask.title(nearest[0])}
        units = found.get("units", [])
        shown |= {
            "found": found,
            "lines": output_lines(found),
            "units": units,
            "is_error": not all(str(one["why"]).endswith(NO_ERROR) for one in units),
        }
    return shown


def output_lines(found: Json) -> list[TextLine]:
    """The output as it was read; a line that belongs to an error is a hit."""
    lines = (found.get("output") or "").rstrip("\n").split("\n")
    hits: set[int] = set()
    for unit in found.get("units", []):
        own = unit["text"].split("\n")
        at = unit["line"] - 1
        start = next((first for first in range(max(at - len(own) + 1, 0), at + 1) if lines[first] == own[0]), at)
        hits.update(range(start + 1, start + len(own) + 1))
    return [TextLine(at, line, "hit" if at in hits else "") for at, line in enumerate(lines, 1)]
