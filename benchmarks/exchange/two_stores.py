"""What an exchange costs: a first import of many packages, and one new record among them.

    python benchmarks/exchange/two_stores.py FOLDER [--packages 20000] [--texts FOLDER]

Two stores are made in FOLDER, which is empty. A package has one passage, so it makes two documents. The words are of
the files below --texts (README and docs of this checkout where none is given). CPU seconds of this process and of the
background indexer are counted; what is printed is per document of the receiving store.
"""

import argparse
import os
import random
import resource
import time
from pathlib import Path

from ctxrank.indexer.exchange.export import export_lines
from ctxrank.indexer.exchange.import_jsonl import import_jsonl
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.store.store import Store

_SEED = 20
_BATCH = 2000


def cpu_s() -> float:
    """CPU seconds of this process and of those that it has started and that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def texts_of(folder: Path) -> list[str]:
    """The words of the files of a folder."""
    words: list[str] = []
    for path in sorted([*folder.rglob("*.md"), *folder.rglob("*.py")]):
        words += path.read_text(encoding="utf-8", errors="replace").split()
    return words


def fill(path: Path, words: list[str], count: int) -> None:
    """Write an export of made-up packages: saving each of them for itself would take longer than what is measured."""
    chance = random.Random(_SEED)
    import json

    uuid = "12345678-1234-4234-8234-123456789abc"
    with path.open("w", encoding="utf-8") as file:
        head = {"format": "ctxrank-export", "version": 2, "store": uuid, "seq": count}
        file.write(json.dumps(head) + "\n")
        for number in range(1, count + 1):
            start = chance.randrange(len(words) - 200)
            text = " ".join(words[start : start + chance.randint(40, 160)])
            line = {
                "record": "package", "id": number, "seq": number, "session": f"S{number % 200}", "project": "p",
                "group": None, "type": "research", "path": f"notes/{number % 997}/{number}.md", "producer": "developer",
                "priority": "medium", "scope": "global", "summary": " ".join(text.split()[:12]), 
                "title": f"Note {number}",
                "size_bytes": len(text), "version": 1, "created_at": "2026-01-02T03:04:05Z", "consumers": [],
                "deliveries": [],
                "passages": [{"key": "k", "title": "", "text": text, "start_line": 1, "end_line": 1}],
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")
        file.write(json.dumps({"record": "end", "counts": {"package": count}}) + "\n")


def bring(store: Store, path: Path) -> float:
    """Import a file; returns the CPU seconds it took."""
    before = cpu_s()
    with path.open("rb") as file:
        report = import_jsonl(store, file)
    assert not report.skipped, report.skipped[:3]
    return cpu_s() - before


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--packages", type=int, default=20_000)
    parser.add_argument("--texts", type=Path, default=Path(__file__).resolve().parents[2] / "docs")
    asked = parser.parse_args()
    words = texts_of(asked.texts)
    here, there = asked.folder / "here", asked.folder / "there"
    for folder in (here, there):
        folder.mkdir(parents=True)
    whole = asked.folder / "whole.jsonl"
    fill(whole, words, asked.packages)
    with create_store(str(here)) as one, create_store(str(there)) as other:
        for name, store in (("first import", one), ("the same by another store", other)):
            taken = bring(store, whole)
            (count,) = store.primary.execute("SELECT count(*) FROM documents").fetchone() or (0,)
            print(f"{name}: {count:,} documents, {taken:.2f} CPU s, {1000 * taken / int(count):.3f} CPU ms a document")
        since = int(one.primary.execute("SELECT max(seq) FROM record_log").get)
        new = NewPackage("S1", None, "research", "late.md", "developer", "One more", "medium", None)
        Path(one.location.root, "late.md").write_text(" ".join(words[:120]), encoding="utf-8")
        save_package(one, new)
        turns: list[tuple[float, float]] = []
        sizes: list[int] = []
        for turn in range(5):
            increment = asked.folder / f"increment{turn}.jsonl"
            before = cpu_s()
            increment.write_text("".join(export_lines(one, since=since)), encoding="utf-8")
            exported = cpu_s() - before
            brought = bring(other, increment)
            turns.append((exported, brought))
            sizes.append(os.path.getsize(increment))
        first = turns[0]
        print(
            f"one new record: exported in {1000 * first[0]:.1f} CPU ms, imported in {1000 * first[1]:.1f},"
            f" {sizes[0]:,} bytes; again: {1000 * min(b for _, b in turns[1:]):.1f} CPU ms"
        )
        before = cpu_s()
        "".join(export_lines(one, all_origins=True))
        print(f"a relay of everything: {cpu_s() - before:.2f} CPU s")


if __name__ == "__main__":
    main()
