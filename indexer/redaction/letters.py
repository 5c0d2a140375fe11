"""Whether letters could be a word: what stands behind a name in prose and in code mostly is one, a secret is not.

    reads_like_a_word("monkey")          True
    reads_like_a_word("qwzxkfjv")        False

Each pair of letters has a weight from 0 (never seen in a word) to 9 (often), counted in the words of six letters and
more of sources and documents in Python, Go, JavaScript and English. Of 12,000 such words that were not counted in, one
in forty is taken for random, of rows of eight random letters nineteen in twenty.
"""

from itertools import pairwise

# A row for each first letter, a digit for each second one.
_WEIGHTS = tuple(
    (
        "37872363625878160879554452 86648333863945850775800360 83648338718743933768643051 84479554942644741775753142 "
        "74786654423768464987355741 72548740902744850766832062 73649467820757753875733043 94349422812554841768523162 "
        "66766671002779861688161406 83359733766333933385853333 75559664844756663686645252 84469432904834850366641080 "
        "96549432804573880374620041 74888694725545751488653032 56774562525779670867766432 83558446703833870968624250 "
        "33533353333733365573933333 84669452825565850677554050 72749447825554774489725260 84649537912644750876633363 "
        "67757660703879571878111423 93549433911344711454431131 94458237824658852875442232 74768544822565594469244652 "
        "65657564822777692587445234 84359334833544563335333346"
    ).split()
)
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
