"""Rules of a user's own, and values that are to stay: the `redaction` setting.

    redaction:
      rules:
        - {name: acme-key, pattern: 'ACME-[0-9a-f]{32}', keywords: [acme-], label: '[REDACTED:acme-key]'}
      allow:
        - EXAMPLE-KEY-OF-THE-DOCS        # this value, exactly
        - regex: 'test-[0-9]{4}'         # whole values that match

A pattern may not be slow on any text, so it is matched by an engine that takes linear time (linear_patterns.py).
"""

import re
from collections.abc import Iterator
from typing import Any

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list
from ctxrank.indexer.redaction.guards import Secret
from ctxrank.indexer.redaction.linear_patterns import LinearPattern
from ctxrank.indexer.redaction.purged_secrets import PURGED_LABEL, BlockedSecret, find_purged_secrets
from ctxrank.indexer.text.digests import sha256_of

PURGED_RULE = "forgotten"
MOST_RULES = 100
_KEYS = ("name", "pattern", "keywords", "label")


class UserRule(NamedTuple):
    """A rule from a configuration file; it is tried where a keyword occurs anywhere in the text, or always."""

    name: str
    pattern: LinearPattern
    keywords: tuple[str, ...]
    label: str


class UserRules(NamedTuple):
    """What a user's and a project's files add to the rules, and what the user's allows; and the purged secrets."""

    rules: tuple[UserRule, ...] = ()
    allowed_values: frozenset[str] = frozenset()
    allowed_patterns: tuple[LinearPattern, ...] = ()
    blocked: tuple[BlockedSecret, ...] = ()
    literals: "re.Pattern[str] | None" = None  # secrets that are being purged now, and are known for that long

    @property
    def finds_purged(self) -> bool:
        """Whether there is something that goes even where redaction is off."""
        return bool(self.blocked) or self.literals is not None

    def find(self, text: str) -> Iterator[Secret]:
        """What the rules see as secrets: the group `secret` of a pattern, or all of the match."""
        lower = text.lower() if any(rule.keywords for rule in self.rules) else ""
        for rule in self.rules:
            if rule.keywords and not any(keyword in lower for keyword in rule.keywords):
                continue
            for start, end in rule.pattern.spans(text):
                yield Secret(start, end, rule.label, rule.name)

    def find_purged(self, text: str) -> Iterator[Secret]:
        """The spans of purged secrets: no other rule may take a part of one, and nothing allows them."""
        if not self.finds_purged:
            return
        from ctxrank.indexer.redaction.encoded import (  # noqa: PLC0415  only a store that has purged a secret needs it
            find_in_any_encoding,
        )

        for start, end in find_in_any_encoding(text, self._find_plainly):
            yield Secret(start, end, PURGED_LABEL, PURGED_RULE)

    def _find_plainly(self, text: str) -> Iterator[tuple[int, int]]:
        if self.literals is not None:
            yield from (match.span() for match in self.literals.finditer(text))
        yield from find_purged_secrets(text, self.blocked)

    def allows(self, value: str) -> bool:
        """Whether the user said that this is no secret."""
        return value in self.allowed_values or any(one.compiled().fullmatch(value) for one in self.allowed_patterns)

    def digest(self) -> str:
        """The same for rules that redact alike, and for no others; '' for none."""
        if not (self.rules or self.allowed_values or self.allowed_patterns):
            return ""
        said = [
            *(f"{rule.name}\n{rule.pattern.pattern}\n{rule.keywords}\n{rule.label}" for rule in self.rules),
            *sorted(self.allowed_values),
            *(pattern.pattern for pattern in self.allowed_patterns),
        ]
        return sha256_of(repr(said).encode("utf-8", "replace"))[:16]

    def with_project(self, project: "UserRules") -> "UserRules":
        """These, and the rules of a project. What it would allow is left out: a project cannot weaken the user's."""
        own = {rule.name for rule in self.rules}
        return self._replace(rules=(*self.rules, *(rule for rule in project.rules if rule.name not in own)))


