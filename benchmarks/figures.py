"""What a benchmark found: figures with their raw values, and the targets they are held against."""

from statistics import median
from typing import NamedTuple


class Figure(NamedTuple):
    """One measured quantity. `value` sums `values` up (their median unless said); `limit` is its target."""

    name: str
    unit: str
    value: float
    values: tuple[float, ...]
    limit: float | None = None
    is_minimum: bool = False  # the limit is one: more is better

    @property
    def is_met(self) -> bool | None:
        """Whether the target is met; None where there is none."""
        if self.limit is None:
            return None
        return self.value >= self.limit if self.is_minimum else self.value <= self.limit

    def as_json(self) -> dict[str, object]:
        """The figure as a results file holds it."""
        return {
            "name": self.name, "unit": self.unit, "value": round(self.value, 4), "limit": self.limit,
            "is_minimum": self.is_minimum, "is_met": self.is_met, "values": [round(value, 4) for value in self.values],
        }  # fmt: skip


class Findings(NamedTuple):
    """All that one benchmark found; `notes` say what was left out and why, and what was measured on."""

    figures: list[Figure]
    notes: list[str]


def figure(
    name: str, unit: str, values: list[float], *, limit: float | None = None, is_minimum: bool = False
) -> Figure:
    """A figure that is the median of its values."""
    return Figure(name, unit, median(values), tuple(values), limit, is_minimum)


def table(figures: list[Figure]) -> str:
    """Figures as lines of text: value, target, whether it is met, and the spread of the raw values."""
    rows = [("figure", "value", "target", "", "median", "min", "max", "runs")]
    for one in figures:
        mark = {True: "met", False: "MISSED", None: ""}[one.is_met]
        rows.append(
            (
                one.name, f"{short(one.value)} {one.unit}", _target(one), mark, short(median(list(one.values))),
                short(min(one.values)), short(max(one.values)), str(len(one.values)),
            )
        )  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines)


def _target(one: Figure) -> str:
    if one.limit is None:
        return ""
    return f"{'≥' if one.is_minimum else '≤'} {one.limit:g} {one.unit}"


def short(value: float) -> str:
    """A number with as many digits as mean something."""
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    digits = 1 if size >= 10 else 2 if size >= 1 else 3 if size >= 0.1 else 4
    return f"{value:.{digits}f}"
