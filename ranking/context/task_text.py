"""Task text: what a task says that was pasted, such as a reported issue, for the sake of finding what bears on it.

    title        the first line counts TITLE_TIMES: it says in a few words what the rest is about
    left out     comments of a form, addresses, where a program is installed, and digits alone: they are parts of a
                 version or of output, and rare enough in findings to decide what is near

A task of one line is what it is. Issues that look for the note of what fixed them (benchmarks/road.py, 2026-11; 56 and
63 issues, the share of those whose note is first and among ten): .661 and .875, .444 and .635 as they are; .714 and
.929, .524 and .857 so. The title three times: .732 and .929, .508 and .794; ten times: .732 and .964, .571 and .857.
"""

from ctxrank.ranking.retrieval.query import Query, bounded_text, plain_query

TITLE_TIMES = 6
_TITLE_WORDS = 30  # what is longer is a paragraph
_ROLE = ("you are", "you're", "act as")  # says who reads the task, and not what it is
_MAX_WORDS = 2000  # the rarest 32 terms are what counts
_SAYS_NOTHING = (
    r"<!--.{0,2000}?-->"  # what a form asks for
    r"|https?://\S+"
    r"|(?<![^\s\"'])[^\s\"']*/(?:(?:site|dist)-packages|python\d[\d.]*)/"
    r"|(?<![A-Za-z_0-9])\d(?![A-Za-z_0-9])"
)


def task_query(task: str, max_words: int = _MAX_WORDS) -> Query:
    """The words of a task of any length."""
    task = bounded_text(task.strip())
    title, _, rest = task.partition("\n")
    if not rest:
        return plain_query(task, max_words)
    import re  # noqa: PLC0415  start-up: a task of one line needs no pattern

    is_title = len(title.split()) <= _TITLE_WORDS and not title.lower().startswith(_ROLE)
    titles = f"{title}\n" * (TITLE_TIMES if is_title else 1)
    return plain_query(re.sub(_SAYS_NOTHING, " ", f"{titles}{rest}", flags=re.DOTALL), max_words)
