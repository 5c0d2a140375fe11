"""One call in the predecessor's way: where its store is, and how it answers.

stdout carries the JSON, after a line `✓ …` unless --quiet; what goes wrong is a line on stderr. A command returns the
value that it answers, None for none, or raises Failed.
"""

import json
import os

from ctxrank.extensions.bazinga.arguments import Arguments
from ctxrank.extensions.bazinga.place import Place, open_store_of
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import one_line

if TYPE_CHECKING:
    from ctxrank.extensions.bazinga.records.views import Rows, Value
    from ctxrank.indexer.redaction.ruleset import RedactionMode

Json = dict[str, object]


class Failed(Exception):
    """A command that ends with a code of its own, with what it answers all the same."""

    def __init__(self, answer: object = None, code: int = 1) -> None:
        super().__init__(code)
        self.answer = answer
        self.code = code


def failure(message: str) -> Failed:
    """The predecessor's `{success: false, error}`."""
    return Failed({"success": False, "error": message})


class BazingaCall(Arguments):
    """A command's arguments, its store, opened when first asked for, and what it prints and says: kept, not printed."""

    def __init__(self, place: Place, *, is_quiet: bool) -> None:
        super().__init__()
        self.place = place
        self.is_quiet = is_quiet
        self.text = ""
        self.said = ""
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """The store, made where the predecessor would make its database. Raises CtxrankError."""
        if self._store is None:
            self._store = open_store_of(self.place, self.complain)
        return self._store

    @property
    def mode(self) -> "RedactionMode":
        """How what is saved is redacted."""
        from ctxrank.indexer.store.config import load_config  # noqa: PLC0415  only what saves needs it

        return load_config(self.store).redaction_mode

    def select(self, query: str, *values: "Value") -> list[Json]:
        """The rows of a query over the predecessor's tables, as JSON objects."""
        from ctxrank.extensions.bazinga.records.views import rows  # noqa: PLC0415  few commands save only

        return self.shown(rows(self.store.primary, query, values))

    def shown(self, found: "Rows") -> list[Json]:
        """Rows as JSON objects. Where the store has a record of older redaction rules, they are redacted again."""
        from ctxrank.indexer.redaction.ruleset import RULESET_VERSION  # noqa: PLC0415  as above
        from ctxrank.indexer.store.connection import read_value  # noqa: PLC0415  as above

        objects = found.as_objects()
        query = "SELECT 1 FROM main.documents WHERE record_id IS NOT NULL AND ruleset < ? LIMIT 1"
        if read_value(self.store.primary, query, (RULESET_VERSION,), int) is None:
            return objects
        from ctxrank.indexer.redaction.incoming_texts import IncomingTexts  # noqa: PLC0415  most rules are today's

        texts = IncomingTexts(self.mode)

        def clean(value: object) -> object:
            if not isinstance(value, str):
                return value
            said = texts.json(value, empty="") if value.startswith(("{", "[")) else ""
            return said if said[:1] == value[:1] != "" else texts.text(value)  # a text may begin so, too

        return [{name: clean(value) for name, value in one.items()} for one in objects]

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
        if not self.is_quiet:
            self.write(f"✓ {one_line(text)}\n")

    def failed(self, act: str, error: CtxrankError, hint: str = "") -> Failed:
        """What to raise where something could not be saved; why is said."""
        self.complain(f"Failed to save {act}: {error.message} {hint}".rstrip())
        return failure(error.message)

    def complain(self, text: str) -> None:
        """Say what is wrong, always."""
        self.warn(f"! {one_line(text)}")

    def warn(self, line: str) -> None:
        """A line on stderr."""
        self.said += f"{line}\n"

    def write(self, text: str) -> None:
        """Text as it is on stdout."""
        self.text += text

    def answer(self, value: object) -> None:
        """A value as the predecessor prints it: indented, everything beyond ASCII escaped."""
        try:
            text = json.dumps(value, indent=2, allow_nan=False)
        except ValueError:
            from ctxrank.indexer.text.json_numbers import finite  # noqa: PLC0415  an infinite number is rare

            text = json.dumps(finite(value), indent=2, allow_nan=False)
        self.write(text + "\n")


def json_file(path: str, what: str) -> str:
    """The JSON text of a file that an argument names. Raises UsageError."""
    from ctxrank.cli.actions.given import read_given  # noqa: PLC0415  few commands read a file

    try:
        text = read_given(path).decode().strip()
        json.loads(text)
    except OSError as error:
        raise UsageError(f"The {what} file {path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The {what} file {path} is not JSON: {error}.") from error
    return text


def text_moment(moment_us: int) -> str:
    """A moment as the predecessor's database has it: `2026-11-21 22:10:00`, UTC."""
    import time  # noqa: PLC0415  only a row with a moment

    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(moment_us // 1_000_000))
