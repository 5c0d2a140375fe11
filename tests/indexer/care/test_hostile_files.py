"""Files that came with somebody else's repository: nothing of the user's is written, read out or waited for."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from builders import make_store, save

from ctxrank.cli.main import run
from ctxrank.indexer.fulltext.fts5_engine import index_of

CTXRANK = [sys.executable, "-m", "ctxrank.cli"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a store that knows one thing."""
    folder = tmp_path / "project"
    folder.mkdir()
    with make_store(folder) as store:
        save(store, "a.md", "walrus")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A database of the user's, elsewhere."""
    path = tmp_path / "precious.db"
    with apsw.Connection(str(path)) as connection:
        connection.execute("CREATE TABLE precious (value); INSERT INTO precious VALUES ('mine')")
    connection.close()
    return path


def _link(project: Path, name: str, target: Path) -> None:
    path = project / ".ctxrank" / name
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def test_an_index_that_is_a_link_is_replaced_and_what_it_leads_to_is_not_touched(project: Path, precious: Path) -> None:
    before = precious.read_bytes()
    _link(project, "index.db", precious)
    assert run(["search", "walrus"]) == run(["rebuild"]) == 0
    assert precious.read_bytes() == before and not (project / ".ctxrank" / "index.db").is_symlink()


@pytest.mark.parametrize(
    "name", ["ctxrank.db", "ctxrank.db-wal", "index.db-wal", "index.db-shm", "index.lock", "follow.lock"]
)
def test_no_file_of_a_store_is_written_through_a_link(project: Path, precious: Path, name: str) -> None:
    before = precious.read_bytes()
    _link(project, name, precious)
    for words in (["search", "walrus"], ["rebuild"], ["init"]):
        assert run(words) in (0, 5, 6)
    assert precious.read_bytes() == before


def test_making_a_store_writes_through_no_link(tmp_path: Path) -> None:
    (tmp_path / ".ctxrank").mkdir()
    (tmp_path / ".ctxrank" / ".gitignore").symlink_to(tmp_path / "elsewhere")
    (tmp_path / ".ctxrank" / "ctxrank.db").symlink_to(tmp_path / "elsewhere.db")
    assert run(["init", str(tmp_path)]) == 6
    assert not (tmp_path / "elsewhere").exists() and not (tmp_path / "elsewhere.db").exists()


@pytest.mark.needs("links")
@pytest.mark.parametrize("name", [".ctxrank/config.yaml", "bazinga/skills_config.json", ".contextia/config.yaml"])
def test_a_projects_configuration_quotes_no_file_of_the_users(
    project: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "netrc").write_text("machine example.org: [login me word swordfish\n")
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).symlink_to(tmp_path / "netrc")
    for words in (["search", "walrus"], ["check"], ["status"], ["session", "create", "T"]):
        run(words)
    printed = capsys.readouterr()
    assert "swordfish" not in printed.out + printed.err and "is a link that leaves" in printed.err


def test_the_users_own_configuration_may_be_a_link(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dotfiles.yaml").write_text("nonsense: 1\n")
    (tmp_path / "home" / "ctxrank").mkdir(parents=True)
    (tmp_path / "home" / "ctxrank" / "config.yaml").symlink_to(tmp_path / "dotfiles.yaml")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    assert run(["search", "walrus"]) == 0
    assert "'nonsense' is not a setting" in capsys.readouterr().err


_ENDLESS = "WITH RECURSIVE more (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM more)"


@pytest.mark.parametrize(
    "sql",
    [
        f"ALTER TABLE documents RENAME TO real; CREATE VIEW documents AS {_ENDLESS} SELECT real.* FROM real, more",
        f"ALTER TABLE settings RENAME TO old; CREATE VIEW settings AS {_ENDLESS} SELECT old.* FROM old, more",
        "CREATE TRIGGER mine AFTER INSERT ON packages BEGIN DELETE FROM documents; END",
        "CREATE VIRTUAL TABLE mine USING fts5 (text)",
    ],
    ids=["view", "view of settings", "trigger", "virtual table"],
)
def test_a_store_in_which_reading_or_writing_would_run_something_is_refused(
    project: Path, sql: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with apsw.Connection(str(project / ".ctxrank" / "ctxrank.db")) as connection:
        connection.execute(sql)
    connection.close()
    assert run(["search", "walrus"]) == run(["status"]) == 5
    assert run(["doctor"]) == 5
    assert "which ctxrank did not make" in capsys.readouterr().err


@pytest.mark.needs("evaluation")
@pytest.mark.parametrize("umask", [0o000, pytest.param(0o077, marks=pytest.mark.slow)])
def test_whatever_a_command_leaves_in_a_store_is_its_owners_alone(tmp_path: Path, umask: int) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / ".ctxrank").mkdir(mode=0o755)  # as git makes it for a shared configuration
    (tmp_path / "mine" / "a.md").write_text("walrus")
    calls = [
        ["init"], ["index"], ["search", "walrus"], ["rebuild"], ["purge", "--redact"],
        ["export", "-o", ".ctxrank/x.jsonl"], ["bazinga", "--db", "../other/folder/x.db", "list-sessions"],
    ]  # fmt: skip
    for words in calls:
        call = [*CTXRANK, *words]
        subprocess.run(call, cwd=tmp_path / "mine", umask=umask, check=True, capture_output=True, timeout=60)
    made = [tmp_path / "mine" / ".ctxrank", *(tmp_path / "mine" / ".ctxrank").iterdir(), tmp_path / "other" / "folder"]
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in [*made, *(tmp_path / "other" / "folder").iterdir()]
    }
    assert {name for name, mode in modes.items() if mode & 0o077} == set(), modes
    assert {".gitignore", "ctxrank.db", "index.db", "x.jsonl", "x.db"} <= modes.keys()