def parse_user_rules(value: object, source: str, *, is_compiled: bool = True) -> UserRules:
    """The rules that a file's `redaction` setting holds. Raises UsageError, which names the file and the rule.

    Compiling the patterns loads the engine; a file that was read before need not be compiled before a text needs it.
    """
    section: object = {} if value is None else value
    if not is_dict(section):
        raise UsageError(f"{source}: redaction is '{_shown(value)}'.", "Give `rules:` and `allow:`, each a list.")
    unknown = [str(key) for key in section if key not in ("rules", "allow")]
    if unknown:
        raise UsageError(f"{source}: redaction has '{_shown(unknown[0])}'.", "It may have rules and allow.")
    entries = _list(section.get("rules"), "redaction.rules", source)
    if len(entries) > MOST_RULES:
        raise UsageError(f"{source}: redaction.rules has {len(entries)} rules.", f"At most {MOST_RULES} are read.")
    rules = tuple(_rule(entry, number, source, is_compiled=is_compiled) for number, entry in enumerate(entries, 1))
    names = [rule.name for rule in rules]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{source}: two redaction rules are named '{twice}'.", "Give each its own name.")
    values: list[str] = []
    patterns: list[LinearPattern] = []
    for entry in _list(section.get("allow"), "redaction.allow", source):
        if is_dict(entry) and list(entry) == ["regex"] and isinstance(entry["regex"], str):
            patterns.append(_pattern(entry["regex"], f"{source}: redaction.allow", is_compiled=is_compiled))
        elif isinstance(entry, str) and entry:
            values.append(entry)
        else:
            raise UsageError(
                f"{source}: redaction.allow has '{_shown(entry)}'.", "Give a value as text, or {regex: 'pattern'}."
            )
    return UserRules(rules, frozenset(values), tuple(patterns))


def _list(value: object, key: str, source: str) -> list[Any]:
    if value is None:
        return []
    if not is_list(value):
        raise UsageError(f"{source}: {key} is '{_shown(value)}'.", "Give a list.")
    return value


def _rule(entry: object, number: int, source: str, *, is_compiled: bool) -> UserRule:
    where = f"{source}: redaction rule {number}"
    if not is_dict(entry):
        raise UsageError(f"{where} is '{_shown(entry)}'.", "Give name and pattern; keywords and label may follow.")
    unknown = [str(key) for key in entry if key not in _KEYS]
    if unknown:
        raise UsageError(f"{where} has '{_shown(unknown[0])}'.", f"A rule may have {', '.join(_KEYS)}.")
    name, pattern, label = entry.get("name"), entry.get("pattern"), entry.get("label")
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name):
        raise UsageError(f"{where} has the name '{_shown(name)}'.", "Use lower-case letters, digits, - and _.")
    if not isinstance(pattern, str):
        raise UsageError(f"{where} ({name}) has no pattern.", "Give a regular expression, as RE2 has them.")
    keywords = _list(entry.get("keywords"), f"keywords of the redaction rule {name}", source)
    if not all(isinstance(keyword, str) and keyword for keyword in keywords):
        raise UsageError(f"{where} ({name}) has a keyword that is not text.", "Give words of the text, such as acme-.")
    expression = _pattern(pattern, f"{where} ({name})", is_compiled=is_compiled)
    if label is None:
        label = f"[REDACTED:{name}]"
    if not isinstance(label, str) or not re.fullmatch(r"[\w\[\]:. -]{1,80}", label):
        raise UsageError(
            f"{where} ({name}) has the label '{_shown(label)}'.", "Use letters, digits, spaces and [ ] : . _ -"
        )
    if is_compiled and expression.compiled().search(label):
        raise UsageError(f"{where} ({name}) finds its own label.", "Choose a label that the pattern does not match.")
    return UserRule(name, expression, tuple(keyword.lower() for keyword in keywords), label)


def _pattern(pattern: str, owner: str, *, is_compiled: bool) -> LinearPattern:
    linear = LinearPattern(pattern, owner)
    if is_compiled:
        linear.compiled()
    return linear


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
