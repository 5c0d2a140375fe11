"""Commands as data: what each takes, does and answers, said once, for every reader.

    Command(
        "search",
        "ctxrank.cli.actions.search:search",
        "Search past findings; QUERY is plain words …",
        (argument("query", nargs=-1, required=True), option("-n", "--limit", type=Whole(1, 1000), help="How many.")),
        answer={"query": "string", "hits": [{"id": "id", "score": "number"}]},
    )

An ordinary call is read by `parse.py`, at once. Everything else (help, mistakes, rare spellings) is read by
click, whose commands `click_commands.py` makes from the same data: loading click costs three bare interpreters.
`completion.py` makes shell scripts of it, and `schema.py` JSON.
A declaration imports nothing that works: its action is named, and imported when it is called.
"""

from collections.abc import Mapping

from ctxrank.indexer.light_typing import NamedTuple


class Whole(NamedTuple):
    """A whole number, from `least` to `most`."""

    least: int | None = None
    most: int | None = None


class OneOf(NamedTuple):
    """One of these words."""

    words: tuple[str, ...]


class Path(NamedTuple):
    """The path of a file or folder, which a shell completes; `is_folder` where no file can be meant."""

    is_folder: bool = False


Type = Whole | OneOf | Path


class Parameter(NamedTuple):
    """An argument or an option of a command; the words are click's."""

    declared: tuple[str, ...]
    is_option: bool
    type: Type | None = None
    default: object = None
    required: bool = False
    nargs: int = 1
    multiple: bool = False
    is_flag: bool = False
    metavar: str | None = None
    show_default: bool = False
    help: str | None = None

    @property
    def name(self) -> str:
        """What the command's action calls it."""
        given = [word for word in self.declared if word.isidentifier()]
        longest = max(self.on_words, key=len) if self.is_option else self.declared[0]
        return given[0] if self.is_option and given else longest.lstrip("-").replace("-", "_").lower()

    @property
    def on_words(self) -> list[str]:
        """What an option is called on the command line."""
        return [word.partition("/")[0] for word in self.declared if word.startswith("-")]

    @property
    def off_words(self) -> list[str]:
        """What says the contrary of a flag: --no-reasoning of --reasoning/--no-reasoning."""
        return [word.partition("/")[2] for word in self.declared if "/" in word]

    @property
    def nothing_given(self) -> object:
        """What the action gets where the command line says nothing."""
        if self.multiple or self.nargs == -1:
            return ()
        return False if self.is_flag and self.default is None and not self.off_words else self.default


class NoJson(NamedTuple):
    """Why a command has no JSON answer of ours: what its stdout is; `refusal` is (message, hint) where --json fails."""

    stdout: str
    refusal: tuple[str, str] | None = None


# What a value of an answer is, as `schema.py` reads it:
#   "string"  "integer"  "number"  "boolean"  "time"  "id" (kind:number)  "row" (a number, "12@9f3c27ab" of another
#   store)  "any"; with ? also null; "id:error" for the kind of a number, "number:4" for how many decimals
#   ("high", "low")      one of these values        [shape]        an array of such
#   {"key": shape}       an object; "key?" may be absent, "*" means keys that are data
#   Nullable(shape)      or null                    AnyOf(a, b)    one of several forms
Shape = object
Fields = Mapping[str, Shape]


class Nullable(NamedTuple):
    """A value of this shape, or null."""

    shape: Shape


class AnyOf:
    """Several forms that an answer has."""

    def __init__(self, *forms: Fields) -> None:
        self.forms = forms


