"""One room: no other module names what is in it, and without it everything but its commands works."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROOM = Path("extensions", "bazinga")

# Lists of data may name it: configuration files that are read, commands that are found by name, and extensions.
ALLOWED = {
    "indexer/extensions.py": ('"bazinga": "the predecessor\'s commands and its database",',),
    "indexer/store/config.py": ('SKILLS_CONFIG_PATH = "bazinga/skills_config.json"',),
    "cli/commands/skill.tsv": (
        "Import the skills configuration of FILE, JSON or YAML [default: bazinga/skills_config.json].",
        "Example: ctxrank skill seed bazinga/skills_config.json",
    ),
    "cli/entry.py": ('_OWN_PARSER = {"bazinga": "ctxrank.extensions.bazinga.run"}',),
    "cli/commands.tsv": (
        "import\tctxrank.cli.commands\tImport a predecessor's store, or an export.",
        "bazinga\tctxrank.extensions.bazinga\tRun the predecessor's own commands on this store.",
    ),
    "cli/actions/upkeep/stores.py": (
        '_DATABASE = os.path.join("bazinga", "bazinga.db")',
        """yield f"a store of BAZINGA: 'ctxrank import bazinga {_DATABASE} --root .' takes it in\"""",
    ),
    "cli/commands/import.tsv": (
        "group\tImport a BAZINGA database, an export of ours, or transcripts of a runner.",
        "from\tbazinga\tctxrank.extensions.bazinga\timport\tbazinga",
    ),
}
# A key of the lines that `export` writes since its first version; and an English word among many.
_NO_NAMES = re.compile(r"\bbazinga_confidence\b|^predecessor$")


@pytest.mark.slow
def test_no_other_module_names_it() -> None:
    named: dict[str, list[str]] = {}
    for top in ("indexer", "ranking", "cli"):
        for path in sorted((ROOT / top).rglob("*")):
            place = path.relative_to(ROOT)
            if path.suffix not in (".py", ".sql", ".tsv"):
                continue
            for line in path.read_text(encoding="utf-8").splitlines():
                if re.search("bazinga|predecessor", _NO_NAMES.sub("", line), re.IGNORECASE):
                    named.setdefault(place.as_posix(), []).append(line.strip())
    assert {place: tuple(lines) for place, lines in named.items()} == ALLOWED


def test_it_writes_to_the_store_by_calls_alone() -> None:
    modules = sorted((ROOT / ROOM).rglob("*.py"))
    assert modules
    for path in modules:
        assert not re.search(r"\b(INSERT|UPDATE|DELETE|REPLACE)\b", path.read_text(encoding="utf-8")), path


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder to import ctxrank from, without the room."""
    folder = tmp_path / "installed"
    shutil.copytree(ROOT / "ctxrank", folder / "ctxrank", ignore=shutil.ignore_patterns("__pycache__"))
    for top in ("indexer", "ranking", "cli"):
        shutil.copytree(ROOT / top, folder / "ctxrank" / top, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        ROOT / "extensions", folder / "ctxrank" / "extensions", ignore=shutil.ignore_patterns("__pycache__", ROOM.name)
    )
    return folder


@pytest.mark.slow
def test_without_the_room_everything_but_its_commands_works(bare: Path, tmp_path: Path) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project, other):
        folder.mkdir()
    (project / "notes.md").write_text("# Gateway\n\nThe gateway throttles by tenant.\n", encoding="utf-8")

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(bare), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "ctxrank.cli", *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)

    def answer(folder: Path, *arguments: str) -> str:
        done = run(folder, *arguments)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    listed = answer(project, "--help")
    assert "search" in listed and "bazinga" not in listed
    answer(project, "init")
    answer(project, "index")
    assert "notes.md" in answer(project, "search", "throttles")
    assert "gateway" in answer(project, "session", "create", "gateway")
    answer(
        project, "package", "save", "notes.md", "--session", "gateway", "--type", "research", "--producer", "developer",
        "--summary", "Throttled by tenant.",
    )  # fmt: skip
    assert "Throttled by tenant." in answer(project, "assemble", "--session", "gateway", "--agent", "developer")
    (other / "export.jsonl").write_text(answer(project, "export"), encoding="utf-8")
    answer(other, "init")
    assert "package        1 new" in answer(other, "import", "jsonl", "export.jsonl")
    assert "1 package" in answer(other, "status")
    assert "jsonl" in answer(other, "import", "--help")
    for call in (("bazinga", "list-sessions"), ("bazinga", "--help"), ("import", "bazinga", "bazinga.db")):
        done = run(other, *call)
        assert done.returncode == 2 and "is not installed." in done.stderr, (call, done.stderr)
        assert "Traceback" not in done.stderr
