"""What the pages ask: commands, answered as --json answers, and their fields read as what they are."""

import time
from collections.abc import Iterator, Mapping

from ctxrank.cli.agents.ask import Asked, ask
from ctxrank.cli.call import Call
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list

Json = dict[str, object]
_TITLES_FOR_S = 10.0
_MOST_TITLES = 1000


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
        self._titles: dict[str, tuple[float, str]] = {}

    def __call__(self, command: str, /, stdin: str = "", **given: object) -> Answer:
        """The answer of a command to its parameters. Raises what the command raises: CtxrankError."""
        begun = time.perf_counter()
        heard: list[str] = []  # what a terminal would be told on its stderr
        asked: Asked = ask(self._call._replace(heard=heard), command, given, stdin.encode("utf-8", "replace"))
        took = (time.perf_counter() - begun) * 1000
        return Answer(asked.payload, tuple(dict.fromkeys((*heard, *asked.notes))), asked.outcome, took)

    def title(self, id_: str) -> str:
        """What a document is called; '' for one that is not there. Kept for moments: a dragged budget asks often."""
        now = time.monotonic()
        at, found = self._titles.get(id_, (-_TITLES_FOR_S, ""))
        if now - at >= _TITLES_FOR_S:
            if len(self._titles) > _MOST_TITLES:
                self._titles.clear()
            found = self._read_title(id_)
            self._titles[id_] = (now, found)
        return found

    def _read_title(self, id_: str) -> str:
        if ":" not in id_:  # what a task reaches has a name of its own, and skills have none
            return ""
        is_strategy = id_.startswith("strategy:")  # whose title is its topic
        try:
            document = fields(self("show", document=id_, depth="full" if is_strategy else "meta").fields["document"])
        except CtxrankError:
            return ""
        return text(document.get("body") if is_strategy else document["title"])


def rows(value: object) -> list[Json]:
    """A field that is a list of objects."""
    return [{str(key): inner for key, inner in one.items()} for one in items(value) if is_dict(one)]


def items(value: object) -> list[object]:
    """A field that is a list."""
    return list(value) if is_list(value) else []


def fields(value: object) -> Json:
    """A field that is an object; {} for null."""
    return {str(key): inner for key, inner in value.items()} if is_dict(value) else {}


def text(value: object) -> str:
    """A field that is a text; '' for null."""
    return value if isinstance(value, str) else ""


def number(value: object) -> float:
    """A field that is a number; 0 for null."""
    return float(value) if isinstance(value, int | float) else 0.0


def whole(value: object) -> int:
    """A field that is a whole number; 0 for null."""
    return value if isinstance(value, int) else 0


def numbers_by_name(value: object) -> Iterator[tuple[str, float]]:
    """An object whose values are numbers."""
    for name, one in fields(value).items():
        yield name, number(one)


class Parameters:
    """The parameters of an address or a form: texts, the first of each name."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def __call__(self, name: str, default: str = "") -> str:
        return self._values.get(name, default).strip()

    def whole(self, name: str) -> int | None:
        """A whole number from 0; None for anything else."""
        found = self(name)
        return int(found) if found.isdecimal() and len(found) < 10 else None

    def moment(self, name: str) -> int | None:
        """Milliseconds since 1970, as a script gives them; None for anything else."""
        found = self(name)
        return int(found) if found.isdecimal() and len(found) < 16 else None
