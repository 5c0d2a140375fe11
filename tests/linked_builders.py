"""Trees of linked artifacts for tests: as files, and as graphs without files."""

import json
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ctxrank.extensions.links.artifact import LevelTexts, Link
from ctxrank.extensions.links.graph import Graph, Node
from ctxrank.extensions.links.store import StoredTexts, estimated_counts
from ctxrank.extensions.links.tables import OWNER
from ctxrank.extensions.links.tree import ArtifactTree, require_tree
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.tokens import ESTIMATE

# What makes the tables in a store that has none yet.
LINK_TABLES = (
    f"{Path(OWNER.folder, 'schema_001.sql').read_text()} INSERT INTO extensions (name, version) VALUES ('links', 1);"
)
FIXTURE = Path(__file__).parent.parent / "fixtures" / "contextia"
_FOLDERS = {"SPEC": "system/specs", "DEC": "system/rationale", "NORM": "system/norms", "TASK": "work/tasks"}
_TYPES = {"SPEC": "spec", "DEC": "decision", "NORM": "norm", "TASK": "task"}
_LISTS = {"SPEC": "specs", "DEC": "decisions", "NORM": "norms"}


def copy_fixture(folder: Path) -> None:
    """The worked example, old enough for its stats to be trusted."""
    shutil.copytree(FIXTURE, folder, dirs_exist_ok=True)
    for path in folder.rglob("*"):
        if path.is_file():
            age(path)


def age(path: Path, seconds: int = 100) -> None:
    """Let a file have been written a while ago, so that its stat proves its content."""
    moment = time.time_ns() - seconds * 10**9 + 1
    os.utime(path, ns=(moment, moment))


def write_artifact(root: Path, id_: str, fields: str = "", body: str = "Text.\n", *, title: str = "") -> Path:
    """A file with an id, a title and a status; `fields` are further lines of frontmatter."""
    prefix = id_.split("-", maxsplit=1)[0]
    path = root / ".contextia" / _FOLDERS[prefix] / f"{id_.lower()}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    status = (
        ""
        if "status:" in fields or prefix in ("DEC", "NORM")
        else f"status: {'open' if prefix == 'TASK' else 'current'}\n"
    )
    path.write_text(f"---\nid: {id_}\ntitle: {title or id_.title()}\n{status}{fields}---\n{body}", encoding="utf-8")
    age(path)
    return path


def tree_of(store: Store) -> ArtifactTree:
    """The tree under the store's root."""
    return require_tree(store.location, store.location.root)


def graph_of(
    links: Mapping[str, Sequence[str]], statuses: Mapping[str, str] = {}, globs: Mapping[str, Sequence[str]] = {}
) -> Graph:
    """A graph from who links to whom, in the order of the lists; an id that is no key is missing."""
    nodes: dict[str, Node] = {}
    for number, (id_, targets) in enumerate(links.items(), start=1):
        prefix = id_.split("-", maxsplit=1)[0]
        listed = [Link(_LISTS.get(target.split("-", maxsplit=1)[0], ""), target, 1) for target in targets]
        nodes[id_] = Node(
            number, f"{id_}.md", id_, _TYPES[prefix], id_.title(), statuses.get(id_, "current"), "",
            json.dumps(listed), json.dumps(list(globs.get(id_, ()))),
        )  # fmt: skip
    return Graph(nodes)


def texts_of(graph: Graph, sizes: Mapping[str, tuple[int, int]] = {}) -> dict[int, StoredTexts]:
    """Texts for a graph: each a title, and words for a summary and for the rest."""
    return {
        node.number: _text(f"title: {node.title}\n", *sizes.get(node.id, (12, 30))) for node in graph.nodes.values()
    }


def _text(meta: str, summary: int, rest: int) -> StoredTexts:
    first = f"{meta}\n{'word ' * summary}\n" if summary else meta
    return estimated(LevelTexts(meta, first, first + ("more " * rest + "\n" if rest else "")))


def estimated(texts: LevelTexts) -> StoredTexts:
    """Texts with their counts as they are stored before a vocabulary counts them."""
    return StoredTexts(texts, tuple(map(int, estimated_counts(texts).split())), ESTIMATE)