ENGINE = ("fts5", "heuristic", "opensearch")
IMPORTED = {
    "schema": "integer", "complete": "boolean", "is_noop": "boolean",
    "counts": {"*": {"new": "integer", "updated": "integer", "unchanged": "integer"}},
    "skipped": [{"kind": "string", "key": "string", "reason": "string"}], "files_indexed": "integer",
    "files_missing": "integer", "recounted": "integer", "notes": ["string"],
}  # fmt: skip
# How up to date a store is with the log of its team.
TEAM = {"project": "string", "as_of": "time?", "change": "integer", "behind": "integer", "trouble": "string?"}
# How far the index of a store in a cluster is.
WIDE = {
    "nodes": "string", "index": "string", "used": "boolean", "documents": "integer", "behind": "integer",
    "set_aside": "integer", "bytes": "integer", "trouble": "string?",
}  # fmt: skip
EXPLANATION = {"value": "number", "meaning": "string", "parts": [{"value": "number", "meaning": "string"}]}

DONE = {0: "done"}
FOUND = {0: "found", 1: "nothing found"}


class Command(NamedTuple):
    """A command: its action, `module:function`, gets a Call and the parameters by name, and returns a Reply."""

    name: str
    action: str
    help: str
    parameters: tuple[Parameter, ...] = ()
    answer: Fields | AnyOf | NoJson = NoJson("nothing")
    exits: Mapping[int, str] = DONE  # what its own exit codes mean; those of failures are everywhere the same
    is_interspersed: bool = True  # False: what follows the first argument is not read
    usage: tuple[str, ...] | None = None  # not None: its words are its action's to read, and help prints these
    line: Fields | None = None  # what each line of --format jsonl is, where there is that format
    is_old: bool = False  # a name of before, which is answered and listed nowhere


class Group:
    """A command whose first word names one of its commands."""

    def __init__(self, name: str, help: str, commands: tuple[Command, ...]) -> None:
        self.name = name
        self.help = help
        self.commands = {command.name: command for command in commands}

    @property
    def listed(self) -> dict[str, Command]:
        """Those that help, completion and schema name."""
        return {name: command for name, command in self.commands.items() if not command.is_old}


Declared = Command | Group


def by_name(*declared: Declared) -> dict[str, Declared]:
    """The commands of a module, as the table of all commands finds them."""
    return {one.name: one for one in declared}


def option(
    *declared: str,
    type: Type | None = None,
    default: object = None,
    required: bool = False,
    multiple: bool = False,
    is_flag: bool = False,
    metavar: str | None = None,
    show_default: bool = False,
    help: str,
) -> Parameter:
    """Declare an option: its words, and the parameter's name where that is another."""
    is_flag = is_flag or any("/" in word for word in declared)
    return Parameter(declared, True, type, default, required, 1, multiple, is_flag, metavar, show_default, help)


def argument(
    name: str,
    *,
    type: Type | None = None,
    default: object = None,
    metavar: str | None = None,
    nargs: int = 1,
    required: bool | None = None,
) -> Parameter:
    """Declare an argument, needed unless said otherwise; with nargs=-1, the last one takes all there are."""
    is_required = nargs != -1 and default is None if required is None else required
    return Parameter((name,), False, type, default, is_required, nargs, metavar=metavar)


def page(key: str, item: Shape) -> dict[str, Shape]:
    """The fields of a list: its own key, how many there are in all, and whether some were left out."""
    return {key: [item], "total": "integer", "has_more": "boolean"}


def _global(*declared: str, metavar: str | None = None, type: Type | None = None, help: str) -> Parameter:
    return Parameter(declared, True, type, is_flag=metavar is None, metavar=metavar, help=help)


GLOBALS = (
    _global("--db", metavar="FILE", type=Path(), help="The store's ctxrank.db [default: the nearest .ctxrank/]."),
    _global("--root", metavar="DIR", type=Path(), help="Where artifacts' paths start [default: .ctxrank/'s parent]."),
    _global("--json", "as_json", help="Answer in JSON."),
    _global("-q", "--quiet", help="No notes on stderr."),
    _global("-v", "--verbose", help="More notes on stderr, and where the time went."),
    _global("--no-color", help="No colour, even if NO_COLOR is not set."),
)

GLOBAL_NAMES = tuple(parameter.name for parameter in GLOBALS)
