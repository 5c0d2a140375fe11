"""Sessions: one as a timeline, a lane for each group or agent, a mark for each record, lines to what it led to.

Times that lie far apart would leave all marks in two heaps, so a long silence is drawn short: the axis is the order of
the records wherever one gap is most of the whole.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise

from ctxrank.extensions.web.answers import Commands, Json, Parameters
from ctxrank.extensions.web.rendering import address, clock, headline, plural
from ctxrank.indexer.clock import DAY_US, format_us, now_us, parse_time
from ctxrank.indexer.light_typing import NamedTuple

# The picture, in units of its own.
WIDTH, LANE_HEIGHT, LEFT, RIGHT, TOP = 1210, 46, 150, 1190, 14
_LONGEST_SILENCE = 0.4  # of the whole time
_MOST_TICKS = 5
_MOST_ROWS = 300  # of a table of records; a day beyond them is opened alone
_FEW_ROWS = 40  # so few stand open, of however many days
_APART = 9  # units between two marks of a lane, at least

KINDS = ("package", "reasoning", "skill", "failure", "fix", "delivery", "consumption", "block")


class Mark(NamedTuple):
    """A record in the picture: where it is, what it is, and the address that a click opens."""

    id: str
    kind: str
    x: float
    y: float
    title: str
    link: str


class TimelineLink(NamedTuple):
    """A line between two marks, from what was made to what came of it."""

    path: str
    is_fix: bool


class Tick(NamedTuple):
    """A moment on the axis."""

    x: float
    label: str


class Day(NamedTuple):
    """A day of a session: what was recorded in a few words, the address of it alone, and its records."""

    date: str
    said: str
    link: str
    records: list[Json]
    is_open: bool


def values(ask: Commands, given: Parameters) -> Json:
    """The sessions there are, and the timeline of the one that is chosen, or of the newest."""
    sessions = ask("session list", limit=200).fields.get("sessions", [])
    name = given("name") or (sessions[0]["session_id"] if sessions else "")
    shown: Json = {"sessions": sessions, "name": name, "lanes": given("lanes", "group"), "session": None}
    if not name:
        return shown
    found = ask("session show", name=name, with_records=True).fields
    now = now_us()
    of = {one["id"]: one["of"] for one in found["records"]}
    for one in found["records"]:
        lane = (one["agent"] if given("lanes") == "agent" else one["group_id"]) or ""
        one["title"] = headline(one["title"])
        one |= {"at_us": parse_time(one["at"], now=now), "link": _link(name, one, of), "lane": lane}
    low, high = given.whole("from"), given.whole("to")  # milliseconds since 1970, as a script gives them
    least, most = (0 if low is None else low * 1000), (sys.maxsize if high is None else high * 1000)
    records = [one for one in found["records"] if least <= one["at_us"] <= most]
    return shown | {
        "session": found["session"], "conversation": found.get("conversation"), "documents": found["documents"],
        "records": records, "days": list(_days(name, given("lanes"), records[::-1])),
        "is_zoomed": low is not None or high is not None, "kinds": KINDS,
        "picture": _picture(records) if records else None,
    }  # fmt: skip


def _days(name: str, lanes: str, records: list[Json]) -> Iterator[Day]:
    """The records, the newest first, by day; the newest day is open, and so is every one where there are few."""
    rows = 0
    for day, group in groupby(records, lambda one: int(one["at_us"]) // DAY_US):
        own = list(group)
        kinds = Counter(str(one["kind"]) for one in own)
        counted = ", ".join(plural(number, kind) for kind, number in kinds.items())
        start = day * DAY_US // 1000
        link = address("/sessions", name=name, lanes=lanes, **{"from": start, "to": start + DAY_US // 1000 - 1})
        shown = own[: max(_MOST_ROWS - rows, 0)]
        yield Day(format_us(day * DAY_US)[:10], counted, link, shown, not rows or len(records) <= _FEW_ROWS)
        rows += len(shown)


def _picture(records: list[Json]) -> Json:
    lanes: list[str] = list(dict.fromkeys(one["lane"] for one in records))
    times: list[int] = [one["at_us"] for one in records]
    places = _places(times)
    marks = list(_marks(records, places, lanes))
    is_timed = len(set(times)) > 1 and not _is_ordered(times)
    return {
        "width": WIDTH, "height": TOP + LANE_HEIGHT * len(lanes) + 26, "left": LEFT, "right": RIGHT,
        "lanes": [(name or "whole session", TOP + LANE_HEIGHT * at + LANE_HEIGHT / 2) for at, name in enumerate(lanes)],
        "marks": marks, "links": list(_links(records, marks)), "ticks": list(_ticks(times, places)),
        "bottom": TOP + LANE_HEIGHT * len(lanes), "from": times[0] // 1000, "to": times[-1] // 1000 + 1,
        "is_timed": is_timed, "days": list(_day_starts(times, places)),
    }  # fmt: skip


def _is_ordered(times: list[int]) -> bool:
    """Whether a silence is so long that the axis is the order and not the time."""
    whole = times[-1] - times[0]
    return any(later - at > _LONGEST_SILENCE * whole for at, later in pairwise(times))


def _places(times: list[int]) -> list[float]:
    """Where each moment is on the axis, from 0 to 1."""
    whole = times[-1] - times[0]
    if not whole:
        return [0.5] * len(times)
    if not _is_ordered(times):
        return [(at - times[0]) / whole for at in times]
    moments = {at: place for place, at in enumerate(sorted(set(times)))}
    return [moments[at] / (len(moments) - 1) for at in times]


def _marks(records: list[Json], places: list[float], lanes: list[str]) -> Iterator[Mark]:
    last: dict[tuple[str, int], float] = {}
    for one, place in zip(records, places, strict=True):
        lane: str = one["lane"]
        x = LEFT + 12 + place * (RIGHT - LEFT - 24)
        middle = TOP + LANE_HEIGHT * lanes.index(lane) + LANE_HEIGHT / 2
        row = next((row for row in (0, -1, 1) if x - last.get((lane, row), -99.0) >= _APART), 0)
        last[lane, row] = x
        said = " · ".join(filter(None, (one["kind"], one["agent"], one["title"], clock(one["at"]))))
        yield Mark(one["id"], one["kind"], x, middle + 12 * row, said, one["link"])


def _link(name: str, one: Json, of: dict[str, str]) -> str:
    """The address that a mark opens: what it stands for; of a failure and its fix the known error, if there is one."""
    id_, kind, led_to = one["id"], one["kind"], one["of"]
    if kind == "block":
        return address("/receipt", id=id_.partition(":")[2])
    failure = led_to if kind == "fix" else id_
    led_to = of.get(led_to, "") if kind == "fix" else led_to
    document = led_to if led_to.startswith(("package:", "error:")) else id_
    if kind in ("failure", "fix") and document is not led_to:
        return address("/failure", name=name, id=failure)
    return address("/finding", id=document, back=address("/sessions", name=name))


def _links(records: list[Json], marks: list[Mark]) -> Iterator[TimelineLink]:
    places = {mark.id: mark for mark in marks}
    for one, mark in zip(records, marks, strict=True):
        start = places.get(one["of"])
        if start is not None and one["kind"] in ("delivery", "consumption", "fix"):
            middle = (start.x + mark.x) / 2
            path = (
                f"M{start.x:.1f} {start.y:.1f}C{middle:.1f} {start.y:.1f} {middle:.1f} {mark.y:.1f} "
                f"{mark.x:.1f} {mark.y:.1f}"
            )
            yield TimelineLink(path, one["kind"] == "fix")


def _day_starts(times: list[int], places: list[float]) -> Iterator[float]:
    """Where a day begins on the axis: half-way between its first record and the one before."""
    for (before, at), (left, right) in zip(pairwise(times), pairwise(places), strict=True):
        if before // DAY_US != at // DAY_US:
            yield LEFT + 12 + (left + right) / 2 * (RIGHT - LEFT - 24)


def _ticks(times: list[int], places: list[float]) -> Iterator[Tick]:
    """A few moments that records have, spread over the axis; days where the whole is longer than two."""
    is_days = times[-1] - times[0] > 2 * 86_400_000_000
    last, before = -1.0, ""
    for at, place in zip(times, places, strict=True):
        label = format_us(at)[:10] if is_days else format_us(at)[11:16]
        if label != before and (last < 0 or place - last >= 1 / _MOST_TICKS):
            yield Tick(LEFT + 12 + place * (RIGHT - LEFT - 24), label)
            last, before = place, label
