"""Texts that are made to be slow: what a rule looks for, again and again, and never quite there.

For each anchor and each pattern: the anchor alone, many times; strings that match, cut short at many places and
repeated; an anchor, then one kind of character without end; every pair of what holds the rules together.
"""

import random
from collections.abc import Iterator

from ahocorasick_rs import AhoCorasick
from labels import MADE_OF
from matching import sample

from ctxrank.indexer.redaction.named_values import ANCHORS
from ctxrank.indexer.redaction.rules import FORMAT_RULES, RULES, VALUES, Rule

SIZE = 100_000  # characters
_FILLERS = ("a", "A", "0", "-", "_", "/", ".", "=", ":", '"', "'", "\\", " ", "\n", "a.", "a-", "a/", "a ", "\\n", "é")


def hostile_texts() -> Iterator[tuple[str, str]]:
    """What each is made of, and the text."""
    rng = random.Random(7)
    seen: set[str] = set()
    for piece in _pieces(rng):
        if piece and piece not in seen:
            seen.add(piece)
            yield piece, piece * (SIZE // len(piece) + 1) + "!\n"
    for anchor in (*ANCHORS, *(anchor for rule in (*RULES, *FORMAT_RULES) for anchor in rule.anchors)):
        for filler in _FILLERS:
            yield f"{anchor}…{filler}", anchor + filler * (SIZE // len(filler))


def texts_for(rule: Rule) -> Iterator[tuple[str, str, list[int]]]:
    """What each is made of, the text, and where the rule is tried in it: for measuring the rule alone."""
    rng = random.Random(3)
    whole = sample(rule.pattern, rng)
    places_in = AhoCorasick(rule.anchors).find_matches_as_indexes
    cuts = (len(whole) // 4, len(whole) // 2, len(whole) - 1, len(whole))
    for piece in dict.fromkeys([*rule.anchors[:2], *(whole[:cut] + end for cut in cuts for end in ("", " "))]):
        if piece:
            text = piece * (SIZE // len(piece) + 1)
            yield piece, text, sorted(start for _, start, _ in places_in(text.lower(), overlapping=True))


def _pieces(rng: random.Random) -> Iterator[str]:
    for rule in (*RULES, *FORMAT_RULES):
        yield from rule.anchors
        for _ in range(3):
            whole = sample(rule.pattern, rng)
            for cut in {1, len(whole) // 4, len(whole) // 2, 3 * len(whole) // 4, len(whole) - 1, len(whole)}:
                for end in ("", "!", " ", "\n", "é"):
                    yield whole[:cut] + end
    for name in ANCHORS:
        for link in MADE_OF["links"]:
            yield name + link
            yield f"--{name}{link}"
    for value in VALUES:
        vendor = value.anchors[0]
        whole = sample(value.pattern, rng)
        for link in ("", "=", " = '", ",", " a.a-a: "):
            yield vendor + link
            yield f"{vendor}{link}{whole}"
            yield f"{vendor}{link}{whole[:-1]}"
    yield from (
        "kind: secret data: ",
        "kind: secret\ndata:\n  a: ",
        "data: a: b kind: secret ",
        "<private>",
        "</private>",
    )
    yield from (f"{one}{two}" for one in _FILLERS for two in _FILLERS)
