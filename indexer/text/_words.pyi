from collections.abc import Callable, Mapping

from ctxrank.indexer.text.identifiers import Match
from ctxrank.indexer.text.word_finder import Tokens

def split_words(
    text: str,
    max_repeats: int,
    max_parts: int,
    max_chars: int,
    wide: Mapping[bytes, tuple[tuple[bytes, bytes], ...]],
    /,
) -> str: ...
def count_classes(raw: bytes, /) -> tuple[int, ...]: ...

class WordFinder:
    def __init__(
        self, describe: Callable[[list[bytes], bool], list[str | Tokens]], max_parts: int, max_chars: int, /
    ) -> None: ...
    def find(
        self, text: bytes, wanted: Mapping[str, object], with_parts: bool, /
    ) -> tuple[int, bytes, list[Match]]: ...
