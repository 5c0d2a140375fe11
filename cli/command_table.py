r"""The tables of commands, read: `NAME.tsv` in a folder declares the command or the group of this name.

    command   search                ctxrank.cli.actions.search:search
              Search past findings; QUERY is plain words …               its help: lines that begin with a tab
    argument  query...
    option    -n --limit            1..1000          10      How many hits.
    repeated  --path GLOB paths                              Only files whose path matches.
    field     search                hits             [hit]
    field     hit                   score            number?

Cells are separated by tabs; the last ones may be missing. A row begins with what it is:

    group     help                                 of a group: its commands follow
    command   name, action                         `old` for a name of before, which help does not list
    from      name, package, table, name there     a command that another table declares
    argument  name and metavar, type               [file] is optional, query... takes all there are
    option    words, metavar and name, type, default, help; `required`, `repeated` and `flag` are options, too
    options   names of `options.tsv`               options that several commands take
    exit      code, meaning                        `finds` for 0 and 1 of a command that looks for something
    answer    shapes                               the forms of its answer, where it is not the shape of its name
    field     shape, field, type                   `...` takes the fields of a shape; no field: a name for the type
    prints    what, message, hint                  no JSON answer: what stdout is, and why --json is refused
    line      shape                                what a line of --format jsonl is
    usage     words                                its words are its action's to read
    verbatim                                       what follows the first argument is not read

A parameter's type is `file`, `folder`, `least..most`, `these|words` or `module:NAME` of words. A field's is one of the
words in `declare.py`, a shape of this table or of `shapes.tsv`, [of such], {of such by a key}, `these|values`.
"""

from collections.abc import Iterable

from ctxrank.cli.call import imported
from ctxrank.cli.declare import (
    BASIC,
    Command,
    Declared,
    Fields,
    Group,
    Nullable,
    OneOf,
    Parameter,
    Path,
    Shape,
    Type,
    Whole,
)
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import cache, cast
from ctxrank.indexer.machine import ALL_EXTENSIONS, is_off
from ctxrank.indexer.text.tables import rows

Rows = list[list[str]]
CORE = "ctxrank.cli.commands"
_PARAMETERS = ("argument", "option", "required", "repeated", "flag")
_DONE = {0: "done"}
_REFUSED = "ctxrank.indexer.machine:refused"
_FINDS = {0: "found", 1: "nothing found"}


def rows_of(package: str, name: str) -> Rows:
    """The rows of a table in a package's folder. Raises UsageError where an installation leaves the package out."""
    return list(rows(str(imported(f"{package}:__file__", name)), name))


class CommandTable:
    """A table of commands, each made when it is asked for."""

    def __init__(self, package: str, name: str) -> None:
        self._package, self._name = package, name
        self._help = ""  # of a group
        self._rows: dict[str, Rows] = {}
        rows = rows_of(package, name)
        self.fields = Shapes(rows).fields
        last: Rows = []
        for row in rows:
            if row[0] in ("command", "old", "from"):
                last = self._rows[row[1]] = [row]
            elif row[0] == "group":
                self._help = row[1]
            elif row[0] != "field":
                last.append(row)

    def declared(self) -> Declared:
        """The group, or the command of the table's name."""
        if not self._help:
            return self.command(self._name)
        return Group(self._name, self._help, tuple(self._rows), self.command)

    def command(self, name: str) -> Command:
        """One of its commands."""
        (kind, _, *where), *rows = self._rows[name]
        if kind == "from":
            return _from_elsewhere(name, *where)
        cells = {row[0]: tuple(row[1:]) for row in rows}
        exits = {int(row[1]): row[2] for row in rows if row[0] == "exit"}
        return Command(
            name,
            action=_REFUSED if self._is_off(name) else where[0],
            help="\n".join(row[-1] for row in rows if row[0] == "").strip("\n").replace("\\b", "\b"),
            parameters=tuple(parameter(*one) for row in rows for one in _parameter_rows(row)),
            exits=exits or (_FINDS if "finds" in cells else _DONE),
            fields=self.fields,
            forms=cells.get("answer", (name,)),
            prints=cells.get("prints", ()),
            line=cells.get("line", ()),
            usage=cells.get("usage"),
            is_interspersed="verbatim" not in cells,
            is_old=kind == "old",
        )

    def _is_off(self, name: str) -> bool:
        """Whether a command, its group or its extension is switched off on this machine."""
        extension = () if self._package == CORE else (self._package.rpartition(".")[2], ALL_EXTENSIONS)
        return is_off(name if not self._help else f"{self._name} {name}", self._name, *extension)


