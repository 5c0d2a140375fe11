"""Rules of a user's own, and values that are to stay: the `redaction` setting.

    redaction:
      rules:
        - {name: acme-key, pattern: 'ACME-[0-9a-f]{32}', keywords: [acme-], label: '[REDACTED:acme-key]'}
      allow:
        - EXAMPLE-KEY-OF-THE-DOCS        # this value, exactly
        - regex: 'test-[0-9]{4}'         # whole values that match

A pattern may not be slow on any text. A repeat over a repeat is refused when it is read, and so is what took long on
texts that were made from the pattern to be hard for it.
"""

import random
import re
import time
from collections.abc import Iterator
from typing import Any

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, cast, is_dict, is_list
from ctxrank.indexer.redaction.purged_secrets import BlockedSecret, find_purged_secrets

PURGED_RULE = "forgotten"
PURGED_LABEL = "[FORGOTTEN]"
MOST_RULES = 100
_MOST_CHARS = 1000  # of a pattern
_MOST_REPEATS = 1000  # a bound above this is none
_KEYS = ("name", "pattern", "keywords", "label")


class UserRule(NamedTuple):
    """A rule from a configuration file; it is tried where a keyword occurs anywhere in the text, or always."""

    name: str
    pattern: "re.Pattern[str]"
    keywords: tuple[str, ...]
    label: str


class UserFound(NamedTuple):
    """What a rule of a user's found, and what takes its place."""

    start: int
    end: int
    label: str
    rule: str


