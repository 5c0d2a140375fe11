"""All that is read from the outputs of tools, as it was reviewed: units in their order, and what each is known by.

`pytest --rewrite-golden` writes `golden/readings.txt` again: the diff is what gets reviewed.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from tool_outputs import LONGER, OUTPUTS, REPORTS, SAYING, SUMMARIES, TRACEBACK

from ctxrank.indexer.errors.parse.units import ErrorUnit, error_units
from ctxrank.indexer.errors.signature import sign, terms_of

_GOLDEN = Path(__file__).parent / "golden" / "readings.txt"
_NAMED = {
    "a traceback": TRACEBACK,
    **{f"output: {name}": text for name, (text, _) in OUTPUTS.items()},
    **{f"report: {name}": text for name, (text, _, _) in REPORTS.items()},
    **{f"longer: {name}": text for name, text in LONGER.items()},
}
_NOT_SHOWN = ("text", "report", "message", "why", "line", "rank", "family", "tool")  # of a unit; some in its first line
_SIGNED = ("language", "headline", "values", "details", "notes", "conditions", "missing", "file")


def _fields(unit: ErrorUnit) -> Iterator[str]:
    """The fields that are not empty, a line each."""
    signature = sign(unit)
    known = {name: value for name, value in unit._asdict().items() if name not in _NOT_SHOWN and value}
    if "frames" in known:
        known["frames"] = [f"{frame.place}{' | ' * bool(frame.code)}{frame.code}" for frame in unit.frames]
    yield f"   {unit.family} {unit.tool or '-'} {unit.line} {unit.rank} {len(unit.text)} {unit.why}"
    yield from (f"      {name}: {value}" for name, value in known.items())
    signed = {name: getattr(signature, name) for name in _SIGNED} | {"terms": terms_of(signature)}
    yield from (f"      . {name}: {value}" for name, value in signed.items() if value)
    outcome, reasons = signature.outcome[:6] or "-", signature.given_reason[:6] or "-"
    yield f"      . {signature.template[:6]} {signature.instance[:6]} {outcome} {reasons}"


def _reading(name: str, text: str) -> str:
    lines = [f"# {name}"]
    for unit in error_units(text):
        lines += [f"{unit.message!r}", *_fields(unit)]
    return "\n".join([*lines, ""])


def _in_a_row(name: str, text: str) -> str:
    """The messages alone, of outputs that are printed one after the other."""
    return "\n".join([f"# {name}", *(f"{unit.message!r}" for unit in error_units(text)), ""])


def _golden() -> str:
    parts = [_reading(*item) for item in _NAMED.items()]
    parts += [_in_a_row(f"{a} + {b}", _NAMED[a] + _NAMED[b]) for a, b in itertools.pairwise(_NAMED)]
    parts += [_in_a_row(text.split("\n")[0], text) for text in (*SUMMARIES, *SAYING)]
    return "\n".join(parts)


def test_what_is_read_from_an_output_is_what_was_reviewed(request: pytest.FixtureRequest) -> None:
    found = _golden()
    if request.config.getoption("--rewrite-golden"):
        _GOLDEN.write_text(found, encoding="utf-8")
    assert found.split("\n") == _GOLDEN.read_text(encoding="utf-8").split("\n")
