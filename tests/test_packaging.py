"""What is shipped: the folders, their data, and the few public names."""

import tomllib
from pathlib import Path

import pytest
from release_smoke import COMPILED

from ctxrank import indexer, ranking
from ctxrank.indexer.extensions import EXTENSIONS
from ctxrank.indexer.light_typing import is_dict, is_list

ROOT = Path(__file__).parent.parent
FOLDERS = ("ctxrank", "indexer", "ranking", "cli", "extensions")


def _project() -> dict[str, dict[str, dict[str, object]]]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def test_every_folder_of_the_house_is_shipped() -> None:
    """A subpackage that is not named is missing from the wheel without a word."""
    shipped = _project()["tool"]["setuptools"]["packages"]
    homes = {path.parent.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    assert is_list(shipped)
    named = {".".join(home.parts).removeprefix("ctxrank") for home in homes}
    assert sorted(map(str, shipped)) == sorted(f"ctxrank.{name}".rstrip(".") for name in named)


@pytest.mark.needs(*EXTENSIONS)
def test_everything_beside_the_modules_is_package_data() -> None:
    kinds = {
        path.name if path.name == "py.typed" else f"*{path.suffix}"
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
        and path.suffix not in (".py", ".pyc", ".c", ".h", ".so")
        and not {"plugin", "shells", "web", "__pycache__"} & set(path.parts)
    }
    assert kinds == {"py.typed", "*.sql", "*.pyi", "*.tsv", "*.txt", "*.json"}


def test_every_table_is_package_data() -> None:
    data = _project()["tool"]["setuptools"]["package-data"]
    tables = {path.parent for folder in FOLDERS for path in (ROOT / folder).rglob("*.tsv")}
    beside = {home for home in tables if not (home / "__init__.py").exists()}  # of no package of its own
    assert is_dict(data) and data["ctxrank.indexer.errors"] == ["tables/*.tsv"]
    assert beside == {ROOT / "indexer" / "errors" / "tables"}


def test_every_script_of_a_shell_is_package_data() -> None:
    data = _project()["tool"]["setuptools"]["package-data"]
    assert is_dict(data) and data["ctxrank.cli"] == ["shells/*"]


def test_every_file_of_the_plugin_is_package_data() -> None:
    home = ROOT / "cli" / "agents"
    data = _project()["tool"]["setuptools"]["package-data"]
    files = sorted(path.relative_to(home).as_posix() for path in (home / "plugin").rglob("*") if path.is_file())
    assert is_dict(data) and data["ctxrank.cli.agents"] == files


@pytest.mark.needs("web")
def test_every_file_of_the_page_is_package_data() -> None:
    home = ROOT / "extensions" / "web"
    data = _project()["tool"]["setuptools"]["package-data"]
    assert is_dict(data)
    patterns = [*_listed(data["*"]), *_listed(data["ctxrank.extensions.web"])]
    shipped = {path for pattern in patterns for path in home.glob(pattern)}
    beside = {path for path in home.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert shipped == beside


def _listed(value: object) -> list[str]:
    assert is_list(value)
    return list(map(str, value))


def test_the_page_is_an_extra_that_nothing_else_needs() -> None:
    project = _project()["project"]
    names = {one.partition(">")[0] for one in _listed(project["optional-dependencies"]["web"])}
    assert names == {"jinja2", "starlette", "uvicorn"}
    assert not names & {one.partition(">")[0] for one in _listed(project["dependencies"])}


def test_every_compiled_module_is_where_setup_looks_for_it() -> None:
    sources = {path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.c")}
    assert sources == {path.relative_to(ROOT) for path in ROOT.glob("*/*/_*.c")}
    assert sorted(COMPILED) == sorted(".".join(source.with_suffix("").parts) for source in sources)


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_folder_is_typed(folder: str) -> None:
    assert (ROOT / folder / "py.typed").exists()


def test_the_public_names_are_these() -> None:
    assert indexer.__all__ == ["Store", "create_store", "open_store"]
    assert ranking.__all__ == [
        "AssembleRequest", "Assembly", "SearchRequest", "SearchResult", "assemble", "search",
    ]  # fmt: skip
    for package in (indexer, ranking):
        assert all(getattr(package, name) for name in package.__all__)


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError):
        indexer.nothing  # noqa: B018  # asking is the test
    with pytest.raises(AttributeError):
        ranking.nothing  # noqa: B018  # asking is the test


def test_the_command_is_a_script_that_loads_nothing_else() -> None:
    """What pip makes of an entry point may import `re` first, a third of a bare start at every event of a runner."""
    project = _project()
    assert "scripts" not in project["project"] and project["tool"]["setuptools"]["script-files"] == ["bin/ctxrank"]
    lines = (ROOT / "bin" / "ctxrank").read_text().splitlines()
    imports = [line.strip() for line in lines if "import" in line and '"""' not in line]
    assert imports == ["import sys", "from ctxrank.cli.entry import main"]  # sys is loaded by then
