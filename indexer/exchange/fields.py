"""The fields of one imported JSON object: each checked for its type and redacted as it is read.

fields.choice("phase", PHASES)      the value, or a UsageError that names what is allowed
fields.moment("created_at")         microseconds
"""

import json
import re
from collections.abc import Mapping, Sequence

from ctxrank.indexer.bounds import MAX_NAME_CHARS, MAX_TEXT_BYTES
from ctxrank.indexer.clock import DAY_US, now_us, parse_time
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import is_dict, is_list, object_of
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.text.lines import is_uuid, one_line

MAX_NUMBER = 2**53 - 1  # what every JSON parser can hold
_SHOWN_CHARS = 60


class WrittenObject(dict[str, object]):
    """A JSON object that keeps the text that says it."""

    written = ""


class WrittenList(list[object]):
    """A JSON list that keeps the text that says it."""

    written = ""


class Fields:
    """One object. A field that is null counts as missing; fields that no caller reads are ignored."""

    def __init__(self, values: Mapping[str, object], texts: IncomingTexts) -> None:
        self._values = values
        self._texts = texts

    def is_missing(self, name: str) -> bool:
        """Whether the object does not say a field, or says null."""
        return self._values.get(name) is None

    def raw(self, name: str) -> str:
        """A text unchanged, to look something up by; never to be stored or shown."""
        return self._string(name, None)

    def text(self, name: str, default: str | None = None) -> str:
        """A text of any length, redacted."""
        return self._texts.text(self._string(name, default))

    def line(self, name: str) -> str:
        """A text on one line, redacted."""
        return self._texts.line(self._string(name, None))

    def word(self, name: str) -> str:
        """A name, redacted; empty ones are refused."""
        value = self._string(name, None, MAX_NAME_CHARS)
        if not value.strip():
            raise UsageError(f"its '{name}' is empty")
        return self._texts.word(value)

    def name(self, name: str) -> str:
        """A name on one line, redacted; it may be empty."""
        return one_line(self._texts.word(self._string(name, None, MAX_NAME_CHARS)))

    def optional_word(self, name: str) -> str | None:
        """A name, or None where there is none."""
        return None if self.is_missing(name) else self._texts.word(self._string(name, None, MAX_NAME_CHARS))

    def store(self, name: str) -> str | None:
        """The uuid of a store, or None where there is none."""
        value = self._values.get(name)
        if value is None or (isinstance(value, str) and is_uuid(value)):
            return value
        raise UsageError(f"its '{name}' is not the uuid of a store")

    def agent(self, name: str, default: str | None = None) -> str:
        """An agent's name in our spelling."""
        agent = self._texts.agent(self._string(name, default, MAX_NAME_CHARS))
        if not agent and default is None:
            raise UsageError(f"its '{name}' is empty")
        return agent

    def choice(self, name: str, allowed: Sequence[str]) -> str:
        """One of a few words."""
        value = self._string(name, None)
        if value not in allowed:
            raise UsageError(f"its '{name}' is {self._shown(value)}; allowed are {', '.join(allowed)}")
        return value

    def number(self, name: str, *, least: int = 0, default: int | None = None) -> int:
        """A whole number that is not below `least`."""
        value = self._value(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_NUMBER:
            raise UsageError(f"its '{name}' is {self._shown(value)}, not a whole number from {least}")
        return value

    def optional_number(self, name: str, *, least: int = 0) -> int | None:
        """A whole number, or None where there is none."""
        return None if self.is_missing(name) else self.number(name, least=least)

    def share(self, name: str) -> float:
        """A number from 0 to 1."""
        value = self._value(name, None)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
            raise UsageError(f"its '{name}' is {self._shown(value)}, not a number from 0 to 1")
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false; missing is false."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise UsageError(f"its '{name}' is {self._shown(value)}, not true or false")
        return value

    def moment(self, name: str) -> int:
        """An ISO time, in microseconds; what lies further ahead than clocks differ is refused.

        Null is a time that the other store does not know: the present.
        """
        if name in self._values and self._values[name] is None:
            return now_us()
        text = self._string(name, None)
        # An age, which parse_time also knows, would be another moment at each import.
        if not re.match(r"\d{4}-\d\d-\d\d", text):
            raise UsageError(f"its '{name}' is {self._shown(text)}, not an ISO time")
        try:
            moment = parse_time(text, now=0)
        except (UsageError, OverflowError) as error:
            raise UsageError(f"its '{name}' is {self._shown(text)}, not an ISO time") from error
        if moment > now_us() + DAY_US:
            raise UsageError(f"its '{name}' is {self._shown(text)}, more than a day from now")
        return moment

    def json(self, name: str, empty: str = "null") -> str:
        """Any value as JSON with its strings redacted; `empty` where there is none."""
        return self._texts.json(_dumped(self._values.get(name), empty), empty=empty)

    def json_list(self, name: str) -> str:
        """A list as JSON with its strings redacted; anything else becomes the one item of it."""
        value = self._values.get(name)
        return "[]" if value is None or value == [] else self._texts.json_list(_dumped(value, "[]"))

    def items(self, name: str) -> tuple[object, ...]:
        """A list of anything, to look something up by; never to be stored or shown."""
        value = self._values.get(name)
        if value is None:
            return ()
        if not is_list(value):
            raise UsageError(f"its '{name}' is not a list")
        return tuple(value)

    def objects(self, name: str) -> "list[Fields]":
        """A list of objects."""
        items = self.items(name)
        objects = [object_of(item) for item in items if is_dict(item)]
        if len(objects) < len(items):
            raise UsageError(f"its '{name}' holds something that is not an object")
        return [Fields(item, self._texts) for item in objects]

    def _value(self, name: str, default: object) -> object:
        value = self._values.get(name, default)
        if value is None and default is None:
            raise UsageError(f"it has no '{name}'")
        return default if value is None else value

    def _string(self, name: str, default: str | None, most: int = MAX_TEXT_BYTES) -> str:
        value = self._value(name, default)
        if not isinstance(value, str):
            raise UsageError(f"its '{name}' is {self._shown(value)}, not a text")
        if len(value) > most:
            raise UsageError(f"its '{name}' has more than {most:,} characters")
        return value

    def _shown(self, value: object) -> str:
        """A value as a report shows it: redacted, and its kind where it is long, because it may be anything."""
        clean = self._texts.text(value) if isinstance(value, str) else value
        text = ascii(clean) if isinstance(clean, str | int | float | None) else type(clean).__name__
        return text if len(text) <= _SHOWN_CHARS else f"a {type(clean).__name__} of {len(text)} characters"


def _dumped(value: object, empty: str) -> str:
    if isinstance(value, WrittenObject | WrittenList):
        return value.written
    return empty if value is None else json.dumps(value, ensure_ascii=False)
