"""Whether letters could be a word: what stands behind a name in prose and in code mostly is one, a secret is not.

    reads_like_a_word("monkey")          True
    reads_like_a_word("qwzxkfjv")        False

Each pair of letters has a weight from 0 (never seen in a word) to 9 (often), counted in the words of six letters and
more of sources and documents in Python, Go, JavaScript and English. Of 12,000 such words that were not counted in, one
in forty is taken for random, of rows of eight random letters nineteen in twenty.
"""

from itertools import pairwise

from ctxrank.indexer.text.tables import rows

_WEIGHTS = tuple(weights for _, weights in rows(__file__, "letters"))
_LEAST_MEAN = 6.45
_MOST_LETTERS = 64  # of a longer one these are enough


def reads_like_a_word(letters: str) -> bool:
    """Whether letters of ASCII, of any case, follow each other as they do in words."""
    codes = letters[:_MOST_LETTERS].lower().encode("ascii", "replace")
    weights = [
        _WEIGHTS[one - 97][next_one - 97]
        for one, next_one in pairwise(codes)
        if 97 <= one <= 122 and 97 <= next_one <= 122
    ]
    return not weights or sum(map(int, weights)) >= _LEAST_MEAN * len(weights)