_tables: dict[tuple[str, str], CommandTable] = {}


def command_table(package: str, name: str) -> CommandTable:
    """A table that is read once. Raises UsageError where an installation leaves the package out."""
    if (package, name) not in _tables:
        _tables[package, name] = CommandTable(package, name)
    return _tables[package, name]


def _from_elsewhere(name: str, package: str, table: str, there: str) -> Command:
    try:
        return command_table(package, table).command(there)._replace(name=name)
    except UsageError:  # its action cannot be imported either, which says so
        words = parameter("argument", "[words...]")
        return Command(
            name, f"{package}:absent", "Not installed.", (words,), _DONE, Shapes([]).fields, (), ("nothing",)
        )


class Shapes:
    """The shapes that a table names, each made when it is asked for; `shapes.tsv` has those of several tables."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def fields(self, name: str) -> Fields:
        """The fields of a shape. Raises KeyError where no table has it."""
        own = [row for row in self._rows if row[0] == "field" and row[1] == name]
        fields: dict[str, Shape] = {}
        for _, _, field, type_ in own or _shared_shapes()[name]:
            fields.update(self.fields(type_) if field == "..." else {field: self._shape(type_)})
        return cast("Fields", fields.get("", fields))

    def _shape(self, type_: str) -> Shape:
        if type_[0] in "[{":
            inner = self._shape(type_[1:-1])
            return [inner] if type_[0] == "[" else {"*": inner}
        if "|" in type_ or type_ == "null":
            return tuple(None if one == "null" else one for one in type_.split("|"))
        name = type_.removesuffix("?")
        if name.partition(":")[0] in BASIC:
            return type_
        return self.fields(name) if name == type_ else Nullable(self.fields(name))


def _parameter_rows(row: list[str]) -> Rows:
    if row[0] == "options":
        return [_shared_options()[name] for name in row[1:]]
    return [row] if row[0] in _PARAMETERS else []


@cache
def _shared_shapes() -> dict[str, Rows]:
    shapes: dict[str, Rows] = {}
    for row in rows_of(CORE, "shapes"):
        shapes.setdefault(row[1], []).append(row)
    return shapes


_shared_options = cache(lambda: {name: cells for name, *cells in rows_of(CORE, "options")})


def parameter(kind: str, words: str, type_: str = "", default: str = "", help: str = "") -> Parameter:
    """A row of an argument or an option."""
    type_read = _type(type_) if type_ else None
    if kind == "argument":
        word, _, metavar = words.partition(" ")
        is_needed, is_many = word[0] != "[", "..." in word
        return Parameter(word.strip("[]."), (), type_read, None, is_needed, is_many, metavar=metavar or None)
    declared: tuple[str, ...] = ()
    name = metavar = ""
    for word in words.split():
        if word[0] == "-":
            declared = (*declared, word)
        elif word.isupper():
            metavar = word
        else:
            name = word
    value = int(default) if default and isinstance(type_read, Whole) else default.strip('"') if default else None
    if not name:
        name = max((word.partition("/")[0] for word in declared), key=len).lstrip("-").replace("-", "_")
    is_needed, is_many, is_flag = kind == "required", kind == "repeated", kind == "flag"
    return Parameter(name, declared, type_read, value, is_needed, is_many, is_flag, metavar or None, help)


def _type(cell: str) -> Type:
    if cell in ("file", "folder"):
        return Path(cell == "folder")
    if ".." in cell:
        least, _, most = cell.partition("..")
        return Whole(int(least) if least else None, int(most) if most else None)
    return OneOf(tuple(cast("Iterable[str]", imported(cell, cell)) if ":" in cell else cell.split("|")))


GLOBALS = (
    parameter("option", "--db FILE", "file", help="The store's ctxrank.db [default: the nearest .ctxrank/]."),
    parameter("option", "--root DIR", "file", help="Where artifacts' paths start [default: .ctxrank/'s parent]."),
    parameter("flag", "--json as_json", help="Answer in JSON."),
    parameter("flag", "-q --quiet", help="No notes on stderr."),
    parameter("flag", "-v --verbose", help="More notes on stderr."),
    parameter("flag", "--no-color", help="No colour, even if NO_COLOR is not set."),
)
GLOBAL_NAMES = tuple(one.name for one in GLOBALS)
