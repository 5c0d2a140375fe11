"""Impact bounds: for each term, the shortest document at each level of how often documents have it.

BM25 grows with a term's frequency and falls with the document's length, so these few lengths bound what the term can
add to any document's score (postings.py), whatever the average length becomes and however
the formula is tuned. A search leaves alone the rows that cannot reach the best ones.

    weighted occurrences    up to 1    2     3     5     8   more
    shortest document            34   41    60    52  NONE   NONE

The lengths only fall: a document that goes leaves its lengths behind, which is safe, and loose until the index is
rebuilt. The levels were chosen by how many rows may be among the first 30, on average over 200 questions each to
100,000 made documents and 48,714 pieces of real ones (2026-11): 869 and 393 with every term's true maximum, 1,044 and
480 with these levels, 1,329 and 655 with the levels 1, 2 and 5.
"""

from ctxrank.indexer.engine import FieldWeights
from ctxrank.indexer.fulltext.forward import weighted_count

# How much an occurrence in each column counts here. What is read with other weights is scaled.
WEIGHTS = FieldWeights(body=1.0, title=2.5, path=1.5, identifiers=1.0)
LEVELS = (1.0, 2.0, 3.0, 5.0, 8.0)  # and one more for whatever is above
COLUMNS = (
    "min_length_tf_1", "min_length_tf_2", "min_length_tf_3", "min_length_tf_5", "min_length_tf_8", "min_length_tf_more",
)  # fmt: skip
# The steps of a table of what occurrences add: of text by half an occurrence, up to the first above the last level;
# then the same of a path.
TEXT_STEPS = int(2 * LEVELS[-1]) + 2
PATH_STEPS = int(LEVELS[-1] / WEIGHTS.path) + 2
NONE = 32767  # NULL in the table, which takes no bytes there; a longer document counts as one less, which is safe
SHORTEST = ", ".join(f"ifnull({column}, {NONE})" for column in COLUMNS)


class _Levels(dict[int, int]):
    """The level of packed counts; few different ones occur."""

    def __missing__(self, packed: int) -> int:
        occurrences = weighted_count(packed, WEIGHTS)
        level = self[packed] = sum(occurrences > most for most in LEVELS)
        return level


LEVEL_OF = _Levels()
