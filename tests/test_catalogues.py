"""The catalogues are made from the one address in pyproject.toml, and from nothing where it has none."""

import json
import re
from pathlib import Path

import pytest
from catalogues import NoAddress, make_catalogues, read_listing

from ctxrank.cli.agents.runner_files import hooks_of

HOUSE = Path(__file__).parents[1]
_ADDRESS = "https://github.com/a-made-up-owner/ctxrank"


def project_of(folder: Path, address: str = _ADDRESS) -> Path:
    """A folder with the project's pyproject.toml, and an address that is made up."""
    text = (HOUSE / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(f'{text}\n[project.urls]\nRepository = "{address}"\n', encoding="utf-8")
    return folder


@pytest.mark.parametrize("address", ["", "https://example.org/a/b", "https://github.com/owner-alone"])
def test_without_an_address_there_is_no_catalogue(tmp_path: Path, address: str) -> None:
    with pytest.raises(NoAddress):
        read_listing(project_of(tmp_path, address))


def test_every_catalogue_names_the_owner_the_version_and_what_is_there(tmp_path: Path) -> None:
    listing = read_listing(project_of(tmp_path))
    assert (listing.owner, listing.address) == ("a-made-up-owner", _ADDRESS)
    into = tmp_path / "catalogue"
    make_catalogues(listing, into)
    read = {str(path.relative_to(into)): json.loads(path.read_text()) for path in into.rglob("*.json")}
    claude, codex = read[".claude-plugin/marketplace.json"], read[".agents/plugins/marketplace.json"]
    for path in (claude["plugins"][0]["source"], codex["plugins"][0]["source"]["path"]):
        plugin = into / path
        assert (plugin / "skills/ctxrank/SKILL.md").exists() and (plugin / "hooks/hooks.json").exists()
        (manifest,) = plugin.glob(".*-plugin/plugin.json")
        about = json.loads(manifest.read_text())
        assert (about["version"], about["author"]["name"]) == (listing.version, listing.owner)
    assert claude["owner"]["name"] == listing.owner
    assert read["gemini-extension.json"]["mcpServers"]["ctxrank"] == {"command": "ctxrank", "args": ["mcp"]}
    assert read["hooks/hooks.json"] == {"hooks": hooks_of("gemini-cli", "ctxrank")}


def test_the_registry_gets_what_its_schema_asks_for(tmp_path: Path) -> None:
    listing = read_listing(project_of(tmp_path))
    make_catalogues(listing, tmp_path / "catalogue")
    server = json.loads((tmp_path / "catalogue" / "server.json").read_text())
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"]) and len(server["description"]) <= 100
    (package,) = server["packages"]
    assert package["version"] == server["version"] == listing.version
    assert listing.registry_line == "<!-- mcp-name: io.github.a-made-up-owner/ctxrank -->"


def test_nobody_is_named_in_the_tree() -> None:
    """Until the project has an address, no file of it has one: `make release` says so."""
    with pytest.raises(NoAddress):
        read_listing(HOUSE)
    assert "mcp-name:" not in (HOUSE / "README.md").read_text(encoding="utf-8")
