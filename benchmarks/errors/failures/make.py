"""Make real failures with the tools at hand: python benchmarks/errors/failures/make.py HALF [--packages FOLDER]

Every case of HALF/*.toml fails three times: A; B, the same cause in another folder, with other names
and lines; and C, a near miss: nearly the same, and another cause. What the tools print is written to HALF.jsonl.gz
beside this file, with neutral paths. FOLDER holds what package registries have: node_modules and JUnit's archives. A
tool that is not there is left out, which is said.
"""

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

_HERE = os.path.dirname(os.path.abspath(__file__))
HALVES = ("seen", "unseen", "later", "fresh", "newest", "last")
_TIMEOUT = 180
# Lines above the code, by the suffix of a file's name: B and C fail at other lines than A.
_COMMENT = {
    ".c": "//", ".cpp": "//", ".java": "//", ".js": "//", ".mjs": "//", ".ts": "//", ".go": "//", ".rs": "//",
    ".py": "#", ".sh": "#", ".pl": "#", ".sql": "--", "Makefile": "#", ".toml": "#", "CMakeLists.txt": "#",
    ".rb": "#", ".lua": "--", ".zsh": "#", ".fish": "#", ".tcl": "#", ".awk": "#", ".yaml": "#", ".ninja": "#",
}  # fmt: skip


class Setting(NamedTuple):
    """Where a failure happens, and what things are called there."""

    folder: str
    lines: int
    names: dict[str, str]


_SETTINGS = {
    "A": Setting("/home/ana/shop", 0, {"f": "cart", "a": "count", "b": "total", "c": "price", "T": "Basket",
                                       "U": "Invoice", "n": "3"}),
    "B": Setting("/srv/build/worker", 7, {"f": "ledger", "a": "level", "b": "offset", "c": "weight", "T": "Parcel",
                                          "U": "Receipt", "n": "11"}),
    "C": Setting("/home/kim/desk", 3, {"f": "roster", "a": "speed", "b": "depth", "c": "width", "T": "Vessel",
                                       "U": "Harbour", "n": "27"}),
}  # fmt: skip


class Case(NamedTuple):
    """One failure: how A and B are made, and how C is."""

    tool: str
    name: str
    run: str
    files: dict[str, str]
    key: tuple[str, str]  # of A and B, and of C
    near_run: str
    near_files: dict[str, str]


def main() -> None:
    """Make one half and write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("half", choices=HALVES)
    parser.add_argument("--packages", default="", metavar="FOLDER", help="node_modules and *.jar")
    parser.add_argument("--tool", help="only this one; prints instead of writing")
    options = parser.parse_args()
    rows = [
        {"tool": case.tool, "case": case.name, "variant": variant, "text": text}
        for case in cases(options.half, options.packages, options.tool)
        for variant in _SETTINGS
        if (text := _made(case, variant, options.packages))
    ]
    if options.tool:
        for row in rows:
            print(f"===== {row['tool']}: {row['case']} {row['variant']}\n{row['text']}")
        return
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    with open(os.path.join(_HERE, f"{options.half}.jsonl.gz"), "wb") as file:
        file.write(gzip.compress(lines.encode(), 9, mtime=0))
    print(f"{len(rows)} failures", file=sys.stderr)


def cases(half: str, packages: str, only: str | None) -> Iterator[Case]:
    """The cases whose tools are here."""
    for name in sorted(os.listdir(os.path.join(_HERE, half))):
        tool = name.removesuffix(".toml")
        if only not in (None, tool):
            continue
        with open(os.path.join(_HERE, half, name), "rb") as file:
            described = tomllib.load(file)
        missing = [needed for needed in described["needs"] if shutil.which(needed) is None]
        missing += [
            part
            for part in described.get("packages", ())
            if not os.path.exists(os.path.join(packages or "/none", part))
        ]
        if missing:
            print(f"{tool}: left out, not here: {', '.join(missing)}", file=sys.stderr)
            continue
        for one in described["case"]:
            run = one.get("run", described.get("run", ""))
            near = one.get("near", {})
            key = one.get("key", ("", ""))
            yield Case(
                tool, one["name"], run, one["files"], (key[0], key[1]), near.get("run", run),
                near.get("files", one["files"] if "key" in one or "run" in near else {}) | _kept(one, near),
            )  # fmt: skip


def _kept(one: dict[str, dict[str, str]], near: dict[str, dict[str, str]]) -> dict[str, str]:
    """Files that every variant of a project has, where C does not bring its own."""
    manifests = ("go.mod", "Cargo.toml", "CMakeLists.txt", "package.json", "Makefile")
    return {
        name: text for name, text in one["files"].items() if name in manifests and name not in near.get("files", {})
    }


def _made(case: Case, variant: str, packages: str) -> str:
    """What the tool printed; '' where it did not fail, which is said."""
    setting = _SETTINGS[variant]
    is_near = variant == "C"
    names = {**setting.names, "K": case.key[is_near]}
    with tempfile.TemporaryDirectory(prefix="failure-") as root:
        folder = os.path.join(os.path.realpath(root), "work")
        os.mkdir(folder)
        for path, text in (case.near_files if is_near else case.files).items():
            path = os.path.join(folder, _named(path, names))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(_padding(path, setting.lines) + _named(text, names))
        environment = {
            **{key: os.environ[key] for key in ("PATH", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME") if key in os.environ},
            "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8", "PACKAGES": os.path.abspath(packages or "."),
            "CI": "1", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1", "GIT_CEILING_DIRECTORIES": root,
            "GIT_AUTHOR_NAME": "ana", "GIT_AUTHOR_EMAIL": "ana@example.org", "GIT_COMMITTER_NAME": "ana",
            "GIT_COMMITTER_EMAIL": "ana@example.org",
        }  # fmt: skip
        command = _named(case.near_run if is_near else case.run, names)
        done = subprocess.run(
            ["bash", "-c", f"( {command}\n) 2>&1"], cwd=folder, env=environment, capture_output=True, timeout=_TIMEOUT,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        text = done.stdout.decode("utf-8", "replace")
    if done.returncode == 0 or not text.strip():
        print(f"{case.tool}: {case.name}: {variant} did not fail\n{text}", file=sys.stderr)
        return ""
    return _neutral(text, folder, setting.folder, environment)


def _named(text: str, names: dict[str, str]) -> str:
    return re.sub("§(.)", lambda match: names[match[1]], text)


def _padding(path: str, lines: int) -> str:
    name = os.path.basename(path)
    comment = _COMMENT.get(name) or _COMMENT.get(os.path.splitext(name)[1])
    return "".join(f"{comment} Line {number} of the notes.\n" for number in range(lines)) if comment else ""


def _neutral(text: str, folder: str, instead: str, environment: dict[str, str]) -> str:
    """The text with nothing of the machine in it that made it."""
    owner = "/".join(instead.split("/")[:3])
    for path, neutral in (
        (folder, instead), (environment["PACKAGES"], f"{owner}/packages"), (environment["HOME"], owner),
        (sys.prefix, "/usr"), (tempfile.gettempdir(), "/tmp"),
    ):  # fmt: skip
        text = re.sub(rf"(?<![\w.-]){re.escape(path)}", neutral, text)
    text = re.sub(r"/tmp/failure-[^/\s'\"]+", "/tmp/build", text)  # above the folder
    return re.sub(r"Linux-\d[\w.+-]*", "Linux-6.1", text)


if __name__ == "__main__":
    main()
