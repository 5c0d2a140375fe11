"""Whole commands, from the shell's point of view: start, answer, exit.

An orchestrator starts one process for each spawn, so the start is what a user waits for. Everything is held
against a bare `python -c pass` of the same interpreter, and searches against two other programs that search
the same documents from a command line.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing

import apsw
from figures import Figure, Findings, figure
from generate import Asked, asked
from timing import Command, Run, interleaved, ratios, times
from workspace import Question, Workspace

from ctxrank.indexer import open_store

MAX_STARTS = 5.5  # assemble and search over a bare interpreter
MAX_GROWTH = 1.3  # assemble with 100,000 packages over 1,000
_PEER_PACKAGE = "sqlite-utils"
_HOME = os.path.dirname(os.path.abspath(__file__))


def measure(workspace: Workspace) -> Findings:
    """Time the commands in turns, and compare them."""
    notes: list[str] = []
    sizes = workspace.sizes
    real = workspace.real_store()
    notes.append(f"Real store: {'the predecessor, imported' if workspace.data else 'the fixtures (no --data)'}.")
    small, large = workspace.store(sizes.small), workspace.store(sizes.large)
    in_small, in_large = asked(sizes.small, sizes.rounds + 1), asked(sizes.large, sizes.rounds + 1)
    documents = os.path.join(workspace.folder, "peer.db")
    _write_peer_database(large, documents)
    any_words = [" OR ".join(f'"{word}"' for word in question.query.split()) for question in in_large]
    contenders: dict[str, Command] = {
        "bare": lambda _: [sys.executable, "-c", "pass"],
        "assemble real": lambda round_: workspace.ctxrank(*_assemble_real(real, round_)),
        "search real": lambda _: workspace.ctxrank("search", *_at(real.folder), *real.task.split()[:6]),
        "save": lambda _: workspace.ctxrank(*_save(real)),
        "assemble small": lambda round_: workspace.ctxrank(*_assemble(small, in_small[round_])),
        "assemble large": lambda round_: workspace.ctxrank(*_assemble(large, in_large[round_])),
        "search large": lambda round_: workspace.ctxrank("search", *_at(large), in_large[round_].query),
        "sqlite3 script": lambda round_: [
            sys.executable, os.path.join(_HOME, "peer_search.py"), documents, any_words[round_],
        ],
    }  # fmt: skip
    peer = _peer_command(workspace, notes)
    if peer is not None:
        contenders[_PEER_PACKAGE] = lambda round_: [peer, "search", documents, "documents", any_words[round_],
                                                    "-c", "path", "-c", "title", "--limit", "10"]  # fmt: skip
    runs = interleaved(contenders, sizes.rounds, cwd=workspace.folder)
    return Findings(list(_figures(runs, sizes.small.packages, sizes.large.packages)), notes)


def _at(folder: str) -> tuple[str, str]:
    return "--db", os.path.join(folder, ".ctxrank", "ctxrank.db")


def _assemble_real(real: Question, round_: int) -> list[str]:
    """Each round is an iteration of its own, so that each marks what it delivers."""
    return [
        "assemble", *_at(real.folder), "--session", real.session, "--group", real.group, "--agent", "developer",
        "--task", real.task, "--iteration", str(round_),
    ]  # fmt: skip


def _assemble(folder: str, question: Asked) -> list[str]:
    return [
        "assemble", *_at(folder), "--session", question.session, "--group", question.group, "--agent", question.agent,
        "--task", question.task,
    ]  # fmt: skip


def _save(real: Question) -> list[str]:
    return [
        "package", "save", real.file, *_at(real.folder), "--root", real.root, "--session", real.session, "--group",
        real.group, "--type", "research", "--producer", "investigator", "--summary", "The same finding, once more",
    ]  # fmt: skip


def _figures(runs: dict[str, list[Run]], small: int, large: int) -> Iterator[Figure]:
    bare = runs["bare"]
    names = {
        "assemble real": "assemble, real store",
        "search real": "search, real store",
        "save": "package save, real store",
        "assemble small": f"assemble, {small:,} packages",
        "assemble large": f"assemble, {large:,} packages",
        "search large": f"search, {large:,} packages",
        "sqlite3 script": f"peer: a sqlite3 script's search, {large:,} packages",
        _PEER_PACKAGE: f"peer: {_PEER_PACKAGE} search, {large:,} packages",
    }
    yield figure("bare interpreter, wall", "ms", times(bare, "wall_ms"))
    yield figure("bare interpreter, CPU", "ms", times(bare, "cpu_ms"))
    for key, name in names.items():
        if key not in runs:
            continue
        limit = MAX_STARTS if key in ("assemble real", "search real") else None
        yield figure(f"{name}, wall", "ms", times(runs[key], "wall_ms"))
        yield figure(f"{name}, wall over bare", "x", ratios(runs[key], bare, "wall_ms"), limit=limit)
        yield figure(f"{name}, CPU over bare", "x", ratios(runs[key], bare, "cpu_ms"), limit=limit)
    many, few = runs["assemble large"], runs["assemble small"]
    growth = f"assemble, {large:,} over {small:,} packages"
    yield figure(f"{growth}, wall", "x", ratios(many, few, "wall_ms"), limit=MAX_GROWTH)
    yield figure(f"{growth}, CPU", "x", ratios(many, few, "cpu_ms"), limit=MAX_GROWTH)


def _write_peer_database(folder: str, path: str) -> None:
    """The same documents in one table with a plain FTS5 index beside it, as most tools would have them."""
    with closing(apsw.Connection(path)) as peer, open_store(start=folder) as store:
        peer.execute("""
            CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT, title TEXT, body TEXT);
            CREATE VIRTUAL TABLE documents_fts USING fts5(
                title, body, content="documents", content_rowid="id",
                tokenize = 'porter unicode61 remove_diacritics 2'
            );
            BEGIN;
        """)
        peer.executemany(
            "INSERT INTO documents (id, path, title, body) VALUES (?, ?, ?, ?)",
            store.primary.execute("SELECT id, path, title, body FROM documents").fetchall(),
        )
        peer.execute("INSERT INTO documents_fts (documents_fts) VALUES ('rebuild'); COMMIT")


def _peer_command(workspace: Workspace, notes: list[str]) -> str | None:
    """sqlite-utils in an environment of its own; None, with a note, where it cannot be installed."""
    if workspace.is_offline:
        notes.append(f"{_PEER_PACKAGE} was left out: a quick run installs nothing.")
        return None
    home = os.path.join(workspace.folder, "peer-environment")
    try:
        subprocess.run([sys.executable, "-m", "venv", home], check=True, capture_output=True)
        python = os.path.join(home, "bin", "python")
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--compile", _PEER_PACKAGE], check=True, capture_output=True
        )
        version = subprocess.run(
            [os.path.join(home, "bin", _PEER_PACKAGE), "--version"], check=True, capture_output=True, text=True
        )
    except (OSError, subprocess.CalledProcessError):
        notes.append(f"{_PEER_PACKAGE} was left out: it could not be installed here.")
        return None
    notes.append(f"Peer: {version.stdout.strip()}.")
    return os.path.join(home, "bin", _PEER_PACKAGE)
