"""JSON without its library, whose expressions take half of a bare start: the same reader and writer, which are in C.

loads('{"a": [1]}')          {"a": [1]}
dumps({"a": "é"})            '{"a": "\\u00e9"}'
is_deep("[[1]]", 1)          True: how deep a text is, is known before it is read
"""

from ctxrank.indexer.bounds import MAX_DEPTH
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from json import dumps as dumps
    from json import loads as loads
else:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner

    class _Decoder:
        """What the reader asks: the library's own answers."""

        strict = True
        object_hook = object_pairs_hook = array_hook = None
        parse_float, parse_int, parse_constant = float, int, float

    _scan = make_scanner(_Decoder)

    def loads(text: str) -> object:
        """What a JSON text says. Raises ValueError for what is none, RecursionError."""
        text = text.strip(" \t\n\r")
        try:
            value, end = _scan(text, 0)
        except (StopIteration, SystemError) as error:  # the latter where the library is not there to name its error
            raise ValueError("no JSON") from error
        if end < len(text):
            raise ValueError("no JSON: there is more behind it")
        return value

    def dumps(value: object, *, ensure_ascii: bool = True) -> str:
        """A value as JSON. Raises TypeError for what JSON has not, ValueError for what holds itself."""
        encode = encode_basestring_ascii if ensure_ascii else encode_basestring
        write = make_encoder({}, _refuse, encode, None, ": ", ", ", False, False, True)
        return "".join(write(value, 0))

    def _refuse(value: object) -> object:
        raise TypeError(f"{type(value).__name__} is nothing that JSON has")


_ALIKE = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def is_deep(text: str, limit: int = MAX_DEPTH) -> bool:
    """Whether a text nests deeper than that, or never closes what it opens; what stands in strings does not count.

    What is deep takes long to read.
    """
    if text.count("[") + text.count("{") <= limit:
        return False
    outside = text.replace("\\\\", "").replace('\\"', "").split('"')[::2]
    brackets = "".join(outside).encode("utf-8", "replace").translate(_ALIKE, _NO_BRACKETS)
    for _ in range(limit):  # each takes the innermost level away
        shorter = brackets.replace(b"[]", b"")
        if shorter == brackets:
            break
        brackets = shorter
    return bool(brackets)
