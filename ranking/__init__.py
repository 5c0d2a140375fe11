"""Which of it, in what order, how much of it, and why.

    from ctxrank.ranking import AssembleRequest, SearchRequest, assemble, search

Each name is imported when it is first used: a search does not pay for an assembly, nor the other way.
"""

from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from ctxrank.ranking.context.assembly.assemble import assemble
    from ctxrank.ranking.context.assembly.shapes import AssembleRequest, Assembly
    from ctxrank.ranking.retrieval.hits import SearchRequest, SearchResult
    from ctxrank.ranking.retrieval.search import search

__all__ = ["AssembleRequest", "Assembly", "SearchRequest", "SearchResult", "assemble", "search"]

_HOMES = {
    "AssembleRequest": "ctxrank.ranking.context.assembly.shapes",
    "Assembly": "ctxrank.ranking.context.assembly.shapes",
    "SearchRequest": "ctxrank.ranking.retrieval.hits",
    "SearchResult": "ctxrank.ranking.retrieval.hits",
    "assemble": "ctxrank.ranking.context.assembly.assemble",
    "search": "ctxrank.ranking.retrieval.search",
}


def __getattr__(name: str) -> "Any":
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  imports of submodules must not load importlib

    return getattr(import_module(_HOMES[name]), name)
