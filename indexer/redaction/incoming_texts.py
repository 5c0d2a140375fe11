"""Texts on their way in from a foreign database: redacted, and JSON stays JSON.

IncomingTexts(RedactionMode.PATTERN_ONLY).json('{"password": "<the secret>"}')    '{"password": "REDACTED"}'
"""

import json

from ctxrank.indexer.agents import fold_agent
from ctxrank.indexer.light_typing import is_dict, is_list
from ctxrank.indexer.redaction.engine import RedactionMode, redact
from ctxrank.indexer.text.json_depth import is_deep
from ctxrank.indexer.text.json_numbers import finite
from ctxrank.indexer.text.lines import one_line

_WORDS_REMEMBERED = 100_000


class IncomingTexts:
    """Redacts what comes in under one mode. Names come over and over again, so they are remembered."""

    def __init__(self, mode: RedactionMode) -> None:
        self._mode = mode
        self._words: dict[str, str] = {}

    def text(self, text: str) -> str:
        """A text of any length."""
        return redact(_storable(text), self._mode).text

    def line(self, text: str) -> str:
        """A text that is shown on one line. Redacted before it is joined: a rule may need the line's end."""
        return one_line(self.text(text))

    def word(self, text: str) -> str:
        """A name."""
        known = self._words.get(text)
        if known is None:
            known = self.text(text)
            if len(self._words) < _WORDS_REMEMBERED:
                self._words[text] = known
        return known

    def agent(self, text: str) -> str:
        """An agent's name in our spelling; one that we do not know stays what it is."""
        return fold_agent(self.word(text))

    def json(self, text: str, *, empty: str) -> str:
        """JSON with its strings redacted; `empty` for no text. A text that is no JSON becomes a string.

        Each string alone, because there a line break is one and not an escape; then the whole, because a
        name says of its value that it is a secret.
        """
        if not text.strip():
            return empty
        if is_deep(text):
            return self._string(text)
        try:
            dumped = json.dumps(self._redacted(json.loads(text)), ensure_ascii=False)
        except (ValueError, RecursionError):
            return self._string(text)
        whole = self.text(dumped)
        try:
            json.loads(whole)
        except ValueError:  # a secret that reached over a quote: better no structure than the secret
            return self._string(whole)
        return whole

    def json_list(self, text: str) -> str:
        """A JSON list with its strings redacted; what is not a list becomes the one item of it."""
        clean = self.json(text, empty="[]")
        return clean if clean.startswith("[") else "[]" if clean == "null" else f"[{clean}]"

    def _string(self, text: str) -> str:
        return json.dumps(self.text(text), ensure_ascii=False)

    def _redacted(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if is_list(value):
            return [self._redacted(item) for item in _items(value)]
        if is_dict(value):
            return {self.text(str(key)): self._redacted(item) for key, item in _pairs(value)}
        return finite(value)  # 1e999 is read as an infinite number, which no JSON can say


def _items(value: object) -> list[object]:
    return list(value) if is_list(value) else []


def _pairs(value: object) -> list[tuple[object, object]]:
    return list(value.items()) if is_dict(value) else []


def _storable(text: str) -> str:
    """Without what SQLite would not store: zeros end a text there, and half a surrogate pair is no text."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
