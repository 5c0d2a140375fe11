"""Count harmless texts that the redaction changes: python benchmarks/secrets/harmless.py FOLDER … [--changed FILE]

Texts of fifteen kinds and more are taken from the folders, evenly from all of a kind; what tests and examples hold is
left out, for there a password is one. Three kinds are made: lists of UUIDs, of digests, and pages with images in them.
A text is 8 KB of a file. `--changed` writes each change, to be read.
"""

import argparse
import base64
import difflib
import hashlib
import random
import re
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from ctxrank.indexer.redaction.engine import redact

_EACH = 334
_CHARS = 8_000
_LEAST_CHARS = 200
_MOST_BYTES = 20_000_000
_NO_SOURCE = re.compile(r"test|spec|example|fixture|sample|secret|credential|mock|/\.git/|demo", re.IGNORECASE)
_LOCKS = (
    "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "Cargo.lock", "poetry.lock", "go.sum", "uv.lock",
    "npm-shrinkwrap.json", "Gemfile.lock", "composer.lock",
)  # fmt: skip
_SUFFIXES = {
    ".py": "Python", ".js": "JavaScript", ".mjs": "JavaScript", ".cjs": "JavaScript", ".ts": "TypeScript",
    ".tsx": "TypeScript", ".go": "Go", ".java": "Java", ".c": "C", ".h": "C", ".cc": "C", ".cpp": "C", ".hpp": "C",
    ".rs": "Rust", ".log": "logs", ".md": "documents", ".rst": "documents", ".adoc": "documents",
    ".csv": "tables", ".tsv": "tables", ".yml": "configuration", ".yaml": "configuration", ".toml": "configuration",
    ".cfg": "configuration", ".ini": "configuration", ".sh": "scripts", ".mk": "scripts", ".bash": "scripts",
    ".html": "pages", ".css": "pages", ".svg": "pages", ".gitlog": "histories", ".txt": "plain text",
}  # fmt: skip


def main() -> None:
    """Print a row for each kind, and the share of all texts that changed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--changed", type=Path, metavar="FILE")
    options = parser.parse_args()
    files = _files(options.folders)
    texts = {kind: list(_texts(paths)) for kind, paths in sorted(files.items())}
    texts |= _made(files)
    changes: list[str] = []
    whole = damaged = 0
    print("| kind | texts | changed | MB/s |\n|---|---|---|---|")
    for kind, found in texts.items():
        start = time.process_time()
        clean = [redact(text) for _, text in found]
        seconds = time.process_time() - start
        count = 0
        for (source, text), after in zip(found, clean, strict=True):
            if after.rules:
                count += 1
                changes.append(f"{kind}\t{source}\t{','.join(after.rules)}\t{_difference(text, after.text)}\n")
        whole += len(found)
        damaged += count
        speed = sum(len(text) for _, text in found) / 1e6 / seconds if seconds else 0.0
        print(f"| {kind} | {len(found)} | {count} | {speed:.0f} |")
    print(f"| all | {whole} | {damaged} = {damaged / whole:.4f} | |")
    if options.changed:
        options.changed.write_text("".join(changes), encoding="utf-8")


def _files(folders: list[Path]) -> dict[str, list[Path]]:
    files: defaultdict[str, list[Path]] = defaultdict(list)
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not path.is_file() or path.stat().st_size > _MOST_BYTES:
                continue
            kind = _kind(path)
            if kind == "logs" or (kind and not _NO_SOURCE.search(str(path.relative_to(folder)))):
                files[kind].append(path)
    return files


def _kind(path: Path) -> str:
    name = path.name
    if name in _LOCKS:
        return "lock files"
    if ".min." in name or name.endswith(".map"):
        return "minified"
    if re.match(r"(?i)licen[cs]e|copying|notice|copyright", name):
        return "licences"
    if name == "package.json":
        return "package.json"
    if "node_modules" in path.parts:
        return "npm trees"
    if name in ("Makefile", "Dockerfile"):
        return "scripts"
    return _SUFFIXES.get(path.suffix, "")


def _texts(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """Pieces of the files: of many files one of each, of few more."""
    rng = random.Random(1)
    chosen = rng.sample(paths, min(len(paths), _EACH))
    each = -(-_EACH // len(chosen))
    count = 0
    for path in chosen:
        text = path.read_text(encoding="utf-8", errors="replace")
        starts = [0, *sorted(rng.sample(range(len(text)), min(len(text), each - 1)))] if each > 1 else [0]
        for start in starts:
            first = text.find("\n", start) + 1 if start else 0
            piece = text[first : first + _CHARS]
            if len(piece) >= _LEAST_CHARS and count < _EACH:
                count += 1
                yield f"{path}:{first}", piece


def _made(files: dict[str, list[Path]]) -> dict[str, list[tuple[str, str]]]:
    """Lists of UUIDs and of digests, pages with images, all from what a generator gives."""
    rng = random.Random(2)
    names = [path.name for paths in files.values() for path in paths]
    ids: list[tuple[str, str]] = []
    digests: list[tuple[str, str]] = []
    images: list[tuple[str, str]] = []
    for number in range(_EACH):
        rows = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(40)]
        form = rng.choice(("{}", '{{"id": "{}", "n": 1}}', "id={} status=ok", "request {} took 3 ms", "- uid: {}"))
        ids.append((f"uuid {number}", "\n".join(form.format(row) for row in rows)))
        kind = rng.choice(("sha256", "sha1", "md5", "sha512"))
        form = rng.choice(
            ("{1}  {0}", "{2}:{1}", "{0}: {2}-{1}", "commit {1}\n    {0}", '"{0}": "{1}"', "{0}@{2}:{1}", "etag: {1}")
        )
        made = [hashlib.new(kind, rng.randbytes(8)).hexdigest() for _ in range(40)]
        digests.append((f"digest {number}", "\n".join(form.format(rng.choice(names), one, kind) for one in made)))
        data = base64.b64encode(b"\x89PNG\r\n" + rng.randbytes(2000)).decode()
        images.append((f"image {number}", f'<p><img alt="a" src="data:image/png;base64,{data}"></p>\n'))
    return {"UUIDs": ids, "digests": digests, "images": images}


def _difference(text: str, after: str) -> str:
    found: list[str] = []
    for kind, first, last, _, _ in difflib.SequenceMatcher(
        None, text.split("\n"), after.split("\n"), autojunk=False
    ).get_opcodes():
        if kind != "equal":
            found += [line[:300] for line in text.split("\n")[first:last]]
    return repr(found[:5])


if __name__ == "__main__":
    main()
