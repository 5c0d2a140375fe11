"""Checkouts: a project and the git worktrees that are linked to it share one store, and hold the same files."""

import os
from collections.abc import Iterable, Mapping

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.allowed_roots import is_removed_worktree
from ctxrank.indexer.store.connection import read_map
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.location import is_worktree
from ctxrank.indexer.store.store import Store


class Elsewhere(NamedTuple):
    """Which documents are in another checkout than the one that asks: files of a worktree that git has removed, whose
    rows are there until the next run, or files and packages of one that is there, with its folder.
    """

    removed: frozenset[int]
    others: Mapping[int, str]


def files_elsewhere(store: Store, documents: Iterable[int]) -> Elsewhere:
    """Which of these documents are in another checkout: files, and packages whose file is."""
    names = read_map(store.primary, "SELECT id, path FROM roots WHERE path NOT LIKE '@%'", (), int, str)
    gone = [name for name in names.values() if is_removed_worktree(store.location, store.primary, name)]
    others = _others(store, {id_: name for id_, name in names.items() if name not in gone})
    query = """
        SELECT d.id, a.root_id, p.id IS NULL
          FROM json_each(?) AS wanted
          JOIN documents AS d ON d.id = wanted.value
          JOIN documents AS file ON file.id = coalesce(d.owner_id, d.id) AND file.kind IN ('artifact', 'package')
          LEFT JOIN packages AS p ON file.kind = 'package' AND p.id = file.record_id
          JOIN artifacts AS a ON a.id = iif(p.id IS NULL, file.record_id, p.artifact_id)
    """
    rows = list(store.primary.execute(query, (id_list(documents),))) if gone or others else []
    return Elsewhere(
        frozenset(id_ for id_, root, is_file in rows if is_file and names.get(root) in gone),
        {id_: others[root] for id_, root, _ in rows if root in others},
    )


def _others(store: Store, names: Mapping[int, str]) -> dict[int, str]:
    """The folders of the roots that are other checkouts than the one that asks."""
    project = os.path.realpath(store.location.project)
    own = project if store.location.root == store.location.project else os.path.realpath(store.location.root)
    if not _is_checkout(project, own):
        return {}
    folders = {id_: project if name == "." else name for id_, name in names.items()}
    return {id_: folder for id_, folder in folders.items() if folder != own and _is_checkout(project, folder)}


def _is_checkout(project: str, folder: str) -> bool:
    """Whether a root is the project, a worktree of it, or one that is gone."""
    return folder == project or not os.path.lexists(folder) or is_worktree(project, folder)
