"""One call in the predecessor's way: where its store is, and how it answers.

stdout carries the JSON, after a line `✓ …` unless --quiet; what goes wrong is a line on stderr.
"""

import json
import os
import sys

from ctxrank.cli.bazinga.arguments import Declaration, Given, read
from ctxrank.cli.bazinga.place import Place, open_or_make
from ctxrank.cli.call import shown
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.store.store import Store

if TYPE_CHECKING:
    from ctxrank.cli.bazinga.records.views import Rows
    from ctxrank.indexer.redaction.ruleset import RedactionMode


class Kept(NamedTuple):
    """What a call answers and says where a program asked, and not a shell."""

    answers: list[object]
    said: list[str]


class BazingaCall:
    """A command's arguments, its store, opened when first asked for, and its answers."""

    __slots__ = ("_declaration", "_kept", "_store", "arguments", "is_quiet", "place")

    def __init__(
        self,
        declaration: Declaration,
        arguments: tuple[str, ...],
        place: Place,
        *,
        is_quiet: bool,
        kept: "Kept | None" = None,
    ) -> None:
        self._declaration = declaration
        self.arguments = arguments
        self.place = place
        self.is_quiet = is_quiet
        self._kept = kept
        self._store: Store | None = None

    def read(self) -> Given:
        """The arguments, as the command declares them. Raises UsageError."""
        return read(self.arguments, self._declaration)

    @property
    def store(self) -> Store:
        """The store, made where the predecessor would make its database. Raises CtxrankError."""
        if self._store is None:
            self._store = open_or_make(self.place, self.complain)
        return self._store

    @property
    def mode(self) -> "RedactionMode":
        """How what is saved is redacted."""
        from ctxrank.indexer.store.config import load_config  # noqa: PLC0415  only what saves needs it

        return load_config(self.store).redaction_mode

    def path_of(self, path: str) -> str:
        """A file that an argument names: from the project's root as there, else from here."""
        from_root = os.path.join(self.store.location.root, path)
        return from_root if os.path.exists(from_root) else path

    def close(self) -> None:
        """Close the store if it was opened."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def done(self, text: str) -> None:
        """Say what was done, unless --quiet."""
        if not self.is_quiet and self._kept is None:
            print(f"✓ {shown(text)}")

    def complain(self, text: str) -> None:
        """Say what is wrong, always."""
        self.warn(f"! {shown(text)}")

    def warn(self, line: str) -> None:
        """A line on stderr, or among what is kept."""
        if self._kept is None:
            print(line, file=sys.stderr)
        else:
            self._kept.said.append(line)

    def write(self, text: str) -> None:
        """Text as it is on stdout, or the answer that is kept."""
        if self._kept is None:
            sys.stdout.write(text)
        else:
            self._kept.answers.append(text.rstrip("\n"))

    def answer(self, value: object) -> None:
        """Print a value as the predecessor does: indented, everything beyond ASCII escaped."""
        if self._kept is not None:
            self._kept.answers.append(value)
            return
        try:
            text = json.dumps(value, indent=2, allow_nan=False)
        except ValueError:
            from ctxrank.indexer.text.json_numbers import finite  # noqa: PLC0415  an infinite number is rare

            text = json.dumps(finite(value), indent=2, allow_nan=False)
        sys.stdout.write(text + "\n")

    def answer_on_one_line(self, value: object) -> None:
        """Print a value as the predecessor does where it does not indent."""
        if self._kept is not None:
            self._kept.answers.append(value)
        else:
            print(json.dumps(value))

    def failed(self, message: str) -> int:
        """Answer `{success: false, error}`, with the exit code that says so."""
        self.answer({"success": False, "error": message})
        return 1


def objects(rows: "Rows") -> list[dict[str, object]]:
    """Rows as JSON objects."""
    return [
        {
            name: value.hex() if isinstance(value, bytes) else value
            for name, value in zip(rows.columns, row, strict=True)
        }
        for row in rows.rows
    ]


def text_moment(moment_us: int) -> str:
    """A moment as the predecessor's database has it: `2026-11-21 22:10:00`, UTC."""
    import time  # noqa: PLC0415  only a row with a moment

    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(moment_us // 1_000_000))
