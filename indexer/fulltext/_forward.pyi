from typing import TypeVar

_Count = TypeVar("_Count", int, float)

def frequencies(
    blobs: list[bytes], wanted: list[int], weighted: dict[int, _Count]
) -> list[list[tuple[int, _Count]]]: ...
