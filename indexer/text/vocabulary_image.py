"""An image of the compiled vocabulary, for processes that count little: it is mapped in 1 ms and not made again in 40.

It is kept as Python keeps the code of modules: in `__pycache__`, where this user may write there and bytecode is
written at all. Its end is its key.
"""

import sys
from collections.abc import Callable

from ctxrank.indexer.light_typing import TYPE_CHECKING, cache
from ctxrank.indexer.systems import keep_for_next_process, place_of_kept, state_of

if TYPE_CHECKING:  # it may not be compiled
    from ctxrank.indexer.text._vocabulary import Vocabulary


@cache
def compiled_type() -> "type[Vocabulary] | None":
    """What reads a file's data, or an image; None where this was installed without a C compiler."""
    try:
        from ctxrank.indexer.text._vocabulary import Vocabulary  # noqa: PLC0415  it may not be compiled
    except ImportError:
        return None
    return Vocabulary


def key_of(path: str) -> bytes:
    """What an image is of: a file, and the code that reads it. Raises OSError."""
    compiled = compiled_type()
    return state_of([path] if compiled is None else [path, str(sys.modules[compiled.__module__].__file__)])


def kept_image(name: str, key: bytes, class_of: Callable[[int], int]) -> "Vocabulary | None":
    """What an earlier process made of the file that has this key: mapped and not read, as few of its pages are used."""
    import mmap  # noqa: PLC0415  only what counts needs it

    compiled = compiled_type()
    try:
        with open(place_of_kept(__spec__, name), "rb") as file:
            kept = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return compiled(memoryview(kept)[: -len(key)], class_of) if compiled and kept[-len(key) :] == key else None
    except (OSError, ValueError):
        return None  # it is not there, or no image


def keep_image(name: str, image: bytes, key: bytes) -> None:
    """Keep it for the next process."""
    keep_for_next_process(place_of_kept(__spec__, name), image + key)