def test_a_file_that_is_being_written_is_its_owners_alone_from_the_first_byte(project: Path) -> None:
    with make_store(project) as store, store.write() as change:
        change.next_seq()
        index_of(store)
        names = os.listdir(store.location.folder)
        modes = {name: stat.S_IMODE(os.stat(os.path.join(store.location.folder, name)).st_mode) for name in names}
    assert {"ctxrank.db-wal", "ctxrank.db-shm", "index.db-wal"} <= modes.keys()
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("named", [[], ["--db", ".ctxrank/ctxrank.db"]], ids=["found", "named"])
def test_a_pipe_in_the_place_of_a_log_is_waited_for_nowhere(
    project: Path, suffix: str, named: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = project / ".ctxrank" / f"ctxrank.db{suffix}"
    path.unlink(missing_ok=True)
    os.mkfifo(path, 0o600)
    assert run(["search", "walrus", *named]) == 6
    assert f"ctxrank.db{suffix} is no regular file" in capsys.readouterr().err


# Files that a command opens without being told to; a configuration alone, since it ends most commands.
PLACES = (
    (
        ".gitignore", ".ctxrankignore", "docs/.gitignore", ".git/info/exclude", "linked/.git", ".ctxrank/follow.lock",
        ".ctxrank/index.lock", ".ctxrank/backups", "docs/b.md", "src/a.py", ".contextia/work/tasks/TASK-1.md",
    ),
    (".ctxrank/config.yaml",),
    (".contextia/config.yaml",),
    ("bazinga/skills_config.json",),
    ("user/ctxrank/config.yaml",),
)  # fmt: skip
COMMANDS = (
    ["index"], ["search", "walrus"], ["check"], ["session", "create", "t"], ["skill", "seed"],
    ["assemble", "--session", "s", "--agent", "developer"], ["status"], ["doctor"], ["context", "TASK-1"],
)  # fmt: skip


KINDS = ("pipe", "device", "sparse", "circle")


@pytest.mark.parametrize(
    ("places", "kind"),
    [
        pytest.param(
            places, kind, marks=[pytest.mark.slow] if places is not PLACES[0] or kind not in ("pipe", "device") else [],
            id=f"{kind} {places[0] if len(places) == 1 else 'files'}",
        )
        for places in PLACES for kind in KINDS
    ],
)  # fmt: skip
def test_what_is_no_file_is_waited_for_nowhere(
    project: Path, tmp_path: Path, places: tuple[str, ...], kind: str
) -> None:
    (project / "linked").mkdir()
    for place in places:
        path = project / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "sparse":
            with path.open("wb") as file:
                file.truncate(10 * 1024**3)
        else:
            path.symlink_to("/dev/zero" if kind == "device" else path)
    cache = tmp_path / "cache"
    cache.mkdir()
    os.mkfifo(cache / "fb374d419588a4632f3f557e76b4b70aebbca790")
    env = {**os.environ, "XDG_CONFIG_HOME": str(project / "user"), "TIKTOKEN_CACHE_DIR": str(cache)}
    commands = COMMANDS if len(places) > 1 else COMMANDS[:6]
    for words in (*commands, ["search", "walrus"]):
        folder = project / "linked" if words is commands[1] else project
        done = subprocess.run(
            [*CTXRANK, *words], cwd=folder, env=env, capture_output=True, text=True, timeout=20, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode in range(8) and "Traceback" not in done.stderr, (words, done.stderr)
        assert "should not" not in done.stderr, (words, done.stderr)
