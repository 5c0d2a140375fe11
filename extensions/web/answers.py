"""What the pages ask: commands, answered as --json answers."""

import re
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from ctxrank.cli.agents.ask import ask
from ctxrank.cli.call import Call
from ctxrank.cli.parse import whole_number
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.store import Store

Json = dict[str, Any]  # an answer's shape is what its command declares
_TITLES_FOR_S = 10.0
_MOST_TITLES = 1000
# A session that a runner made is named by an id, which is no name to a person.
_RUNNERS_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4,12})+|[0-9a-f]{32}", re.IGNORECASE)
UNTITLED = "Untitled conversation"


class Answer(NamedTuple):
    """The fields of a command's answer, what was said beside it, and how long it took."""

    fields: Json
    notes: tuple[str, ...]
    outcome: str
    milliseconds: float


class Commands:
    """The commands of one store; each call opens it for itself."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._titles = lru_cache(_MOST_TITLES)(self._read_title)

    def __call__(self, command: str, /, stdin: str = "", **given: object) -> Answer:
        """The answer of a command to its parameters. Raises what the command raises: CtxrankError."""
        begun = time.perf_counter()
        heard: list[str] = []  # what a terminal would be told on its stderr
        asked = ask(self._call._replace(heard=heard), command, given, stdin.encode("utf-8", "replace"))
        took = (time.perf_counter() - begun) * 1000
        return Answer(asked.payload, tuple(dict.fromkeys((*heard, *asked.notes))), asked.outcome, took)

    def title(self, id_: str) -> str:
        """What a document or a session is called; '' for one that is not there. Kept for moments: a page asks often."""
        return self._titles(id_, int(time.monotonic() / _TITLES_FOR_S))

    def open(self) -> Store:
        """The store itself, for what no command answers."""
        return self._call.open()

    def called(self, session: str | None, title: str | None = None) -> str:
        """What a session is called: its title, or else the name that somebody gave it; '' for none."""
        if not session:
            return ""
        title = title or self.title(f"session:{session}")
        return title or (UNTITLED if _RUNNERS_ID.fullmatch(session) else session)

    def _read_title(self, id_: str, _moment: int) -> str:
        if ":" not in id_:  # what a task reaches has a name of its own, and skills have none
            return ""
        is_strategy = id_.startswith("strategy:")  # whose title is its topic
        try:
            found = self("show", document=id_, depth="full" if is_strategy else "meta").fields
        except CtxrankError:
            return ""
        named: Json = found.get("document") or found["session"]
        return str(named.get("body", "") if is_strategy else named.get("title") or "")


class Parameters:
    """The parameters of an address or a form: texts, the last of each name."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def __call__(self, name: str, default: str = "") -> str:
        return self._values.get(name, default).strip()

    def whole(self, name: str) -> int | None:
        """A whole number from 0; None for anything else."""
        return whole_number(self(name))
