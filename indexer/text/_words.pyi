from collections.abc import Callable, Mapping

from ctxrank.indexer.text.identifiers import Match
from ctxrank.indexer.text.word_finder import Tokens

def compound_words(raw: bytes, max_parts: int, max_chars: int, /) -> list[bytes]: ...
def count_classes(raw: bytes, /) -> tuple[int, ...]: ...

class WordFinder:
    def __init__(
        self, describe: Callable[[list[bytes], bool], list[str | Tokens]], max_parts: int, max_chars: int, /
    ) -> None: ...
    def find(
        self, text: bytes, wanted: Mapping[str, object], with_parts: bool, /
    ) -> tuple[int, bytes, list[Match]]: ...
