"""Which of it, in what order, how much of it, and why.

    from ctxrank.ranking import AssembleRequest, SearchRequest, assemble, search

Each name is imported when it is first used: a search does not pay for an assembly, nor the other way.
"""

from ctxrank.indexer.records import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from ctxrank.ranking.assembly.assemble import assemble
    from ctxrank.ranking.assembly.request import AssembleRequest, Assembly
    from ctxrank.ranking.hits import SearchRequest, SearchResult
    from ctxrank.ranking.retrieval import search

__all__ = ["AssembleRequest", "Assembly", "SearchRequest", "SearchResult", "assemble", "search"]

_HOMES = {
    "AssembleRequest": "ctxrank.ranking.assembly.request",
    "Assembly": "ctxrank.ranking.assembly.request",
    "SearchRequest": "ctxrank.ranking.hits",
    "SearchResult": "ctxrank.ranking.hits",
    "assemble": "ctxrank.ranking.assembly.assemble",
    "search": "ctxrank.ranking.retrieval",
}


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
