"""The pieces that patterns are made of: rows of `pieces.tsv`, each of which may use those above it.

filled("(?!%{STAND_IN})[a-z]+")      the same with the pattern of a stand-in
"""

from ctxrank.indexer.text.tables import kept_from_tables, rows

PIECES: dict[str, str] = {}


def filled(pattern: str) -> str:
    """A text with the pieces that it names in %-braces."""
    first, *others = pattern.split("%{")
    return first + "".join(PIECES[name] + rest for name, _, rest in (other.partition("}") for other in others))


def _read() -> dict[str, str]:
    # The first letters of any three digits in base64, as words; all else is in the table.
    PIECES["ACCOUNT"] = " ".join(
        first + third + fourth
        for first in ("mt", "mj", "mz", "nd", "nt", "nj", "nz", "od", "ot")
        for third in "aeimquycgk"
        for fourth in "wxyz012345"
    )
    for name, *cells in rows(__file__, "pieces"):
        if cells:
            PIECES[name] = filled(cells[0])
    return PIECES


PIECES.update(kept_from_tables(__spec__, _read))
