"""The catalogues of a made-up owner, checked by the programs that read them."""

import os
import subprocess
from pathlib import Path

import pytest
from catalogues import make_catalogues, read_listing
from real_runners import PROGRAMS
from test_catalogues import project_of

pytestmark = [pytest.mark.slow, pytest.mark.runners]


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    make_catalogues(read_listing(project_of(tmp_path)), tmp_path / "catalogue")
    return tmp_path / "catalogue"


def _run(folder: Path, program: str, *words: str) -> str:
    """What a program prints; it has a HOME of its own and no network."""
    if not os.access(PROGRAMS / program, os.X_OK):
        pytest.skip(f"{program} is not here: `make test-runners` gets it where npm can")
    home = folder / "home"
    home.mkdir(exist_ok=True)
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    given = {"HOME": str(home), "PATH": os.environ["PATH"], "GEMINI_CLI_TRUST_WORKSPACE": "true", **nowhere}
    done = subprocess.run(
        [str(PROGRAMS / program), *words],
        cwd=folder,
        env=given,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout + done.stderr


def test_claude_code_takes_marketplace_and_plugin_without_a_warning(catalogue: Path, tmp_path: Path) -> None:
    for path in (catalogue, catalogue / "plugins" / "claude-code"):
        assert "Validation passed" in _run(tmp_path, "claude", "plugin", "validate", "--strict", str(path))
    _run(tmp_path, "claude", "plugin", "marketplace", "add", str(catalogue))
    _run(tmp_path, "claude", "plugin", "install", "ctxrank@ctxrank")
    assert "ctxrank@ctxrank" in _run(tmp_path, "claude", "plugin", "list")


def test_codex_installs_the_plugin(catalogue: Path, tmp_path: Path) -> None:
    _run(tmp_path, "codex", "plugin", "marketplace", "add", str(catalogue))
    _run(tmp_path, "codex", "plugin", "add", "ctxrank@ctxrank")
    assert "installed, enabled" in _run(tmp_path, "codex", "plugin", "list")


def test_gemini_takes_the_extension(catalogue: Path, tmp_path: Path) -> None:
    assert "successfully validated" in _run(tmp_path, "gemini", "extensions", "validate", str(catalogue))
