"""Histograms: in a terminal as rows of blocks, and as an SVG that follows the reader's theme."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape

from ctxrank.indexer.light_typing import NamedTuple

_BLOCKS = " ▏▎▍▌▋▊▉█"
_WIDTH = 30  # characters of the longest bar

# Of the drawing, in pixels.
_PANEL, _ROW, _LEFT, _BAR, _TOP = 460, 24, 110, 270, 46
_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f } .number { font-variant-numeric: tabular-nums }
  .title { font-weight: 600 } rect { fill: #4c6ef5 }
  @media (prefers-color-scheme: dark) { text { fill: #d0d7de } rect { fill: #748ffc } }
"""


class Histogram(NamedTuple):
    """How many values are in each bin; a bin is named by its bounds."""

    title: str
    bins: tuple[tuple[str, int], ...]


def histogram(title: str, values: Sequence[float], bounds: Sequence[float], unit: str = "") -> Histogram:
    """The values by bins, each from one bound up to the next; the last one has no upper bound."""
    ends = (*bounds[1:], float("inf"))
    counts = [sum(low <= value < high for value in values) for low, high in zip(bounds, ends, strict=True)]
    names = [f"{low:g}–{high:g}{unit}" for low, high in pairwise(bounds)]
    names.append(f"≥ {bounds[-1]:g}{unit}")
    return Histogram(title, tuple(zip(names, counts, strict=True)))


def latency_bounds(slowest: float) -> tuple[float, ...]:
    """Lower bounds in milliseconds that double, from 0 and 1 up to the slowest value."""
    bounds = [0.0, 1.0]
    while bounds[-1] * 2 <= slowest:
        bounds.append(bounds[-1] * 2)
    return tuple(bounds)


def rows(drawn: Histogram) -> Iterator[str]:
    """The histogram as lines of text, with the share of each bin."""
    total = sum(count for _, count in drawn.bins) or 1
    most = max(count for _, count in drawn.bins) or 1
    width = max(len(name) for name, _ in drawn.bins)
    yield f"  {drawn.title}"
    for name, count in drawn.bins:
        eighths = round(8 * _WIDTH * count / most)
        bar = _BLOCKS[8] * (eighths // 8) + _BLOCKS[eighths % 8].strip()
        yield f"    {name:>{width}}  {bar:<{_WIDTH}} {100 * count / total:3.0f} %"


def svg(histograms: Sequence[Histogram]) -> str:
    """The histograms side by side as one drawing."""
    height = _TOP + _ROW * max(len(drawn.bins) for drawn in histograms) + 16
    width = _PANEL * len(histograms)
    panels = "".join(_panel(drawn, _PANEL * place) for place, drawn in enumerate(histograms))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img"><style>{_STYLE}</style>{panels}</svg>\n'
    )


def _panel(drawn: Histogram, left: int) -> str:
    total = sum(count for _, count in drawn.bins) or 1
    most = max(count for _, count in drawn.bins) or 1
    parts = [f'<text class="title" x="{left + 16}" y="26">{escape(drawn.title)}</text>']
    for place, (name, count) in enumerate(drawn.bins):
        top, length = _TOP + _ROW * place, _BAR * count / most
        parts.append(
            f'<text class="number" x="{left + _LEFT - 10}" y="{top + 15}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{left + _LEFT}" y="{top + 3}" width="{length:.1f}" height="{_ROW - 7}" rx="2"/>'
            f'<text class="number" x="{left + _LEFT + length + 8:.1f}" y="{top + 15}">'
            f"{100 * count / total:.0f} %</text>"
        )
    return "".join(parts)
