from collections.abc import Mapping

def split_words(
    text: str,
    max_repeats: int,
    max_parts: int,
    max_chars: int,
    wide: Mapping[bytes, tuple[tuple[bytes, bytes], ...]],
    /,
) -> str: ...
def count_classes(raw: bytes, /) -> tuple[int, ...]: ...
