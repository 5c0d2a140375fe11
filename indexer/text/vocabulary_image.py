"""An image of the compiled vocabulary, for processes that count little: it is mapped in 1 ms and not made again in 40.

It is kept as Python keeps the code of modules: in `__pycache__`, where this user may write there and bytecode is
written at all. Its end is its key.
"""

from collections.abc import Callable

from ctxrank.indexer.light_typing import TYPE_CHECKING, cast
from ctxrank.indexer.systems import keep_for_next_process, place_of_kept, state_of
from ctxrank.indexer.text.tables import compiled

if TYPE_CHECKING:  # it may not be compiled
    from ctxrank.indexer.text._vocabulary import Vocabulary


def compiled_type() -> "type[Vocabulary] | None":
    """What reads a file's data, or an image; None where this was installed without a C compiler."""
    module = compiled("_vocabulary")
    return None if module is None else cast("type[Vocabulary]", module.Vocabulary)


def key_of(path: str) -> bytes:
    """What an image is of: a file, and the code that reads it. Raises OSError."""
    module = compiled("_vocabulary")
    return state_of([path] if module is None else [path, str(module.__file__)])


def kept_image(name: str, key: bytes, class_of: Callable[[int], int]) -> "Vocabulary | None":
    """What an earlier process made of the file that has this key: mapped and not read, as few of its pages are used."""
    import mmap  # noqa: PLC0415  only what counts needs it

    made_of = compiled_type()
    try:
        with open(place_of_kept(__spec__, name), "rb") as file:
            kept = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return made_of(memoryview(kept)[: -len(key)], class_of) if made_of and kept[-len(key) :] == key else None
    except (OSError, ValueError):
        return None  # it is not there, or no image


def keep_image(name: str, image: bytes, key: bytes) -> None:
    """Keep it for the next process."""
    keep_for_next_process(place_of_kept(__spec__, name), image + key)
