"""Regular expressions that mean the same on every Python from 3.11.0 on."""

import re
from pathlib import Path

HOUSE = Path(__file__).parent.parent
# `(…)?+`, `(…)*+`, `(…)++`, `(…){1,3}+`, also of a string that goes on in the next line.
_POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[?*+]|\{{1,2}[0-9,]+\}{1,2})\+")
_QUANTIFIER_ALONE = re.compile(r"[\"'](?:[?*+]|\{{1,2}[0-9,]+\}{1,2})\+")  # behind what may be a group
_NEXT_LINE = re.compile(r"[\"']\s*\n\s*[rbf]{0,2}[\"']")


def test_no_expression_has_a_possessive_group() -> None:
    """Before Python 3.11.5 such a group keeps what its last, failed turn has passed, or repeats nothing for ever.

    `(?>(?:…)*)` says the same, and is right on all of them; so is a possessive quantifier of one character or class. It
    remembers each turn till its end, and `(?>(?>(?:…){1,500})*)` no more than 500: where a text has no bound.
    """
    found = [
        f"{path.relative_to(HOUSE)}: {match[0]}"
        for folder in ("ctxrank", "indexer", "ranking", "cli", "extensions")
        for path in (HOUSE / folder).rglob("*.*")
        if path.suffix in {".py", ".tsv"}
        for pattern in (_POSSESSIVE_GROUP, _QUANTIFIER_ALONE)
        for match in pattern.finditer(_NEXT_LINE.sub("", path.read_text(encoding="utf-8")))
    ]
    assert not found
