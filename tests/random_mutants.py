"""Mistakes drawn at random over the core's modules: a comparison, an operator, a constant or a branch, turned round.

    python tests/random_mutants.py --count 200 --seed 1     each is judged by the quick tests of its mirrored folder

One that changes nothing that a test could see (where a loop begins, the size of a cache) is a row of
`random_mutants.txt`: the file, its line before and after, the reason. It does not count. Exit codes: as `mutants.py`.
"""

import argparse
import ast
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mutants import KILLED, QUICK, ROOT, UNREADABLE, Mutation, Place, Verdict, run

CORE = ("indexer", "ranking", "cli")
ENOUGH = 0.85
NOTICED = (KILLED, UNREADABLE)  # a module that cannot be imported any more fails every test
EQUIVALENT = Path(__file__).with_suffix(".txt")
_TURNED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"), ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"), ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip


class Change(NamedTuple):
    """One mistake: the kind of operator, the span of the source in bytes, and what stands there instead."""

    kind: str
    line: int
    start: int
    end: int
    text: str


def changes_of(source: bytes) -> Iterator[Change]:
    """All mistakes that can be made in a module."""
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)

    def offset(line: int | None, column: int | None) -> int:
        assert line is not None and column is not None
        return starts[line - 1] + column

    def turned(kind: str, left: ast.expr, operator: ast.AST, right: ast.expr) -> Iterator[Change]:
        """The operator between two operands; a format of a text is no arithmetic."""
        old, new = _TURNED.get(type(operator), ("", ""))
        begin, stop = offset(left.end_lineno, left.end_col_offset), offset(right.lineno, right.col_offset)
        at = source.find(old.encode(), begin, stop) if old else -1
        if at >= 0:
            yield Change(kind, left.end_lineno or 0, at, at + len(old), new)

    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=left, ops=[operator], comparators=[right]):
                yield from turned("comparison", left, operator, right)
            case ast.BinOp(left=left, op=operator, right=right) if not isinstance(left, ast.Constant | ast.JoinedStr):
                yield from turned("arithmetic", left, operator, right)
            case ast.BoolOp(op=operator, values=[left, right, *_]):
                yield from turned("boolean", left, operator, right)
            case ast.Constant(value=int() as value) if node.end_lineno == node.lineno:
                new = str(not value) if isinstance(value, bool) else str(value + 1)
                end = offset(node.end_lineno, node.end_col_offset)
                yield Change("constant", node.lineno, offset(node.lineno, node.col_offset), end, new)
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                start, end = offset(test.lineno, test.col_offset), offset(test.end_lineno, test.end_col_offset)
                text = source[start:end].decode()
                if text != "TYPE_CHECKING":
                    yield Change("branch", test.lineno, start, end, f"(not ({text}))")
            case _:
                pass


def tests_of(source: Path) -> tuple[str, ...]:
    """The folder of tests that mirrors a module's, or the nearest above it."""
    folder = source.parent
    while not (ROOT / "tests" / folder).is_dir():
        folder = folder.parent
    return (str(Path("tests") / folder),)


def drawn(count: int, seed: int) -> dict[Mutation, Place]:
    """As many mutations by chance, equally many of each operator."""
    by_kind: dict[str, list[tuple[Path, Change]]] = {}
    for room in CORE:
        for path in sorted((ROOT / room).rglob("*.py")):
            for change in changes_of(path.read_bytes()):
                by_kind.setdefault(change.kind, []).append((path.relative_to(ROOT), change))
    chance = random.Random(seed)
    places: dict[Mutation, Place] = {}
    for at in range(count):
        ones = by_kind[sorted(by_kind)[at % len(by_kind)]]
        path, change = ones.pop(chance.randrange(len(ones)))
        text = (ROOT / path).read_bytes()
        new = text[: change.start] + change.text.encode() + text[change.end :]
        old = text[change.start : change.end].decode()
        name = f"{path}:{change.line} {' '.join(old.split())} → {' '.join(change.text.split())}"
        tests = tests_of(path)
        places[Mutation(change.kind, name, text.decode(), new.decode(), tests, "")] = Place(path, tests)
    return places


def equivalents() -> list[tuple[str, str, str, str]]:
    """(file, line before, line after, why) of mutations that change nothing."""
    lines = EQUIVALENT.read_text(encoding="utf-8").split("\n")
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [(file, before, after, why) for file, before, after, why in rows]


def changed_line(mutation: Mutation) -> tuple[str, str, str]:
    """(file, line before, line after) of a mutation."""
    before, after = mutation.old.split("\n"), mutation.new.split("\n")
    at = next(at for at, (one, other) in enumerate(zip(before, after, strict=False)) if one != other)
    return mutation.name.partition(":")[0], before[at].strip(), after[at].strip()


def report(verdicts: list[Verdict]) -> float:
    """A line for each operator, and every survivor; returns the share killed of those that change something."""
    same = {row[:3] for row in equivalents()}
    counted = [one for one in verdicts if one.outcome in NOTICED or changed_line(one.mutation) not in same]
    for kind in [*sorted({one.mutation.area for one in counted}), "all"]:
        noticed = [one.outcome in NOTICED for one in counted if kind in (one.mutation.area, "all")]
        print(f"{kind:12} {sum(noticed):4} of {len(noticed)}")
    for one in verdicts:
        if one.outcome not in NOTICED:
            print(f"{one.outcome}: {one.mutation.name}{'  (changes nothing)' if one not in counted else ''}")
    return sum(one.outcome in NOTICED for one in counted) / len(counted)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, run, and print what survived."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print them, and run nothing")
    options = parser.parse_args(arguments)
    places = drawn(options.count, options.seed)
    if options.list:
        print(*(f"{one.area:11} {one.name}  ({' '.join(one.tests)})" for one in places), sep="\n")
        return 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        share = report(run(places, Path(folder), (QUICK,)))
    print(f"{len(places)} mutations in {time.monotonic() - started:.0f} s, {share:.0%} killed")
    return 0 if share >= ENOUGH else 1


if __name__ == "__main__":
    sys.exit(main())
