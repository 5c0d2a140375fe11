"""No module imports itself through others, also where an import is in a function."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_ROOMS = ("ctxrank", "indexer", "ranking", "cli", "extensions")


def _imports() -> dict[str, set[str]]:
    """Each module of ours, and those that it imports anywhere but for a type checker."""
    paths: dict[str, Path] = {}
    for path in (path for room in _ROOMS for path in (ROOT / room).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts if parts[0] == "ctxrank" else ("ctxrank", *parts)).removesuffix(".__init__")
        paths[name] = path
    found: dict[str, set[str]] = {}
    for name, path in paths.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        checks = [
            node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        ]
        left_out = {id(inner) for node in checks for part in node.body for inner in ast.walk(part)}
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and id(node) not in left_out]
        meant = {f"{node.module}.{one.name}" for node in nodes for one in node.names} | {
            str(one.module) for one in nodes
        }
        found[name] = {one for one in meant if one in paths and one != name and not name.startswith(f"{one}.")}
    return found


@pytest.mark.slow
def test_no_module_imports_itself_through_others() -> None:
    waiting = _imports()
    while free := [name for name, needs in waiting.items() if not needs & waiting.keys()]:
        for name in free:
            del waiting[name]
    circles = {name: sorted(needs & waiting.keys()) for name, needs in waiting.items()}
    # What only imports a circle is no part of one: drop what nothing left here imports.
    while loose := [name for name in circles if not any(name in needs for needs in circles.values())]:
        for name in loose:
            del circles[name]
    assert circles == {}
