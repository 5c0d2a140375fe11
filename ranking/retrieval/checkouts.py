"""Checkouts: a project and the git worktrees that are linked to it share one store, and hold the same files."""

import os
from collections.abc import Iterable

from ctxrank.indexer.store.allowed_roots import removed_worktrees
from ctxrank.indexer.store.connection import read_map
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.location import main_worktree
from ctxrank.indexer.store.store import Store


def files_of_removed(store: Store, documents: Iterable[int]) -> frozenset[int]:
    """Which of these documents are files of a worktree that git has removed: they are there until the next run."""
    gone = removed_worktrees(store.location, store.primary)
    names = _names(store) if gone else {}
    return frozenset(_by_root(store, documents, {id_: name for id_, name in names.items() if name in gone}))


def files_of_others(store: Store, documents: Iterable[int]) -> dict[int, str]:
    """Which of these documents are files of another checkout than the one that asks, and where that one is."""
    names = _names(store)
    if len(names) < 2:
        return {}
    project = os.path.realpath(store.location.project)
    own = project if store.location.root == store.location.project else os.path.realpath(store.location.root)
    if not _is_checkout(project, own):
        return {}
    folders = {id_: project if name == "." else name for id_, name in names.items()}
    others = {id_: folder for id_, folder in folders.items() if folder != own and _is_checkout(project, folder)}
    return _by_root(store, documents, others)


def _names(store: Store) -> dict[int, str]:
    return read_map(store.primary, "SELECT id, path FROM roots WHERE path NOT LIKE '@%'", (), int, str)


def _by_root(store: Store, documents: Iterable[int], names: dict[int, str]) -> dict[int, str]:
    """Those of the documents that are files of these roots, with the name of theirs."""
    query = """
        SELECT d.id, a.root_id
          FROM json_each(?) AS wanted
          JOIN documents AS d ON d.id = wanted.value
          JOIN documents AS file ON file.id = coalesce(d.owner_id, d.id) AND file.kind = 'artifact'
          JOIN artifacts AS a ON a.id = file.record_id
    """
    roots = read_map(store.primary, query, (id_list(documents),), int, int) if names else {}
    return {id_: names[root] for id_, root in roots.items() if root in names}


def _is_checkout(project: str, folder: str) -> bool:
    """Whether a root is the project, a worktree of it, or one that is gone."""
    if folder == project or not os.path.lexists(folder):
        return True
    main = main_worktree(folder)
    return main is not None and os.path.realpath(main) == project
