"""Curves as an SVG: recall over deleted links, one panel for each budget and world."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

_COLORS = {"links": "#1f5fa8", "BM25": "#c8541c", "BM25 top 10": "#e2a07c", "tiers": "#1c7a3d"}
_WIDTH, _HEIGHT, _LEFT, _TOP, _GAP = 220, 160, 44, 34, 40


class Panel(NamedTuple):
    """One diagram: for each scheme its recall at each share of deleted links."""

    title: str
    shares: Sequence[float]
    lines: Mapping[str, Sequence[float]]


def curves(rows: Sequence[Sequence[Panel]]) -> str:
    """The panels in rows, with one legend."""
    width = _LEFT + max(map(len, rows)) * (_WIDTH + _GAP)
    height = _TOP + len(rows) * (_HEIGHT + _GAP + 14) + 24
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for down, row in enumerate(rows):
        for across, panel in enumerate(row):
            parts += _panel(panel, _LEFT + across * (_WIDTH + _GAP), _TOP + down * (_HEIGHT + _GAP + 14))
    for at, (name, color) in enumerate(_COLORS.items()):
        x = _LEFT + at * 120
        parts.append(f'<path d="M{x} {height - 14}h24" stroke="{color}" stroke-width="2"/>')
        parts.append(f'<text x="{x + 30}" y="{height - 10}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, left: int, top: int) -> list[str]:
    last = max(panel.shares)

    def at(share: float, recall: float) -> str:
        return f"{left + share / last * _WIDTH:.1f} {top + (1 - recall) * _HEIGHT:.1f}"

    parts = [f'<text x="{left}" y="{top - 8}" font-weight="bold">{panel.title}</text>']
    for recall in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = at(0, recall).split()[1]
        parts.append(f'<path d="M{left} {y}h{_WIDTH}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{float(y) + 4:.1f}" text-anchor="end">{recall:g}</text>')
    for share in panel.shares:
        x = at(share, 0).split()[0]
        parts.append(f'<text x="{x}" y="{top + _HEIGHT + 14}" text-anchor="middle">{share:.0%}</text>')
    for name, recalls in panel.lines.items():
        points = " L".join(at(share, recall) for share, recall in zip(panel.shares, recalls, strict=True))
        parts.append(f'<path d="M{points}" fill="none" stroke="{_COLORS[name]}" stroke-width="2"/>')
    return parts
