"""The story of a known error: when it was seen and in which conversations, what was tried, and what fixed it."""

import re
from collections.abc import Iterator

from ctxrank.extensions.web.answers import Commands, Json
from ctxrank.extensions.web.text_line import TextLine
from ctxrank.indexer.clock import DAY_US, format_us, now_us
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import read_map, read_rows, read_value
from ctxrank.indexer.store.ids import local_ref
from ctxrank.ranking.retrieval.cleaning import cleaned_task

_BARS, _LEAST_DAYS = 60, 14  # of the plot, at most and at least
_CONVERSATIONS, _TRIED = 20, 12
# An edit as a solution that was learned says it: edit NAME: `old` → `new`
_EDIT = re.compile(r"\bedit (?P<name>[^\s:`]+): (?:`(?P<old>[^`]*)` → )?`(?P<new>[^`]*)`(?:, then |; )?")

_FIRST = "SELECT min(seen_at) FROM error_sightings WHERE pattern_id = ?"
_DAYS = "SELECT seen_at / ?2, count(*) FROM error_sightings WHERE pattern_id = ?1 GROUP BY 1 ORDER BY 1"
_SEEN_IN = """
    SELECT s.name, count(*), max(f.seen_at), f.resolved_at
      FROM error_sightings AS f
      JOIN sessions AS s ON s.id = f.session_id
     WHERE f.pattern_id = ?1 GROUP BY s.id ORDER BY max(f.seen_at) DESC LIMIT ?2
"""
# What an agent did between the failure and the command's success, as the transcripts of its sessions say.
_ACTIONS = """
    SELECT action.value ->> 1, count(*)
      FROM error_signatures AS known
      JOIN events AS e ON e.subtype = 'transcript_repair' AND e.payload ->> 'instance' = known.instance,
           json_each(e.payload, '$.actions') AS action
     WHERE known.pattern_id = ?1 GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ?2
"""


class SeenIn(NamedTuple):
    """A conversation in which an error was seen; `resolved_at` is of the last time, None while it is not over."""

    session: str
    times: int
    last_seen: int
    resolved_at: int | None


class Bar(NamedTuple):
    """How often an error was seen in some days: a bar of the plot, in shares of its width and height."""

    x: float
    width: float
    height: float
    label: str


def story(ask: Commands, id_: str, solution: str) -> Json:
    """What the page of an error tells beside its record."""
    with ask.open() as store:
        number = local_ref(store.primary, id_).number
        first = read_value(store.primary, _FIRST, (number,), int)
        days = read_map(store.primary, _DAYS, (number, DAY_US), int, int)
        seen_in = list(read_rows(store.primary, _SEEN_IN, (number, _CONVERSATIONS), SeenIn))
        mode = load_config(store).redaction_mode
        tried = read_map(store.primary, _ACTIONS, (number, _TRIED), str, int)
    today = now_us() // DAY_US
    start = min([*days, today - _LEAST_DAYS + 1])
    return {
        "bars": list(_bars(days, start, today)),
        "start": format_us(start * DAY_US)[:10],
        "first_seen": format_us(first) if first else "",
        "conversations": seen_in,
        "tried": {cleaned_task(action, mode): times for action, times in tried.items()},
        "fix": list(fix_lines(solution)),
    }


def _bars(days: dict[int, int], first: int, today: int) -> Iterator[Bar]:
    """The days from the first of the plot to today as few bars; a day without a sighting has none."""
    size = (today - first) // _BARS + 1
    counts: dict[int, int] = {}
    for day, times in days.items():
        counts[(day - first) // size] = counts.get((day - first) // size, 0) + times
    slots = (today - first) // size + 1
    for slot, times in counts.items():
        label = f"{times:,} on {format_us((first + slot * size) * DAY_US)[:10]}"
        yield Bar(slot / slots, 0.8 / slots, times / max(counts.values()), label if size == 1 else f"{label} and after")


def fix_lines(solution: str) -> Iterator[TextLine]:
    """A solution as lines: what it edits is what was removed and what was added."""
    at = 0
    for edit in _EDIT.finditer(solution):
        yield from (TextLine(0, line) for line in solution[at : edit.start()].strip(" ,;").split("\n") if line.strip())
        yield TextLine(0, edit["name"], "file")
        if edit["old"] is not None:
            yield TextLine(0, edit["old"], "removed")
        yield TextLine(0, edit["new"], "added")
        at = edit.end()
    yield from (
        TextLine(0, line, _change(line)) for line in solution[at:].strip().split("\n") if at == 0 or line.strip()
    )


def _change(line: str) -> str:
    """What a line of a unified diff says of itself."""
    return {"+": "added", "-": "removed"}.get(line[:1], "") if line[1:2] not in ("", " ", line[:1]) else ""
