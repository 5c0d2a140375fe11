"""One call of the command line: where the store is, and how its answer leaves.

An action returns a Reply; `run_command` alone knows whether it is printed as JSON or as text. stdout is the payload and
nothing else; talk goes to stderr.
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from ctxrank.indexer.exceptions import CtxrankError, UsageError, brief
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple, cast
from ctxrank.indexer.machine import ALL_EXTENSIONS, is_off, refused

if TYPE_CHECKING:  # help opens no database
    from ctxrank.cli.declare import Command
    from ctxrank.indexer.store.connection import Row
    from ctxrank.indexer.store.store import Store

DURABLE = "durable"  # an option of commands that write, which their actions do not see
_STDOUT = "<stdout>"  # what `streams.py` says failed


class Call(NamedTuple):
    """The global options, from before or after the command's name."""

    db: str | None = None
    root: str | None = None
    is_json: bool = False
    verbosity: int = 0
    is_colored: bool = True
    opened: "Callable[..., Store] | None" = None  # opens a store in a process that answers many calls
    heard: list[str] | None = None  # notes go here instead of stderr

    @classmethod
    def at_start(cls) -> "Call":
        """Before any option: coloured where a person looks on."""
        return cls(is_colored=sys.stdout.isatty() and not os.environ.get("NO_COLOR"))

    def merged(self, given: Mapping[str, object]) -> "Call":
        """With options given later, by the names of command_table.GLOBALS, over those given before."""
        db, root = given.get("db"), given.get("root")
        return Call(
            str(db) if db else self.db,
            str(root) if root else self.root,
            bool(given.get("as_json")) or self.is_json,
            -1 if given.get("quiet") else 1 if given.get("verbose") else self.verbosity,
            self.is_colored and not given.get("no_color"),
        )

    def form(self, asked: str) -> str:
        """The form that is meant, where a command has a --format of its own: --json goes before it."""
        return "json" if self.is_json else asked

    def open(self, start: str | None = None, busy_ms: int | None = None) -> "Store":
        """The store that this call means, from a folder upwards. Raises NoStoreError, DamagedError, LockedError."""
        if self.opened is not None:
            return self.opened(self.db, root=self.root, start=start, busy_ms=busy_ms)
        from ctxrank.indexer.opening import open_store  # noqa: PLC0415  help opens no database

        store = open_store(self.db, root=self.root, start=start, busy_ms=busy_ms)
        store.before_close = _wake  # of a store without a team it is not called
        return store

    def note(self, text: str) -> None:
        """Talk to the person: on stderr, unless --quiet; or to whoever hears the notes instead."""
        if self.heard is not None:
            self.heard.append(text)
        elif self.verbosity >= 0:
            from ctxrank.indexer.text.lines import one_line  # noqa: PLC0415  help shows nothing from outside

            print(f"ctxrank: {brief(one_line(text))}", file=sys.stderr)

    def bold(self, text: str) -> str:
        """The text emphasised where a terminal shows it."""
        return f"\x1b[1m{text}\x1b[0m" if self.is_colored else text

    def linked(self, text: str, path: str) -> str:
        """The text, which opens a file where a terminal shows links (OSC 8; others show plain text)."""
        if not self.is_colored:
            return text
        from socket import gethostname  # noqa: PLC0415  only a terminal gets links
        from urllib.parse import quote  # noqa: PLC0415  as above

        address = f"file://{gethostname()}{quote(os.fsencode(os.path.abspath(path)))}"
        return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"

    def dim(self, text: str) -> str:
        """The text toned down where a terminal shows it."""
        return f"\x1b[2m{text}\x1b[0m" if self.is_colored else text


def _wake(store: "Store") -> None:
    """Start the process that exchanges with the team's log, if there is something for it and one is installed."""
    from ctxrank.cli.sharing import sharing  # noqa: PLC0415  only a store with a team has one
    from ctxrank.indexer.extensions import is_in_use  # noqa: PLC0415  as above

    if is_in_use("team"):
        sharing("team").wake(store)


class Reply(NamedTuple):
    """What an action answers, in both forms; the form that is not asked for is not made."""

    payload: Callable[[], object] | None = None  # a record or a dict, by the answer declared; None: it has left already
    lines: Iterable[str] = ()
    text: str = ""  # as it is, in place of lines: a block, a patch
    outcome: str = "matched"
    exit_code: int = 0
    engine: str = ""  # which engine answered, where an index was asked
    notes: tuple[str, ...] = ()  # said after the answer in either form
    text_notes: tuple[str, ...] = ()  # said after the text, before the others: JSON says it in its fields
    form: str = ""  # "json": in JSON whatever the call says


