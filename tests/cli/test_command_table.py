"""The tables of commands: each row is of a kind that is read, and what several commands share is said once."""

from collections import Counter
from pathlib import Path

import pytest
from tables import each_row

from ctxrank.cli.command_table import CORE, command_table, parameter, rows_of
from ctxrank.cli.declare import OneOf, Parameter, Whole
from ctxrank.cli.main import COMMANDS
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.extensions import EXTENSIONS

ROOT = Path(__file__).parents[2]
KINDS = {
    "group": 2, "command": 3, "old": 3, "from": 5, "": 2, "argument": 3, "option": 5, "required": 5, "repeated": 5,
    "flag": 5, "options": 9, "exit": 3, "finds": 1, "answer": 9, "field": 4, "prints": 4, "line": 2, "usage": 9,
    "verbatim": 1,
}  # fmt: skip
# Tables in the folders of extensions that declare no command.
OTHERS = ("tables", "rules", "served", "words")
SHARED_SHAPES = {row[1] for row in rows_of(CORE, "shapes")}
SHARED_OPTIONS = {row[0] for row in rows_of(CORE, "options")}


def _tables() -> list[tuple[str, str]]:
    """Package and name of each table of commands."""
    core = [(CORE, path.stem) for path in (ROOT / "cli" / "commands").glob("*.tsv")]
    beside = [(f"ctxrank.extensions.{path.parent.name}", path.stem) for path in (ROOT / "extensions").glob("*/*.tsv")]
    return [one for one in sorted(core + beside) if one[1] not in ("options", "shapes", *OTHERS)]


@each_row("package, name", _tables())
def test_every_row_is_of_a_kind_that_is_read_and_no_shape_is_said_twice(package: str, name: str) -> None:
    rows = rows_of(package, name)
    assert not [row for row in rows if row[0] not in KINDS or (len(row) > KINDS[row[0]] < 9)]
    assert not {row[1] for row in rows if row[0] == "field"} & SHARED_SHAPES
    fields = Counter(tuple(row[1:3]) for row in rows if row[0] == "field" and row[2] != "...")
    assert not [field for field, count in fields.items() if count > 1]


@pytest.mark.needs(*EXTENSIONS)
def test_every_table_is_of_a_command_or_has_a_command_of_another() -> None:
    taken = {(row[2], row[3]) for package, name in _tables() for row in rows_of(package, name) if row[0] == "from"}
    of_commands = {(package, name) for name, (package, _) in COMMANDS.items()}
    # The tools of MCP are declared in the same words.
    assert set(_tables()) == taken | of_commands | {("ctxrank.extensions.mcp", "tools")}


def test_what_tables_share_is_taken_by_some_and_said_once() -> None:
    rows = [row for package, name in _tables() for row in rows_of(package, name)]
    assert {name for row in rows if row[0] == "options" for name in row[1:]} == SHARED_OPTIONS
    words = [row[3] for row in (*rows, *rows_of(CORE, "shapes")) if row[0] == "field"]
    words += [name for row in rows if row[0] in ("answer", "line") for name in row[1:]]
    assert {word.strip("[]{}?") for word in words} >= SHARED_SHAPES


@each_row(
    "row, wanted",
    [
        ("argument\tfile FILE\tfile", ("file", True, False, "FILE")),
        ("argument\t[words...] [WORD]...", ("words", False, True, "[WORD]...")),
        ("argument\tquery...", ("query", True, True, None)),
    ],
)
def test_an_argument_says_by_its_mark_whether_it_is_needed_and_how_many_it_takes(
    row: str, wanted: tuple[object, ...]
) -> None:
    one = parameter(*row.split("\t"))
    assert (one.name, one.required, one.is_many, one.metavar) == wanted and not one.is_option


@each_row(
    "row, wanted",
    [
        (
            "option\t-n --limit\t1..9\t3\tHow many.",
            Parameter("limit", ("-n", "--limit"), Whole(1, 9), 3, help="How many."),
        ),
        (
            "repeated\t--path GLOB paths\t\t\tWhich.",
            Parameter("paths", ("--path",), None, is_many=True, metavar="GLOB", help="Which."),
        ),
        ("flag\t--dry-run\t\t\tNo.", Parameter("dry_run", ("--dry-run",), is_flag=True, help="No.")),
        ('option\t--by\ta|b\t""\tHow.', Parameter("by", ("--by",), OneOf(("a", "b")), "", help="How.")),
    ],
)
def test_an_option_has_its_words_type_and_default(row: str, wanted: Parameter) -> None:
    assert parameter(*row.split("\t")) == wanted


def test_a_table_of_an_absent_extension_says_that_it_is_not_installed() -> None:
    with pytest.raises(UsageError, match="'hats' is not installed"):
        command_table("ctxrank.extensions.hats", "hats")
