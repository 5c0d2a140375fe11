"""Expressions that stay compiled from one process to the next: a hook needs thirty, for one line of output.

    kept.match(r"(?P<type>\\w+Error): (?P<message>.*)", line)      what `re.match` gives

They are kept as Python keeps the code of modules: in `__pycache__`, each for one version of Python, where this user may
write there and bytecode is written at all. Else, and of another interpreter, they are compiled when first used.
"""

import marshal
import re
import sys

from ctxrank.indexer.light_typing import Any, cache, cast, is_dict
from ctxrank.indexer.systems import keep_for_next_process, place_of_kept
from ctxrank.indexer.text.tables import read_kept

_compiler: Any = getattr(re, "_compiler", None)
# What `re` makes a pattern of: its flags, its code as 32-bit words, how many groups it has, their names, and by number.
_Parts = tuple[int, bytes, int, dict[str, int], tuple[str | None, ...]]
_made: dict[str, re.Pattern[str]] = {}
_new: list[str] = []  # what this process has compiled
_WRITTEN_AT = (1, 2, 4)  # so that what a process leaves to the next one gets less and less


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern, without flags but those that it names itself."""
    if pattern not in _made:
        _made[pattern] = _compiled(pattern) if hasattr(_compiler, "_code") else re.compile(pattern)
    return _made[pattern]


def match(pattern: str, text: str) -> re.Match[str] | None:
    """What `re.match` gives."""
    return compiled(pattern).match(text)


def _compiled(pattern: str) -> re.Pattern[str]:
    kept = _kept()
    if pattern not in kept:
        tree = _compiler._parser.parse(pattern)
        names = tree.state.groupdict
        by_number = {number: name for name, number in names.items()}
        code = b"".join(word.to_bytes(4, sys.byteorder) for word in _compiler._code(tree, 0))
        groups = tree.state.groups
        kept[pattern] = tree.state.flags, code, groups - 1, names, tuple(map(by_number.get, range(groups)))
        _new.append(pattern)
        # All is written each time, and waits for the disk: of eight that a first failure needs once is enough.
        if len(_new) in _WRITTEN_AT or len(_new) % 8 == 0:
            keep_for_next_process(place_of_kept(__spec__, _compiler.MAGIC), marshal.dumps(kept))
    flags, code, *groups = kept[pattern]
    found: re.Pattern[str] = _compiler._sre.compile(pattern, flags, memoryview(code).cast("I").tolist(), *groups)
    return found


def read_expressions() -> dict[str, _Parts]:
    """What processes before this one have compiled."""
    found = read_kept(place_of_kept(__spec__, _compiler.MAGIC))
    return cast("dict[str, _Parts]", found) if is_dict(found) else {}


_kept = cache(read_expressions)
