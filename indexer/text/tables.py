"""Beside the code: tables (one row an entry, columns between tabs, and lines of comment that begin with #), JSON, and
what was compiled.
"""

import marshal
import os
from collections.abc import Callable, Iterator

from ctxrank.indexer.light_typing import TYPE_CHECKING, Any, cast, is_tuple
from ctxrank.indexer.systems import keep_for_next_process, place_of_kept, state_of

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import TypeVar

    _Value = TypeVar("_Value")


def rows(module_file: str, name: str, filled: Callable[[str], str] = str) -> Iterator[list[str]]:
    """The rows of a table that lies beside a module, each as its columns; `filled` gives the text that is read."""
    for line in filled(_read(module_file, f"{name}.tsv")).split("\n")[:-1]:
        if not line.startswith("#"):
            yield line.split("\t")


def kept_from_tables(spec: "ModuleSpec | None", make: "Callable[[], _Value]", folder: str = "") -> "_Value":
    """What a module makes of the tables of its folder, or of another one, of types that `marshal` writes.

    It is kept beside the module's bytecode, and made again when the module or a file of the folder is another.
    """
    assert spec is not None and spec.origin is not None, "a module that was found in a file"
    tables = os.scandir(folder or os.path.dirname(spec.origin))
    state = state_of([spec.origin, *(one.path for one in tables if one.name.endswith((".py", ".tsv")))])
    place = place_of_kept(spec, "tables")
    kept: Any = read_kept(place)
    if not is_tuple(kept) or kept[:1] != (state,):
        kept = state, make()
        keep_for_next_process(place, marshal.dumps(kept))
    return cast("_Value", kept[1])


def read_kept(place: str) -> object:
    """What processes before this one have kept as `marshal` writes it; None for nothing that can be read."""
    try:
        with open(place, "rb") as file:
            return marshal.loads(file.read())
    except (OSError, EOFError, ValueError, TypeError):
        return None


_compiled: "dict[str, ModuleType | None]" = {}


def compiled(name: str) -> "ModuleType | None":
    """A compiled module of this folder; None where this installation was made without a C compiler."""
    if name not in _compiled:
        try:
            _compiled[name] = __import__(f"{__package__}.{name}", fromlist=[name])
        except ImportError:
            _compiled[name] = None
    return _compiled[name]


def json_of(module_file: str, name: str) -> Any:
    """The value of a file of JSON that lies beside a module."""
    import json  # noqa: PLC0415  start-up: a query reads none

    return json.loads(_read(module_file, f"{name}.json"))


def _read(module_file: str, name: str) -> str:
    with open(os.path.join(os.path.dirname(module_file), name), encoding="utf-8") as file:
        return file.read()
