"""Every test runs without the settings of whoever runs it."""

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_settings_from_outside(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("CTXRANK_")]:
        monkeypatch.delenv(name)
    empty: Path = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(empty))


def pytest_addoption(parser: pytest.Parser) -> None:
    """One option rewrites the golden rankings; their diff is what gets reviewed."""
    parser.addoption("--rewrite-golden", action="store_true", help="Write tests/golden/ as the ranking is now.")