def list_reply(
    call: Call,
    page: "Sequence[Row]",
    key: str,
    shown: "Callable[[Call, Row], str | Iterable[str]]",
    nothing: str = "",
    absent: tuple[str, ...] = (),
    record: "Callable[[Row], object] | None" = None,
    **more: object,
) -> Reply:
    """The reply of a command that lists; 1 where there is nothing, which `absent` says, `nothing` in text alone.

    `shown` makes the line or lines of a row; `record` what becomes JSON of it, if that is not the row itself; `more`
    are further fields. A page may have been cut by a limit, any other sequence is all.
    """
    total: int = getattr(page, "total", len(page))
    cut = f"{len(page)} of {total}; -n shows more at once."
    said = (shown(call, row) for row in page)
    return Reply(
        lambda: {
            "total": total, "has_more": total > len(page), **more,
            key: list(page) if record is None else list(map(record, page)),
        },
        chain.from_iterable([lines] if isinstance(lines, str) else lines for lines in said),
        outcome="matched" if page else "no_match",
        exit_code=0 if page else 1,
        text_notes=(cut,) if total > len(page) else () if page or not nothing else (nothing,),
        notes=() if page else absent,
    )  # fmt: skip


def given_options(words: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """The values that a command line gives to some options, wherever they are; other words are passed over."""
    found: dict[str, str] = {}
    for word, next_word in zip(words, (*words[1:], ""), strict=False):
        name, has_value, value = word.partition("=")
        if name in names and (value := value if has_value else next_word):
            found[name] = value
    return found


def imported(place: str, command: str) -> object:
    """What a module has, `module:member`. Raises UsageError where an installation leaves a command's room out."""
    module, _, member = place.partition(":")
    try:
        return getattr(__import__(module, fromlist=[member]), member)  # importlib's own function would load warnings
    except ModuleNotFoundError:
        from ctxrank.indexer.extensions import provided  # noqa: PLC0415  a query needs no extension

        return provided(place, command)  # which says so


def run_command(command: "Command", call: Call, values: Mapping[str, object]) -> int:
    """Run a command's action and print its reply in the form that the call asks for; returns the exit code."""
    if call.is_json and command.prints[1:]:
        raise UsageError(*command.prints[1:])
    reply = act(command, call, values)
    is_json = call.is_json or reply.form == "json"
    if is_json and reply.payload is not None:
        from ctxrank.cli.output.envelope import envelope, print_json  # noqa: PLC0415  text needs no JSON library

        payload = cast("Mapping[str, object]", reply.payload())
        print_json(envelope(payload, outcome=reply.outcome, engine=reply.engine))
    elif not is_json:
        for line in reply.lines:
            print(line)
        if reply.text:
            sys.stdout.write(reply.text)
        for note in reply.text_notes:
            call.note(note)
    for note in reply.notes:
        call.note(note)
    return reply.exit_code


def act(command: "Command", call: Call, values: Mapping[str, object]) -> Reply:
    """What a command's action replies; with --durable when the team's log has acknowledged what it wrote.

    An action that takes a `store` is given that of the call, open.
    """
    action = cast("Callable[..., Reply]", imported(command.action, command.name))
    given = {name: value for name, value in values.items() if name != DURABLE}

    def replied() -> Reply:
        if "store" not in action.__annotations__:
            return action(call, **given)
        with call.open() as store:
            return action(call, store, **given)

    if values.get(DURABLE):
        from ctxrank.cli.sharing import sharing  # noqa: PLC0415  only --durable asks the log

        if is_off("team", ALL_EXTENSIONS):
            refused()
        durably = cast("Callable[[Call, Callable[[], Reply]], Reply]", sharing("--durable").durably)
        reply = durably(call, replied)
    else:
        reply = replied()
    payload = reply.payload
    if payload is None:
        return reply

    def as_json() -> Mapping[str, object]:
        from ctxrank.cli.output.shaped import answer  # noqa: PLC0415  text needs no JSON

        return answer(command.answer, payload())

    return reply._replace(payload=as_json)


def answered(act: Callable[[], int], failed: Callable[[Exception], int]) -> int:
    """Run a call to the last byte of its answer; returns its exit code. For the outermost edge alone.

    `failed` says what an exception of the call means. Whether stdout took the answer is decided here: a reader that
    has gone has what it wanted.
    """
    try:
        try:
            code = act()
        except Exception as error:  # a user gets a sentence, not a traceback
            if isinstance(error, OSError) and error.filename == _STDOUT:
                raise
            code = failed(error)
        sys.stdout.flush()
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        print("ctxrank: interrupted; what was done is kept.", file=sys.stderr)
        return 130
    except OSError as error:
        print(f"ctxrank: The answer could not be written to stdout: {error.strerror or error}.", file=sys.stderr)
        return CtxrankError.exit_code
    return code


def leave(code: int) -> None:
    """End the process without taking the interpreter apart: stores are closed and stdout is flushed by then."""
    sys.stderr.flush()
    os._exit(code)
