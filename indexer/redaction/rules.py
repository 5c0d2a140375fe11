"""The kinds of secret that are known by their form: rows of `rules.tsv`, tried in its order.

    github-oauth    gho_    (no least entropy, nothing before the anchor)    gho_[A-Za-z0-9]{36,}+

A token says by itself whose it is: `glpat-` and twenty characters. A value does not: it counts where its vendor's name
precedes it.
"""

from codecs import unicode_escape_decode

from ctxrank.indexer.light_typing import Any, NamedTuple
from ctxrank.indexer.redaction.pieces import PIECES, filled
from ctxrank.indexer.text.tables import kept_from_tables, rows


class Rule(NamedTuple):
    """One kind of secret.

    `anchors` are lower case. The pattern is tried where one of them occurs, or `back` characters before it; it may
    look behind. The label takes the place of the match, but for the group `head`. A match counts if its entropy, in
    bits for each character, is not below the least. A long pattern is compiled only where its short `opening` matches
    at an anchor: prose has the word and nothing behind it. At a place, a stand-in is no secret, behind a header
    no code; a command is tried once in its line.
    """

    name: str
    anchors: tuple[str, ...]
    pattern: str
    label: str
    back: int = 0
    least_entropy: float = 0.0
    opening: str = ""
    is_place: bool = False
    is_no_code: bool = False
    is_command: bool = False


def _read() -> dict[str, list[tuple[Any, ...]]]:
    """The values of the rules of each section of the table."""
    sections: dict[str, list[tuple[Any, ...]]] = {}
    section, is_token = list[tuple[Any, ...]](), False
    for name, *cells in rows(__file__, "rules", filled):
        if name.startswith("["):
            section, is_token = sections.setdefault(name, []), name in ("[tokens]", "[marks]")
        elif cells:
            anchors, least, back, pattern, label, opening = (*cells, "", "", "")[:6]
            parts = anchors.split(" ")
            if "\\" in anchors:
                parts = [unicode_escape_decode(part)[0] for part in parts]
            if is_token:
                # Letters alone mark a token less well than letters and a sign do.
                start = PIECES["STRICT_START" if parts[0].isalnum() else "START"]
                pattern = f"{start}{pattern}(?![A-Za-z0-9_])"
                opening = opening or PIECES["BEHIND_TOKEN" if back else "TOKEN"]
            label = label or f"[REDACTED:{name}]"
            is_place = section is sections.get("[places]") or PIECES["NOT_A_SECRET"] in pattern
            kind = (is_place, PIECES["NOT_CODE"] in pattern, PIECES["ARGS"] in pattern)
            section.append((name, tuple(parts), pattern, label, int(back or 0), float(least or 0), opening, *kind))
    return sections


# The order is part of the meaning: of two rules that see the same text, the first one names it.
RULES, TOKENS, MARKS, PLACES, VALUES = (
    tuple(map(Rule._make, section)) for section in kept_from_tables(__spec__, _read).values()
)
# What is known by a public format, and by its position: labelled with its name.
FORMAT_RULES = (*TOKENS, *MARKS, *PLACES)
