"""The files by which runners and the MCP registry list ctxrank, made into a folder that is published as it is.

    .claude-plugin/marketplace.json     plugins/claude-code/        claude plugin marketplace add OWNER/NAME
    .agents/plugins/marketplace.json    plugins/codex/              codex plugin marketplace add OWNER/NAME
    gemini-extension.json               hooks/ skills/              gemini extensions install ADDRESS
    server.json                                                     the MCP registry

Owner and address are `Repository` of [project.urls] in pyproject.toml, and nowhere else. The registry finds the owner
in the README as it is released: `registry_line` is that line.
"""

import json
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from ctxrank.cli.agents.runner_files import PLUGIN, hooks_of

_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_CODEX = Path(PLUGIN).with_name("codex")


class NoAddress(Exception):
    """pyproject.toml does not say where the project is, and whose it is."""


class Listing(NamedTuple):
    """What every catalogue says of the project."""

    name: str
    version: str
    description: str
    owner: str
    address: str

    @property
    def registry_name(self) -> str:
        """The name of the server in the MCP registry."""
        return f"io.github.{self.owner}/{self.name}"

    @property
    def registry_line(self) -> str:
        """The line of the README by which the registry knows that server and package have one owner."""
        return f"<!-- mcp-name: {self.registry_name} -->"

    @property
    def about(self) -> dict[str, object]:
        """What each manifest of a plugin says of itself."""
        author = {"name": self.owner, "url": f"https://github.com/{self.owner}"}
        return {
            "name": self.name,
            "version": self.version,
            "description": self.description,
            "author": author,
            "homepage": self.address,
            "repository": self.address,
            "license": "MIT",
        }


def read_listing(project: Path) -> Listing:
    """What the project's own files say. Raises NoAddress where [project.urls] has no repository on GitHub."""
    with (project / "pyproject.toml").open("rb") as file:
        about = tomllib.load(file)["project"]
    address = str(about.get("urls", {}).get("Repository", ""))
    host, path = urlsplit(address).netloc, urlsplit(address).path.strip("/").split("/")
    if host != "github.com" or len(path) != 2 or not all(path):
        raise NoAddress('pyproject.toml has no [project.urls] with Repository = "https://github.com/OWNER/NAME"')
    plugin = json.loads((Path(PLUGIN) / ".claude-plugin" / "plugin.json").read_text(encoding="utf-8"))
    return Listing(about["name"], about["version"], plugin["description"], path[0], address)


def make_catalogues(listing: Listing, into: Path) -> None:
    """Make the folder anew."""
    shutil.rmtree(into, ignore_errors=True)
    servers = json.loads((Path(PLUGIN) / ".mcp.json").read_text(encoding="utf-8"))
    for name, source, manifest in (
        ("claude-code", Path(PLUGIN), ".claude-plugin/plugin.json"),
        ("codex", _CODEX, ".codex-plugin/plugin.json"),
    ):
        plugin = into / "plugins" / name
        shutil.copytree(source, plugin)
        shutil.copytree(Path(PLUGIN) / "skills", plugin / "skills", dirs_exist_ok=True)
        _write(plugin / ".mcp.json", servers)
        parts = {"skills": "./skills/", "mcpServers": "./.mcp.json", "hooks": "./hooks/hooks.json"}
        _write(plugin / manifest, {**listing.about, **(parts if name == "codex" else {})})
    entry: dict[str, object] = {"name": listing.name, "description": listing.description}
    _write(
        into / ".claude-plugin" / "marketplace.json",
        {
            "name": listing.name,
            "owner": listing.about["author"],
            "metadata": {"description": listing.description, "version": listing.version},
            "plugins": [{**entry, "source": "./plugins/claude-code", "category": "memory"}],
        },
    )
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    place = {"source": "local", "path": "./plugins/codex"}
    _write(
        into / ".agents" / "plugins" / "marketplace.json",
        {
            "name": listing.name,
            "interface": {"displayName": listing.name},
            "plugins": [{"name": listing.name, "source": place, "policy": policy, "category": "Coding"}],
        },
    )
    _write(into / "gemini-extension.json", {**entry, "version": listing.version, **servers})
    _write(into / "hooks" / "hooks.json", {"hooks": hooks_of("gemini-cli", "ctxrank")})
    shutil.copytree(Path(PLUGIN) / "skills", into / "skills")
    _write(into / "server.json", _server(listing))


def _server(listing: Listing) -> Mapping[str, object]:
    package = {
        "registryType": "pypi",
        "identifier": listing.name,
        "version": listing.version,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "mcp"}],
    }
    return {
        "$schema": _SCHEMA,
        "name": listing.registry_name,
        "title": listing.name,
        "description": listing.description,
        "repository": {"url": listing.address, "source": "github"},
        "version": listing.version,
        "packages": [package],
    }


def _write(path: Path, value: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
