"""Texts on their way in from a foreign database: redacted, and JSON stays JSON.

IncomingTexts(RedactionMode.PATTERN_ONLY).json('{"password": "<the secret>"}')    '{"password": "REDACTED"}'
"""

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache

from ctxrank.indexer.agents import fold_agent
from ctxrank.indexer.light_typing import is_dict, is_list
from ctxrank.indexer.redaction.engine import RedactionMode, redact, shown_secrets
from ctxrank.indexer.text.json_numbers import finite
from ctxrank.indexer.text.light_json import is_deep
from ctxrank.indexer.text.lines import one_line

_WORDS_REMEMBERED = 100_000
_CLEAN_CHARS_REMEMBERED = 4_000_000
_LONGEST_REMEMBERED = 100_000
_LONGEST_OBJECT = 200
_LONGEST_MOMENT, _IN_MOMENTS = 27, "0123456789-:.TZ"
_DUMPED = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps makes one for each call


class IncomingTexts:
    """Redacts what comes in under one mode. Names come over and over again, so they are remembered."""

    def __init__(self, mode: RedactionMode, known: frozenset[str] = frozenset()) -> None:
        self._mode = mode
        self._known = known
        self.word = lru_cache(_WORDS_REMEMBERED)(self.text)  # of a name
        self._clean: set[str] = set()  # what `redact` leaves as it is
        self._clean_chars = 0
        self._clean_objects: set[str] = set()  # JSON of objects all of whose texts are such

    def of_record(self, fields: Iterable[object]) -> "IncomingTexts":
        """The same for the fields of one record: a value that one of them shows to be secret goes from all.

        A field may be a text or what JSON says: its strings count, and what its names say of them.
        """
        known = set[str]()
        for field in fields:
            if isinstance(field, str):
                if field not in self._clean:
                    known.update(self._look_at(field))
            elif is_list(field) or is_dict(field):
                known.update(self._shown_within(field))
        return IncomingTexts(self._mode, self._known | known) if known else self

    def _shown_within(self, value: object) -> frozenset[str]:
        """What the texts of a list or an object show. Small objects come over and over again, and are remembered."""
        known = set[str]()
        for item in value if is_list(value) else (value,):
            said = _DUMPED(item) if is_dict(item) else ""
            if said and said in self._clean_objects:
                continue
            for text in _texts_in(item):
                if text not in self._clean:
                    known.update(self._look_at(text))
                    said = said if text in self._clean else ""
            if 0 < len(said) <= _LONGEST_OBJECT and len(self._clean_objects) < _WORDS_REMEMBERED:
                self._clean_objects.add(said)
        return frozenset(known)

    def _look_at(self, text: str) -> frozenset[str]:
        """What a text shows to be secret; one that is clean is remembered, and not redacted later."""
        # Each record has a time of its own, `2025-01-01T00:00:00.000000Z`: no rule of ours takes one for a secret.
        is_moment = len(text) <= _LONGEST_MOMENT and text[4:5] == text[7:8] == "-" and not text.strip(_IN_MOMENTS)
        if is_moment and self._mode.rules is None:
            return frozenset()
        storable = _storable(text)
        values, is_clean = shown_secrets(storable, self._mode)
        if is_clean and len(text) <= _LONGEST_REMEMBERED and storable == text:
            if self._clean_chars > _CLEAN_CHARS_REMEMBERED:
                self._clean.clear()
                self._clean_chars = 0
            self._clean.add(text)
            self._clean_chars += len(text)
        return values

    def text(self, text: str) -> str:
        """A text of any length."""
        if not self._known and text in self._clean:
            return text
        return redact(_storable(text), self._mode, self._known).text

    def line(self, text: str) -> str:
        """A text that is shown on one line. Redacted before it is joined: a rule may need the line's end."""
        return one_line(self.text(text))

    def agent(self, text: str) -> str:
        """An agent's name in our spelling; one that we do not know stays what it is."""
        return fold_agent(self.word(text))

    def json(self, text: str, *, empty: str) -> str:
        """JSON with its strings redacted; `empty` for no text. A text that is no JSON becomes a string.

        Where nothing of it is redacted it stays as it was written, byte for byte.

        Each string alone, because there a line break is one and not an escape; then the whole, because a
        name says of its value that it is a secret.
        """
        if not text.strip():
            return empty
        if is_deep(text):
            return self._string(text)
        twins: list[object] = []  # objects of which a name is said more than once; the last value counts

        def distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
            found = dict(pairs)
            if len(found) < len(pairs):
                twins.append(found)
            return found

        try:
            value: object = json.loads(text, object_pairs_hook=distinct)
            texts = self.of_record((value,))
            # A value that its name calls secret is taken in the whole, where it gets that name's label.
            clean = IncomingTexts(self._mode)._redacted(value)
            dumped = _DUMPED(clean)
        except (ValueError, RecursionError):
            return self._string(text)
        whole = texts.text(dumped)
        # A name that is said twice has a value that the parsed one does not show.
        if whole == dumped and clean == value and not twins and texts.text(text) == text:
            return text
        try:
            json.loads(whole)
        except ValueError:  # a secret that reached over a quote: better no structure than the secret
            return self._string(whole)
        return whole

    def json_list(self, text: str) -> str:
        """A JSON list with its strings redacted; what is not a list becomes the one item of it."""
        clean = self.json(text, empty="[]").strip()
        return clean if clean.startswith("[") else "[]" if clean == "null" else f"[{clean}]"

    def _string(self, text: str) -> str:
        return _DUMPED(self.text(text))

    def _redacted(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if is_list(value):
            return [self._redacted(item) for item in value]
        if is_dict(value):
            return {self.text(str(key)): self._redacted(item) for key, item in value.items()}
        return finite(value)  # 1e999 is read as an infinite number, which no JSON can say


def _texts_in(value: object) -> Iterator[str]:
    """The strings of a value, and the whole of one that has names."""
    if isinstance(value, str):
        yield value
    elif is_list(value):
        for item in value:
            yield from _texts_in(item)
    elif is_dict(value):
        yield _DUMPED(value)
        for name, item in value.items():
            yield str(name)
            if not is_dict(item):  # the whole has said what its names say
                yield from _texts_in(item)
            else:
                yield from (text for inner in item.values() for text in _texts_in(inner))


def _storable(text: str) -> str:
    """Without what SQLite would not store: zeros end a text there, and half a surrogate pair is no text."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
