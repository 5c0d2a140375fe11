"""What ctxrank answers in a folder of real files: `ctxrank init`, `ctxrank index`, and what `ctxrank search` does.

The searches of a store are made in one process, with the command's own defaults: a process each would only cost time.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

from public.shapes import Place, Question, Ranked, View

from ctxrank.indexer import open_store
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.store.config import load_config
from ctxrank.ranking import SearchRequest, search

LIMIT = 10  # as the command has it


def index_files(folder: str) -> list[str]:
    """Make a store there, index the folder as a user does, and return the paths that it holds."""
    command = os.path.join(os.path.dirname(sys.executable), "ctxrank")
    for words in (["init"], ["index"]):
        subprocess.run([command, *words, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with open_store(start=folder) as store:
        rows = store.primary.execute("SELECT path FROM artifacts WHERE state = 'indexed' ORDER BY path")
        return [str(path) for (path,) in rows]


def ask_ours(folder: str, questions: Sequence[Question], views: Sequence[View], source: tuple[str, ...]) -> Ranked:
    """For each view and each question the places that are found, the best first."""
    ranked: Ranked = {view: {} for view in views}
    with open_store(start=folder) as store:
        config = load_config(store)
        for question in questions:
            for view in views:
                request = SearchRequest(
                    question.text, LIMIT, path=source if view == "source" else None,
                    is_by_passage=view == "passages", is_folded=True, has_snippets=False,
                )  # fmt: skip
                ranked[view][question.id] = []
                with suppress(UsageError):  # the command refuses it, and so there is no answer
                    for hit in search(store, request, config).hits:
                        lines = hit.passages[0] if hit.passages else None
                        place = Place(hit.path, lines.start_line, lines.end_line) if lines else Place(hit.path, 1, 1)
                        ranked[view][question.id].append(place)
    return ranked


def paths_of(places: Sequence[Place]) -> Iterator[str]:
    """The files of a ranking, each once."""
    yield from dict.fromkeys(place.path for place in places)
