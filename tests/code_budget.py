"""How large each room is, beside the most that it may be: `make static` prints it and fails above a figure.

    python tests/code_budget.py              each room's lines of code, and the other figures of code_budget.toml
    python tests/code_budget.py --lower      write the figures as they are now, where they fell

A line of code is one with a token that is neither a comment nor part of a docstring or an import. The figures are a
ratchet: a change that needs room raises a figure in a commit of its own, which says why, and gives back the rest.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / "tests" / "code_budget.toml"
SOURCES = ("ctxrank", "indexer", "ranking", "cli", "extensions")
_SILENT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def code_of(text: str) -> tuple[int, int]:
    """(lines of code, tokens without comments and docstrings) of a module."""
    tree = ast.parse(text)
    imports: set[int] = set()
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for part in node.body:
                value = part.value if isinstance(part, ast.Expr) else None
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    docstrings.update(range(part.lineno, (part.end_lineno or part.lineno) + 1))
    lines: set[int] = set()
    tokens = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SILENT:
            lines.update(range(token.start[0], token.end[0] + 1))
            tokens += token.start[0] not in docstrings
    return len(lines - imports - docstrings), tokens


def figures() -> dict[str, dict[str, int]]:
    """Every figure that the budget can bound, by its table and name."""
    names = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    files = [Path(name) for name in names if name and (ROOT / name).is_file()]
    rooms: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    for path in files:
        top = path.parts[0]
        if path.suffix == ".py" and top in SOURCES:
            text = _text(path)
            lines, tokens = code_of(text)
            rooms["/".join(path.parts[:2]) if len(path.parts) > 2 else top] += lines
            whole["extensions" if top == "extensions" else "core"] += lines
            whole["tokens"] += tokens
            whole["fmt: skip"] += text.count("# fmt: skip")
        elif path.suffix == ".tsv" and top in SOURCES:
            whole["rows of tables in other files"] += sum(
                not line.startswith("#") for line in _text(path).split("\n")[:-1]
            )
        elif path.suffix in (".c", ".h") and top in SOURCES:
            whole["C"] += _lines_of_c(_text(path))
        elif path.suffix in (".sql", ".html", ".css", ".js", ".awk", ".bash", ".fish", ".zsh") and top in SOURCES:
            whole["SQL, templates, styles and scripts"] += _text(path).count("\n")
        elif path.suffix == ".py" and top == "benchmarks":
            whole["all lines of benchmarks"] += _text(path).count("\n")
        if path.parts[:2] == ("tests", "frozen"):
            whole["bytes of tests/frozen"] += (ROOT / path).stat().st_size
    for page in ("ARCHITECTURE.md", "benchmarks/README.md"):
        whole[f"words of {page}"] = len(_text(Path(page)).split())
    return {"rooms": dict(sorted(rooms.items())), "whole": dict(whole)}


def _text(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def _lines_of_c(text: str) -> int:
    bare = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    return sum(1 for line in bare.split("\n") if line.split("//")[0].strip())


def over(now: dict[str, dict[str, int]], most: dict[str, dict[str, int]]) -> Iterable[str]:
    """What is above its figure, and rooms that have none."""
    for table, values in now.items():
        for name, value in values.items():
            bound = most.get(table, {}).get(name)
            if bound is None:
                yield f"{name} has no figure in {BUDGET.name}"
            elif value > bound:
                yield f"{name} is {value:,}, {value - bound:,} above its figure"


def _written(values: dict[str, dict[str, int]]) -> str:
    head = BUDGET.read_text(encoding="utf-8").split("[", 1)[0] if BUDGET.exists() else ""
    tables = (
        f"[{table}]\n" + "".join(f'"{name}" = {value}\n' for name, value in rows.items())
        for table, rows in values.items()
    )
    return head + "\n".join(tables)


def main(words: list[str]) -> int:
    """Print the figures; 1 where one is above its bound."""
    now = figures()
    most: dict[str, dict[str, int]] = tomllib.loads(BUDGET.read_text(encoding="utf-8")) if BUDGET.exists() else {}
    if "--lower" in words:
        lowered = {
            table: {name: min(value, most.get(table, {}).get(name, value)) for name, value in rows.items()}
            for table, rows in now.items()
        }
        BUDGET.write_text(_written(lowered), encoding="utf-8")
        return 0
    for table, rows in now.items():
        for name, value in rows.items():
            print(f"{name:40}{value:>10,}{most.get(table, {}).get(name, 0):>10,}")
    problems = list(over(now, most))
    for problem in problems:
        print(f"code budget: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
