from collections.abc import Sequence

_Spans = tuple[tuple[int, int], ...]
_Line = tuple[int, str, _Spans]
_Cut = tuple[tuple[str, _Spans], int, tuple[_Line, ...], frozenset[str], str]
_Match = tuple[int, int, int, str]

def cut(
    raw: bytes, spans: Sequence[int], found: list[_Match], values: dict[str, float], by_lines: bool, first_line: int
) -> _Cut: ...
