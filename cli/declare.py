"""Commands as data: what each takes, said once, for two readers.

    @declare.command()
    @declare.argument("query", nargs=-1, required=True)
    @declare.option("-n", "--limit", default=10, type=declare.Whole(1, 1000), help="How many hits.")
    def command(call: Call, query: tuple[str, ...], limit: int) -> int: ...

An ordinary call is read by `parse.py`, at once. Everything else (help, mistakes, rare spellings) is read by
click, whose commands `command.py` makes from the same data: loading click costs three bare interpreters.
"""

from collections.abc import Callable

from ctxrank.indexer.light_typing import NamedTuple

Function = Callable[..., object]


class Whole(NamedTuple):
    """A whole number, from `least` to `most`."""

    least: int | None = None
    most: int | None = None


class OneOf(NamedTuple):
    """One of these words."""

    words: tuple[str, ...]


class Parameter(NamedTuple):
    """An argument or an option of a command; the words are click's."""

    declared: tuple[str, ...]
    is_option: bool
    type: Whole | OneOf | None = None
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
        """What the command's function calls it."""
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
        """What the function gets where the command line says nothing."""
        if self.multiple or self.nargs == -1:
            return ()
        return False if self.is_flag and self.default is None and not self.off_words else self.default


class Command(NamedTuple):
    """A command: its function gets a Call and the parameters by name."""

    name: str
    function: Function
    parameters: tuple[Parameter, ...]
    is_interspersed: bool = True  # False: what follows the first argument is not read


class Group:
    """A command whose first word names one of its commands."""

    def __init__(self, name: str, function: Function) -> None:
        self.name = name
        self.function = function
        self.commands: dict[str, Command] = {}

    def command(self, name: str | None = None, *, is_interspersed: bool = True) -> Callable[[Function], Command]:
        """Declare a command of this group."""

        def declared(function: Function) -> Command:
            return self.add(command(name, is_interspersed=is_interspersed)(function))

        return declared

    def add(self, command: Command) -> Command:
        """Take in a command that was declared elsewhere."""
        self.commands[command.name] = command
        return command


def command(name: str | None = None, *, is_interspersed: bool = True) -> Callable[[Function], Command]:
    """Make a function a command; its name is the function's unless given."""

    def declared(function: Function) -> Command:
        # Decorators run from the one below upwards.
        parameters = tuple(reversed(_PENDING.pop(function, [])))
        return Command(name or function.__name__, function, parameters, is_interspersed)

    return declared


def group() -> Callable[[Function], Group]:
    """Make a function, of which only the docstring counts, a group."""
    return lambda function: Group(function.__name__, function)


def option(
    *declared: str,
    type: Whole | OneOf | None = None,
    default: object = None,
    required: bool = False,
    multiple: bool = False,
    is_flag: bool = False,
    metavar: str | None = None,
    show_default: bool = False,
    help: str,
) -> Callable[[Function], Function]:
    """Declare an option: its words, and the parameter's name where that is another."""
    is_flag = is_flag or any("/" in word for word in declared)
    return _pending(
        Parameter(declared, True, type, default, required, 1, multiple, is_flag, metavar, show_default, help)
    )


def argument(
    name: str, *, type: Whole | None = None, metavar: str | None = None, nargs: int = 1, required: bool | None = None
) -> Callable[[Function], Function]:
    """Declare an argument, needed unless said otherwise; with nargs=-1, the last one takes all there are."""
    is_required = nargs != -1 if required is None else required
    return _pending(Parameter((name,), False, type, nargs=nargs, required=is_required, metavar=metavar))


# What the decorators below a function's `command` have collected so far.
_PENDING: dict[Function, list[Parameter]] = {}


def _pending(parameter: Parameter) -> Callable[[Function], Function]:
    def decorated(function: Function) -> Function:
        _PENDING.setdefault(function, []).append(parameter)
        return function

    return decorated


def _global(*declared: str, metavar: str | None = None, help: str) -> Parameter:
    return Parameter(declared, is_option=True, is_flag=metavar is None, metavar=metavar, help=help)


GLOBALS = (
    _global("--db", metavar="FILE", help="The store's ctxrank.db [default: the nearest .ctxrank/]."),
    _global("--root", metavar="DIR", help="Where artifacts' paths start [default: beside .ctxrank/]."),
    _global("--json", "as_json", help="Answer in JSON."),
    _global("-q", "--quiet", help="No notes on stderr."),
    _global("-v", "--verbose", help="More notes on stderr."),
    _global("--no-color", help="No colour, also without NO_COLOR."),
)

GLOBAL_NAMES = tuple(parameter.name for parameter in GLOBALS)
