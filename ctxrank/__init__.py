"""Ranked context for teams of coding agents, from one local index.

    import ctxrank

    with ctxrank.open_store() as store:
        ctxrank.save_package(
            store, "notes/locks.md", session="shop", type="investigation", producer="investigator",
            summary="A read that becomes a write fails at once in WAL mode.",
        )
        for hit in ctxrank.search(store, "database locked").hits:
            print(hit.id, hit.title)

`__all__` is the public API; everything else may change. Each name is imported when it is first used, so that a command
loads nothing that it does not call.
"""

import os

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from ctxrank.api import assemble, index, match_error, save_error, save_package, save_reasoning, search
    from ctxrank.indexer.errors.solutions import SavedKnownError
    from ctxrank.indexer.exceptions import CtxrankError
    from ctxrank.indexer.files.scan import IndexReport
    from ctxrank.indexer.opening import create_store, open_store
    from ctxrank.indexer.records.packages import SavedPackage
    from ctxrank.indexer.records.reasoning import SavedReasoning
    from ctxrank.indexer.store.store import Store
    from ctxrank.memory_tool import MemoryTool
    from ctxrank.ranking.context.assembly.shapes import Assembly
    from ctxrank.ranking.errors.answer import ErrorAnswer
    from ctxrank.ranking.retrieval.hits import SearchResult

    __version__: str

__all__ = [
    "Assembly",
    "CtxrankError",
    "ErrorAnswer",
    "IndexReport",
    "MemoryTool",
    "SavedKnownError",
    "SavedPackage",
    "SavedReasoning",
    "SearchResult",
    "Store",
    "__version__",
    "assemble",
    "create_store",
    "index",
    "match_error",
    "open_store",
    "save_error",
    "save_package",
    "save_reasoning",
    "search",
]

_HOMES = {  # of what ctxrank.api does not name, and of what needs none of it
    "CtxrankError": "ctxrank.indexer.exceptions",
    "MemoryTool": "ctxrank.memory_tool",
    "SavedReasoning": "ctxrank.indexer.records.reasoning",
    "Store": "ctxrank.indexer.store.store",
    "create_store": "ctxrank.indexer.opening",
    "open_store": "ctxrank.indexer.opening",
}

# In a checkout the three other folders lie beside this one; installed, they lie in it.
if not os.path.isdir(os.path.join(__path__[0], "indexer")):
    __path__.append(os.path.dirname(__path__[0]))


def __getattr__(name: str) -> "Any":
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415  start-up: it costs more than a bare start

        return version("ctxrank")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  start-up: only for a name not loaded yet

    return getattr(import_module(_HOMES.get(name, "ctxrank.api")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
