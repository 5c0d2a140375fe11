"""What is stored, what is searchable, and how both stay in step with the world.

    from ctxrank.indexer import open_store

    with open_store() as store:
        ...

Each name is imported when it is first used, so that `--help` opens no database library.
"""

from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from ctxrank.indexer.opening import create_store, open_store
    from ctxrank.indexer.store.store import Store

__all__ = ["Store", "create_store", "open_store"]

_HOMES = {
    "Store": "ctxrank.indexer.store.store",
    "create_store": "ctxrank.indexer.opening",
    "open_store": "ctxrank.indexer.opening",
}


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  start-up: only for a name not loaded yet

    return getattr(import_module(_HOMES[name]), name)
