"""Commands as data: what each takes, does and answers, said once, for every reader.

`cli/commands/` has a table for each command, which `command_table.py` reads. An ordinary call is read by `parse.py`,
at once. Everything else (help, mistakes, rare spellings) is read by click, whose commands `click_commands.py` makes
from the same data: loading click costs three bare interpreters. `completion.py` makes shell scripts of it, and
`schema.py` JSON. A declaration imports nothing that works: its action is named, and imported when it is called.
"""

from collections.abc import Callable, Mapping

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
    """An argument or an option of a command; `name` is what its action calls it, `declared` are an option's words."""

    name: str
    declared: tuple[str, ...] = ()
    type: Type | None = None
    default: object = None
    required: bool = False
    is_many: bool = False  # an option that may be repeated, an argument that takes all words that are left
    is_flag: bool = False
    metavar: str | None = None
    help: str | None = None

    @property
    def is_option(self) -> bool:
        """Whether it is given by a word of its own; an argument is given by its place."""
        return self.declared != ()

    @property
    def on_words(self) -> list[str]:
        """What an option is called on the command line."""
        return [word.partition("/")[0] for word in self.declared]

    @property
    def off_words(self) -> list[str]:
        """What says the contrary of a flag: --no-reasoning of --reasoning/--no-reasoning."""
        return [word.partition("/")[2] for word in self.declared if "/" in word]

    @property
    def nothing_given(self) -> object:
        """What the action gets where the command line says nothing."""
        if self.is_many:
            return ()
        return False if self.is_flag and not self.off_words else self.default


# What a value of an answer is, as `schema.py` reads it: one of these words, with ? also null; ("high", "low"), one of
# these values; [shape], an array of such; {"key": shape}, an object, where "key?" may be absent and "*" means keys that
# are data; Nullable(shape), or null. An "id" is kind:number, a "row" a number, or "12@9f3c27ab" of another store;
# "id:error" says the kind of a number, "number:4" how many decimals.
BASIC = ("string", "integer", "number", "boolean", "time", "id", "row", "any")
Shape = object
Fields = Mapping[str, Shape]


class Nullable(NamedTuple):
    """A value of this shape, or null."""

    shape: Shape


class Extended(NamedTuple):
    """A record with fields that are not its own, for its JSON."""

    record: object
    more: Mapping[str, object]


class Command(NamedTuple):
    """A command: its action, `module:function`, gets a Call, the open store where it has a parameter `store`, and the
    command's own by name, and returns a Reply.
    """

    name: str
    action: str
    help: str
    parameters: tuple[Parameter, ...]
    exits: Mapping[int, str]  # what its own exit codes mean; those of failures are everywhere the same
    fields: Callable[[str], Fields]  # those of a shape of its table
    forms: tuple[str, ...]  # the shapes that its JSON answer may have
    prints: tuple[str, ...] = ()  # without such an answer: what its stdout is; message and hint where --json fails
    line: tuple[str, ...] = ()  # the shape of a line of --format jsonl, where there is that format
    usage: tuple[str, ...] | None = None  # not None: its words are its action's to read, and help prints these
    is_interspersed: bool = True  # False: what follows the first argument is not read
    is_old: bool = False  # a name of before, which is answered and listed nowhere

    @property
    def answer(self) -> tuple[Fields, ...]:
        """The forms that its JSON answer may have; none where it has no such answer."""
        return () if self.prints else tuple(self.fields(form) for form in self.forms)


class Group(NamedTuple):
    """A command whose first word names one of its commands; each is made when it is asked for."""

    name: str
    help: str
    names: tuple[str, ...]
    make: Callable[[str], Command]

    def command(self, name: str) -> Command | None:
        """The command of this name; None for none."""
        return self.make(name) if name in self.names else None

    @property
    def commands(self) -> dict[str, Command]:
        """All of them by name."""
        return {name: self.make(name) for name in self.names}

    @property
    def listed(self) -> dict[str, Command]:
        """Those that help, completion and schema name."""
        return {name: command for name, command in self.commands.items() if not command.is_old}


Declared = Command | Group
