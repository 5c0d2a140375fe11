from collections.abc import Mapping

def sums(
    rows: list[tuple[int, int, int, object]],
    ids: bytes,
    places: bytes,
    scales: bytes,
    worth: bytes,
    weighted: Mapping[int, float],
    fixed: float,
    by_length: float,
    /,
) -> list[float]: ...
