"""Secrets are taken out of a text before anything else is done with it.

    redact("password=<the secret>").text      "password=REDACTED"
    redact("postgres://me:<the secret>@db/x").text      "postgres://[REDACTED]@db/x"

One scan finds the words at which a secret may stand; only there are patterns tried, and only those are compiled.
What is found is claimed in a fixed order: of two rules that see the same text, the first one names it.

What is left must still be what it was: JSON stays JSON, a key keeps its separator and quotes, a URL its
host; prose about passwords, code that passes them around and `${PLACEHOLDERS}` are not touched.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.redaction.columns import find_in_columns
from ctxrank.indexer.redaction.copies import find_copies, find_in_parts, value_of
from ctxrank.indexer.redaction.guards import DENSE_PLACES, Secret, compiled, entropy, is_code, is_stand_in
from ctxrank.indexer.redaction.key_pieces import ANCHOR as KEY_ANCHOR
from ctxrank.indexer.redaction.key_pieces import find_key_pieces
from ctxrank.indexer.redaction.kubernetes_secrets import ANCHOR as KUBERNETES_ANCHOR
from ctxrank.indexer.redaction.kubernetes_secrets import find_kubernetes
from ctxrank.indexer.redaction.named_values import ANCHORS as NAME_ANCHORS
from ctxrank.indexer.redaction.named_values import find_named, places_of_names
from ctxrank.indexer.redaction.rules import FORMAT_RULES, RULES, Rule
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION, RedactionMode
from ctxrank.indexer.redaction.vendor_values import find_vendor_values, vendors
from ctxrank.indexer.redaction.views import View, is_control, is_plain, seen, seen_literally
from ctxrank.indexer.text.escapes import has_escapes, without_escapes
from ctxrank.indexer.text.tables import kept_from_tables

if TYPE_CHECKING:
    import ahocorasick_rs

    from ctxrank.indexer.redaction.user_rules import UserRules

__all__ = ["RULESET_VERSION", "Redacted", "RedactionMode", "find_rule", "redact", "secret_values", "shown_secrets"]


class Redacted(NamedTuple):
    """A text without its secrets, and the names of the rules that took them, sorted."""

    text: str
    rules: tuple[str, ...]


# A replacement can bring together what a rule then sees as one, so the rules run until nothing changes.
# Real text is stable after the first pass; the cap is there so that a bad rule cannot hang an import.
_PASSES = 8


def shown_secrets(text: str, mode: RedactionMode = RedactionMode.PATTERN_ONLY) -> tuple[frozenset[str], bool]:
    """The values that a text shows to be secret, for the texts beside it, and whether it is clean.

    A clean text need not be redacted itself.
    """
    if mode.is_off:
        return frozenset(), False
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    is_seen_as_it_is = is_plain(text)
    view = text if is_seen_as_it_is else seen(text).text
    lower = _lower(view)
    claims = _claims_of(view, lower, _places(lower, mode), mode, frozenset())
    return frozenset(claims.values()), is_seen_as_it_is and claims.are_none


def secret_values(text: str, mode: RedactionMode = RedactionMode.PATTERN_ONLY) -> frozenset[str]:
    """The values that a text shows to be secret and that would be one in any other text, too: for `redact`."""
    return shown_secrets(text, mode)[0]


def redact(
    text: str, mode: RedactionMode = RedactionMode.PATTERN_ONLY, known: frozenset[str] = frozenset()
) -> Redacted:
    """The text without its secrets and without terminal escapes; a second call changes nothing more.

    Whatever is stored, and whatever is redacted again, comes through here. Text that a person put between `<private>`
    and `</private>` goes too, in every mode but OFF; so does what the user's own rules find, which the mode carries.
    What the user allows stays. What no output shows, invisible characters and stray controls, hides no secret from
    the rules, and neither do letters of full width: where there are any, the rules look at a view (views.py). What is
    no text, a byte of an argument that is not UTF-8, becomes a question mark: nothing after this could store it.
    Values that are known from the other fields of a record go as well, wherever they stand.
    """
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
        if not is_plain(text):
            return _redact_disguised(text, mode, known)
    elif "\x1b" in text or (not mode.sees_forms and not is_plain(text)):  # else the scan for anchors says so
        return _redact_disguised(text, mode, known)
    names: set[str] = set()
    windows: _Spans = []
    for _ in range(0 if mode.is_off else _PASSES):
        lower = _lower(text)
        places = _places(lower, mode, windows)
        if not _CONTROLS.isdisjoint(places):
            return _redact_disguised(text, mode, known)
        if not (places or known or mode.rules is not None or mode.sees_randomness or "private>" in lower):
            break  # of most paths and titles: nothing could be claimed
        claims = _claims_of(text, lower, places, mode, known)
        before = text
        text, replaced = claims.apply(names)
        if text == before:
            break
        windows = _around(replaced, len(text))
    return Redacted(text, tuple(sorted(names)))


def _redact_disguised(text: str, mode: RedactionMode, known: frozenset[str]) -> Redacted:
    """The same for a text that is not seen as it is."""
    names: set[str] = set()
    clean: str | None = None
    if not mode.is_off and has_escapes(text):
        # An escape is taken out whole, or else a letter behind a stray ESC is one of a secret: either may show it.
        view = seen(text)
        replaced = _replaced(text, view, mode, names, known)
        if replaced == text:
            clean = view.text  # without its escapes the text is mostly seen as it was with them: one look is enough
        text = _replaced(replaced, seen_literally(replaced), mode, names, known)
    text = without_escapes(text)
    for _ in range(0 if mode.is_off else _PASSES):
        before = text
        view = seen(text)
        if view.text != clean:
            text = _replaced(text, view, mode, names, known)
        if mode.rules is not None:
            # What a user wrote down may be spelt so: a purged secret, or a rule for a word of full width.
            text = _replaced(text, View(text), RedactionMode.OFF.with_rules(mode.rules), names, known)
        if text == before:
            break
    return Redacted(text, tuple(sorted(names)))


def _replaced(text: str, view: View, mode: RedactionMode, names: set[str], known: frozenset[str]) -> str:
    """The text with labels for what the view of it shows."""
    lower = _lower(view.text)
    claims = _claims_of(view.text, lower, _places(lower, mode), mode, known)
    return text if claims.are_none else claims.moved(text, view).apply(names)[0]


def _claims_of(
    text: str, lower: str, places: dict[str, list[int]], mode: RedactionMode, known: frozenset[str]
) -> "_Claims":
    """What each part of the mode sees: what stands first names what several see."""
    claims = _Claims(text, mode.rules)
    if "private>" in lower and mode.value != "off":
        for start, end in _private_blocks(text):
            claims.add(start, end, "[PRIVATE]", _PRIVATE_RULE)
    seen_by: list[Iterable[Secret]] = [_forms(text, places, lower)] if places else []
    if mode.rules is not None:
        seen_by = [mode.rules.find_purged(text), *seen_by, mode.rules.find(text)]
    for secret in chain.from_iterable(seen_by):
        claims.add(secret.start, secret.end, secret.label, secret.rule)
    if mode.sees_randomness:
        from ctxrank.indexer.redaction.random_words import find_random  # noqa: PLC0415  seldom asked for

        for start, end in find_random(text):
            claims.add(start, end, "[REDACTED]", "entropy")
    claims.add_copies(known)
    return claims


# Of text that a replacement left alone, no rule sees anything new but near it: a rule looks this far ahead and back.
# A key block is the exception, see `_places`.
_CHARS_BEFORE = 2000
_CHARS_BEHIND = 500
_LOWERED_CHARS = 1_000_000
_Spans = list[tuple[int, int]]


class _Claims:
    """Parts of a text that are to be replaced, none over another."""

    def __init__(self, text: str, rules: "UserRules | None") -> None:
        self._text = text
        self._rules = rules
        self._claims: list[tuple[int, int, str, str]] = []

    def add(self, start: int, end: int, label: str, rule: str) -> None:
        at = bisect_left(self._claims, (start,))
        if (at < len(self._claims) and self._claims[at][0] < end) or (at and self._claims[at - 1][1] > start):
            return
        is_kept = self._rules is not None and rule not in _NEVER_KEPT and self._rules.allows(self._text[start:end])
        if not is_kept:
            self._claims.insert(at, (start, end, _as_json_value(self._text, start, end, label), rule))

    @property
    def are_none(self) -> bool:
        """Whether nothing was claimed."""
        return not self._claims

    def values(self) -> dict[str, tuple[str, str]]:
        """What was claimed and is to go wherever it stands, with its label and the rule that took it."""
        found: dict[str, tuple[str, str]] = {}
        for start, end, label, rule in self._claims:
            if rule not in _NEVER_KEPT and (value := value_of(self._text[start:end], rule)):
                found.setdefault(value, (label.strip("\\\"'").removesuffix("@"), rule))
        return found

    def add_copies(self, known: frozenset[str]) -> None:
        """Claim each other place of what was claimed, and each place of what is known from elsewhere."""
        values = {**dict.fromkeys(known, ("[REDACTED]", "copy")), **self.values()}
        if values:
            for start, end in find_copies(self._text, values):
                self.add(start, end, *values[self._text[start:end]])

    def moved(self, original: str, view: View) -> "_Claims":
        """The same claims on the text that was seen in this view."""
        claims = _Claims(original, None)
        claims._claims = [(*view.span(start, end), label, rule) for start, end, label, rule in self._claims]
        return claims

    def apply(self, names: set[str]) -> tuple[str, _Spans]:
        """The text with the labels in it, and where they stand there."""
        pieces: list[str] = []
        labels: _Spans = []
        done = size = 0
        for start, end, label, rule in self._claims:
            pieces += self._text[done:start], label
            size += start - done + len(label)
            labels.append((size - len(label), size))
            done = end
            names.add(rule)
        return "".join([*pieces, self._text[done:]]), labels


# `"name": 12`, `["name", 12]`, and the same inside a JSON string, where the quote has backslashes.
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_QUOTED_NAME = r"(\\{0,7}[\"'])[\])]{0,2}\s*+[:,]\s*+\Z"
_QUOTED_NAME_REACH = 40  # characters


def _as_json_value(text: str, start: int, end: int, label: str) -> str:
    """The label, in quotes where it takes the place of a JSON number: what was JSON stays JSON."""
    if compiled(_NUMBER).fullmatch(text, start, end) is None:
        return label
    name = compiled(_QUOTED_NAME).search(text[max(0, start - _QUOTED_NAME_REACH) : start])
    return f"{name[1]}{label}{name[1]}" if name else label


def _around(labels: _Spans, size: int) -> _Spans:
    """Where a rule may see what it did not see before: from well before each label to a little behind it."""
    windows: _Spans = []
    for start, end in labels:
        first, last = max(0, start - _CHARS_BEFORE), min(size, end + _CHARS_BEHIND)
        if windows and first <= windows[-1][1]:
            first = windows.pop()[0]
        windows.append((first, last))
    return windows


def _forms(text: str, places: dict[str, list[int]], lower: str) -> Iterator[Secret]:
    names = places_of_names(text, places)
    named = find_named(text, names)
    yield from (one for one in named if one.label == "REDACTED" and not one.is_weak)
    yield from _by_rules(text, places, are_formats=False)
    yield from find_key_pieces(text, places.get(KEY_ANCHOR, []))
    yield from (one for one in named if not one.is_weak)
    yield from find_in_columns(text, names)
    yield from _by_rules(text, places, are_formats=True)
    for vendor in filter(places.__contains__, vendors()):
        yield from find_vendor_values(text, vendor, places[vendor])
    yield from find_kubernetes(text, lower, places.get(KUBERNETES_ANCHOR, []))
    yield from (one for one in named if one.is_weak)


_ALL_RULES = (*RULES, *FORMAT_RULES)


def _by_rules(text: str, places: dict[str, list[int]], *, are_formats: bool) -> Iterator[Secret]:
    called: defaultdict[int, list[list[int]]] = defaultdict(list)  # a rule may have 200 anchors, a text few of them
    for anchor, found in places.items():
        for number in _anchors()[1].get(anchor, ()):
            if (number >= len(RULES)) == are_formats:
                called[number].append(found)
    for number in sorted(called):
        rule, lists = _ALL_RULES[number], called[number]
        found = lists[0] if len(lists) == 1 else sorted(chain.from_iterable(lists))
        for start, end in find_rule(rule, text, found):
            yield Secret(start, end, rule.label, rule.name)


_ESCAPES = ("\\b", "\\f", "\\n", "\\r", "\\t")
# A token of random letters shows it within these many; a longer one is not counted through.
_ENTROPY_CHARS = 512


def find_rule(rule: Rule, text: str, places: list[int]) -> Iterator[tuple[int, int]]:
    """What the rule sees as secrets; nothing that it rejected is looked at again from its middle."""
    entropies: dict[str, float] = {}  # a text of many tokens has the same ones, as a rule
    for match in _tried(rule, text, places):
        done = match.end()
        start = match.end("head") if "head" in match.re.groupindex else match.start()
        if text[start - 1 : start + 1] in _ESCAPES:
            start += 1  # its letter stays, or JSON would be none
        if (rule.is_place and is_stand_in(text, start)) or (rule.is_no_code and is_code(text, start)):
            continue
        if rule.least_entropy:
            token = text[start : min(done, start + _ENTROPY_CHARS)]
            if token not in entropies:
                entropies[token] = entropy(token)
            if entropies[token] < rule.least_entropy:
                continue
        yield start, done


# Where a command has no option that counts, one that stands near behind it in the same line has none, either.
COMMAND_CHARS = 200
_COMMAND_END = r"[\n|;&]"
_DENSE_CHARS = 8  # with one in every so many characters, and more than are few, the expression looks itself


def _tried(rule: Rule, text: str, places: list[int]) -> Iterator[re.Match[str]]:
    opening = compiled(rule.opening) if rule.opening else None
    if not rule.is_command and len(places) > max(DENSE_PLACES, len(text) // _DENSE_CHARS):
        yield from compiled(rule.pattern).finditer(text)
        return
    done = 0
    for place in places:
        if place - rule.back < done or (opening and opening.match(text, place) is None):
            continue
        if match := compiled(rule.pattern).match(text, place - rule.back):
            done = match.end()
            yield match
        elif rule.is_command:
            command_end = compiled(_COMMAND_END).search(text, place, place + COMMAND_CHARS)
            done = command_end.end() if command_end else place + COMMAND_CHARS


def _lower(text: str) -> str:
    """Lower case with every character where it was: one capital letter alone would become two."""
    if text.isascii():
        return text.lower()
    # In parts: beyond ASCII Python takes twelve bytes for each character meanwhile.
    text = text.replace("\u0130", "I")
    return "".join([text[at : at + _LOWERED_CHARS].lower() for at in range(0, len(text), _LOWERED_CHARS)])


def _places(lower: str, mode: RedactionMode, windows: _Spans | None = None) -> dict[str, list[int]]:
    """Where the anchors stand, each one's places in order; in these parts of the text, if they are given.

    Key blocks are longer than a part, so where they begin is seen everywhere.
    """
    found: defaultdict[str, list[int]] = defaultdict(list)
    if not mode.sees_forms:
        return found
    for first, last in windows or [(0, len(lower))]:
        for anchor, start in _find_anchors(lower[first:last]):
            found[anchor].append(first + start)
    if windows:
        found[KEY_ANCHOR] = [match.start() for match in compiled(KEY_ANCHOR).finditer(lower)]
    return found


def _find_anchors(part: str) -> Iterator[tuple[str, int]]:
    """Each place of an anchor; those of one anchor in order."""
    _looked_through[0] += len(part)
    if _looked_through[0] > _CHARS_WITHOUT_AUTOMATON:
        scanner, words, longest = _automaton(is_dfa=_looked_through[0] > _CHARS_WITHOUT_DFA)
        return ((words[number], start) for number, start, _ in find_in_parts(scanner, part, longest, overlapping=True))
    by_head, _ = _anchors()
    return (
        (anchor, start)
        for start, char in enumerate(part)
        for head in (part[start : start + _HEAD_CHARS], char)
        for anchor in by_head.get(head, ())
        if part.startswith(anchor, start)
    )


# Found by the same scan, which says at no cost that a text has none of them.
_CONTROLS = frozenset(filter(is_control, map(chr, range(0x80))))


_HEAD_CHARS = 3
_Anchors = tuple[dict[str, tuple[str, ...]], dict[str, tuple[int, ...]]]


@cache
def _anchors() -> _Anchors:
    """Where a secret may stand: each anchor once, by what it begins with (three characters, or one if it has no three);
    and the numbers of the rules that an anchor calls for.
    """
    return kept_from_tables(__spec__, _arranged)


def _arranged() -> _Anchors:
    numbers: dict[str, tuple[int, ...]] = {}
    for number, rule in enumerate(_ALL_RULES):
        for anchor in rule.anchors:
            numbers[anchor] = (*numbers.get(anchor, ()), number)
    # A rule may have 200 anchors that call for it alone: what is equal is kept once.
    once = {of_anchor: of_anchor for of_anchor in numbers.values()}
    by_head: dict[str, tuple[str, ...]] = {}
    for anchor in dict.fromkeys([*_CONTROLS, *NAME_ANCHORS, *numbers, *vendors(), KUBERNETES_ANCHOR]):
        head = anchor[: _HEAD_CHARS if len(anchor) >= _HEAD_CHARS else 1]
        by_head[head] = (*by_head.get(head, ()), anchor)
    return by_head, {anchor: once[of_anchor] for anchor, of_anchor in numbers.items()}


# An automaton takes as long to make as so many characters to be looked through one after the other, and a DFA, which
# looks through a text twice as fast, six times as long.
_CHARS_WITHOUT_AUTOMATON = 12_000
_CHARS_WITHOUT_DFA = 1_000_000
_looked_through = [0]


@cache
def _automaton(*, is_dfa: bool) -> "tuple[ahocorasick_rs.AhoCorasick, list[str], int]":
    """All anchors in one automaton, they themselves, and the length of the longest.

    Two hundred searches, one after the other, take forty times as long.
    """
    from ahocorasick_rs import AhoCorasick, Implementation  # noqa: PLC0415  start-up: only for redaction

    implementation = Implementation.DFA if is_dfa else Implementation.ContiguousNFA
    words = [*chain.from_iterable(_anchors()[0].values())]
    return AhoCorasick(words, implementation=implementation), words, max(map(len, words))


_PRIVATE_RULE = "private-block"
# Nothing that a user allows keeps these.
_NEVER_KEPT = (_PRIVATE_RULE, "forgotten")
_PRIVATE_TAG = r"(?i)<(/?)private>"


def _private_blocks(text: str) -> _Spans:
    """From each opening tag to the tag that balances it, or else to the last one."""
    blocks: _Spans = []
    depth = start = end = 0
    for tag in compiled(_PRIVATE_TAG).finditer(text):
        if not tag[1]:
            if depth == 0:
                start, end = tag.start(), 0
            depth += 1
        elif depth:
            depth -= 1
            end = tag.end()
        if end and depth == 0:
            blocks.append((start, end))
            end = 0
    if end:
        blocks.append((start, end))
    return blocks