class UserRules(NamedTuple):
    """What a user's and a project's files add to the rules, and what the user's allows; and the purged secrets."""

    rules: tuple[UserRule, ...] = ()
    allowed_values: frozenset[str] = frozenset()
    allowed_patterns: "tuple[re.Pattern[str], ...]" = ()
    blocked: tuple[BlockedSecret, ...] = ()
    literals: "re.Pattern[str] | None" = None  # secrets that are being purged now, and are known for that long

    @property
    def finds_purged(self) -> bool:
        """Whether there is something that goes even where redaction is off."""
        return bool(self.blocked) or self.literals is not None

    def find(self, text: str) -> Iterator[UserFound]:
        """What the rules see as secrets: the group `secret` of a pattern, or all of the match."""
        lower = text.lower() if any(rule.keywords for rule in self.rules) else ""
        for rule in self.rules:
            if rule.keywords and not any(keyword in lower for keyword in rule.keywords):
                continue
            group = "secret" if "secret" in rule.pattern.groupindex else 0
            for match in rule.pattern.finditer(text):
                if match[group]:
                    yield UserFound(*match.span(group), rule.label, rule.name)

    def find_purged(self, text: str) -> Iterator[UserFound]:
        """Where secrets stand that were purged: no other rule may take a part of one, and nothing allows them."""
        if not self.finds_purged:
            return
        from ctxrank.indexer.redaction.encoded import (  # noqa: PLC0415  only a store that has purged a secret needs it
            find_in_any_encoding,
        )

        for start, end in find_in_any_encoding(text, self._find_plainly):
            yield UserFound(start, end, PURGED_LABEL, PURGED_RULE)

    def _find_plainly(self, text: str) -> Iterator[tuple[int, int]]:
        if self.literals is not None:
            yield from (match.span() for match in self.literals.finditer(text))
        yield from find_purged_secrets(text, self.blocked)

    def allows(self, value: str) -> bool:
        """Whether the user said that this is no secret."""
        return value in self.allowed_values or any(pattern.fullmatch(value) for pattern in self.allowed_patterns)

    def digest(self) -> str:
        """The same for rules that redact alike, and for no others; '' for none."""
        import hashlib  # noqa: PLC0415  start-up: most calls hash nothing

        if not (self.rules or self.allowed_values or self.allowed_patterns):
            return ""
        said = [
            *(f"{rule.name}\n{rule.pattern.pattern}\n{rule.keywords}\n{rule.label}" for rule in self.rules),
            *sorted(self.allowed_values),
            *(pattern.pattern for pattern in self.allowed_patterns),
        ]
        return hashlib.sha256(repr(said).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def with_project(self, project: "UserRules") -> "UserRules":
        """These, and the rules of a project. What it would allow is left out: a project cannot weaken the user's."""
        own = {rule.name for rule in self.rules}
        return self._replace(rules=(*self.rules, *(rule for rule in project.rules if rule.name not in own)))


def parse_user_rules(value: object, source: str, *, is_tried_out: bool = True) -> UserRules:
    """The rules that a file's `redaction` setting holds. Raises UsageError, which names the file and the rule.

    Trying the patterns out takes some milliseconds for each; a file that was read before need not be tried again.
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
    rules = tuple(_rule(entry, number, source, is_tried_out) for number, entry in enumerate(entries, 1))
    names = [rule.name for rule in rules]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"{source}: two redaction rules are named '{twice}'.", "Give each its own name.")
    values: list[str] = []
    patterns: list[re.Pattern[str]] = []
    for entry in _list(section.get("allow"), "redaction.allow", source):
        if is_dict(entry) and list(entry) == ["regex"] and isinstance(entry["regex"], str):
            patterns.append(_pattern(entry["regex"], f"{source}: redaction.allow", is_tried_out))
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


def _rule(entry: object, number: int, source: str, is_tried_out: bool) -> UserRule:
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
        raise UsageError(f"{where} ({name}) has no pattern.", "Give a regular expression, as Python has them.")
    keywords = _list(entry.get("keywords"), f"keywords of the redaction rule {name}", source)
    if not all(isinstance(keyword, str) and keyword for keyword in keywords):
        raise UsageError(f"{where} ({name}) has a keyword that is not text.", "Give words of the text, such as acme-.")
    expression = _pattern(pattern, f"{where} ({name})", is_tried_out)
    if label is None:
        label = f"[REDACTED:{name}]"
    if not isinstance(label, str) or not re.fullmatch(r"[\w\[\]:. -]{1,80}", label):
        raise UsageError(
            f"{where} ({name}) has the label '{_shown(label)}'.", "Use letters, digits, spaces and [ ] : . _ -"
        )
    if expression.search(label):
        raise UsageError(f"{where} ({name}) finds its own label.", "Choose a label that the pattern does not match.")
    return UserRule(name, expression, tuple(keyword.lower() for keyword in keywords), label)


def _pattern(pattern: str, where: str, is_tried_out: bool) -> "re.Pattern[str]":
    if len(pattern) > _MOST_CHARS:
        raise UsageError(f"{where}: the pattern has {len(pattern)} characters.", f"At most {_MOST_CHARS} are read.")
    try:
        expression = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"{where}: the pattern is not one: {error}.", "It is read as Python's re does.") from error
    if expression.match(""):
        raise UsageError(f"{where}: the pattern matches nothing at all.", "Let it ask for at least one character.")
    tree = _Tree(pattern)
    if tree.has_repeat_in_repeat():
        raise UsageError(
            f"{where}: a repeat without a bound is inside another repeat, or repeats multiply beyond bounds.",
            "Bound it, as in [a-z]{1,40}, or repeat one class of characters.",
        )
    if is_tried_out and not _is_fast(expression, tree):
        raise UsageError(
            f"{where}: the pattern is slow on some texts.",
            "Begin it with fixed characters, and bound its repeats, as in key-[a-f0-9]{32}.",
        )
    return expression


class _Tree:
    """A pattern's parse tree: `re` has it under a name that is not public, so it is used here alone."""

    def __init__(self, pattern: str) -> None:
        from re import _constants, _parser  # type: ignore[attr-defined]  # noqa: PLC0415  start-up: only with user rules

        self._code: Any = _constants
        parser: Any = cast("Any", _parser)  # pyright: ignore[reportUnknownArgumentType]  nothing says its types
        self._items: Any = parser.parse(pattern)

    def has_repeat_in_repeat(self) -> bool:
        """Whether a repeat is nested in another so that the ways to match multiply beyond bounds."""
        try:
            self._ways(self._items)
        except OverflowError:
            return True
        return False

    def _ways(self, items: Any) -> int:
        """In how many ways the repeats on one path down the tree can share a text out among them."""
        most = 1
        for kind, value in items:
            ways = max((self._ways(part) for part in self._parts(kind, value)), default=1)
            if kind in self._repeats():
                least, bound = int(value[0]), int(value[1])
                if ways > 1 and bound > 1 and ways * bound > _MOST_REPEATS:
                    raise OverflowError
                ways *= 1 if least == bound else min(bound, _MOST_REPEATS)
            most = max(most, ways)
        return most

    def _repeats(self) -> tuple[Any, ...]:
        return (self._code.MAX_REPEAT, self._code.MIN_REPEAT, self._code.POSSESSIVE_REPEAT)

    def _parts(self, kind: Any, value: Any) -> list[Any]:
        if kind is self._code.BRANCH:
            return list(value[1])
        if kind is self._code.SUBPATTERN:
            return [value[3]]
        if kind in self._repeats():
            return [value[2]]
        if kind in (self._code.ASSERT, self._code.ASSERT_NOT):
            return [value[1]]
        if kind is self._code.ATOMIC_GROUP:
            return [value]
        return []

    def hard_pieces(self) -> set[str]:
        """Short texts which, repeated, keep the pattern busy: what its parts match, alone and after one another."""
        rng = random.Random(1)
        pieces = set(self._characters(self._items, rng))
        prefixes = {self._some(self._items[:count], rng) for count in range(1, len(self._items) + 1)}
        return {piece for piece in (*pieces, *prefixes) if piece}

    def _characters(self, items: Any, rng: random.Random) -> Iterator[str]:
        for kind, value in items:
            parts = self._parts(kind, value)
            if not parts:
                yield self._some([(kind, value)], rng)
            for part in parts:
                yield from self._characters(part, rng)

    def _some(self, items: Any, rng: random.Random) -> str:
        """A short string that the items match, or nearly."""
        text = ""
        for kind, value in items:
            parts = self._parts(kind, value)
            if kind is self._code.LITERAL:
                text += chr(value)
            elif kind is self._code.IN:
                text += self._member(value)
            elif kind in (self._code.ANY, self._code.NOT_LITERAL, self._code.CATEGORY):
                text += "a"
            elif kind in (self._code.ASSERT, self._code.ASSERT_NOT):
                continue
            elif parts:
                times = min(int(value[0]), 8) or 1 if kind in self._repeats() else 1
                text += "".join(self._some(rng.choice(parts), rng) for _ in range(times))
        return text

    def _member(self, items: Any) -> str:
        for kind, value in items:
            if kind is self._code.LITERAL:
                return chr(value)
            if kind is self._code.RANGE:
                return chr(value[0])
            if kind is self._code.CATEGORY:
                categories = {self._code.CATEGORY_DIGIT: "0", self._code.CATEGORY_SPACE: " "}
                return categories.get(value, "a" if value is self._code.CATEGORY_WORD else "-")
        return "a"


_SLOW_MS = 4.0
_TRIAL_CHARS = (8, 16, 20, 24, 28, 32, 40, 64, 128, 512, 2048, 8192)


def _is_fast(expression: "re.Pattern[str]", tree: _Tree) -> bool:
    """Whether the pattern gets through texts that are hard for it; they grow in steps, so a bad one ends early."""
    for piece in tree.hard_pieces():
        for end in ("", "!"):
            for size in _TRIAL_CHARS:
                text = piece * (size // len(piece) + 1) + end
                start = time.thread_time()
                for _ in expression.finditer(text):
                    pass
                if (time.thread_time() - start) * 1000 > _SLOW_MS:
                    return False
    return True


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
