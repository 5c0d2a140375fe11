"""Task text: what a task says that was pasted, such as a reported issue, for the sake of finding what bears on it.

    title        the first line counts TITLE_TIMES: it says in a few words what the rest is about
    prose        its first _PROSE_WORDS count PROSE_TIMES: what is wrong comes before how to see it, and where
    the rest     further words, and code and logs in fences, count once
    left out     headings, what a form has ticked, its comments, addresses, where a program is installed, and digits
                 alone: they are rare enough in findings to decide what is near, and say nothing of this task

Of a log that is longer than what would count of it, what it says that failed counts as prose does, wherever it stands,
and its end as what is fenced. A task of one line is what it is, and so is a pasted text that tells nothing, as code and
logs do.

Issues that look for the note of what fixed them (benchmarks/road.py, 2026-11; 56, 63 and 53 issues, the share of those
whose note is first, and is named in 2,000 tokens): .732 and .946, .556 and .810, .717 and .887 with the title six times
and all else once; .714 and .964, .619 and .841, .774 and .906 so. The files that fix an issue (strict Acc@5, 88 issues
of three projects that nothing was chosen on): .602 as it stands, .682 as a task; among sources .671 and .716.
"""

from ctxrank.ranking.retrieval.query import Query, Term, bounded_text, plain_query

TITLE_TIMES, PROSE_TIMES = 16, 4
_TITLE_WORDS = 30  # what is longer is a paragraph
_ROLE = ("you are", "you're", "act as")  # says who reads the task, and not what it is
_PROSE_WORDS = 100
_TOLD_SHARE = 0.2  # of stop words, outside of fences; with .15 and .25 the same
_MOST_ERRORS = 3  # of a log
_MAX_WORDS = 400  # of all else; the rarest 32 terms are what counts
_FENCED = r"\n[ \t]*(?:```|~~~)[^\n`]*(\n.*?)(?:\n[ \t]*(?:```|~~~)|\Z)"
_HEADING = r"\n[ \t]*(?:#{1,6}[ \t][^\n]*|\*\*[^*\n]{1,80}\*\*:?[ \t\r]*(?=\n|\Z))"
_SAYS_NOTHING = (
    r"<!--.{0,2000}?-->|\n[ \t]*[-*+] \[[xX]\] [^\n]*"  # what a form asks for, and what was ticked
    r"|https?://\S+"
    r"|(?<![^\s\"'])[^\s\"']*/(?:(?:site|dist)-packages|python\d[\d.]*)/"
    r"|(?<![A-Za-z_0-9])\d(?![A-Za-z_0-9])"
)


def task_query(task: str, fenced_words: int = _MAX_WORDS) -> Query:
    """The words of a task of any length; of what stands in a fence so many, the last ones."""
    task = bounded_text(task.strip())
    if "\n" not in task:
        return plain_query(task, _MAX_WORDS)
    import re  # noqa: PLC0415  start-up: a task of one line needs no pattern

    title, end, rest = re.sub(_SAYS_NOTHING, " ", task, flags=re.DOTALL).partition("\n")
    is_title = len(title.split()) <= _TITLE_WORDS and not title.lower().startswith(_ROLE)
    parts = re.split(_FENCED, end + rest, flags=re.DOTALL)  # prose and what is fenced, in turn
    logs = {part: errors for part in parts if (errors := _errors_in(part, max(fenced_words, _PROSE_WORDS)))}
    is_title = is_title and (parts[0] not in logs or rest.startswith("\n"))  # the first line of a log is one of many
    plain = "\n".join(part for part in parts[::2] if part not in logs)
    prose = plain_query(re.sub(_HEADING, "\n", plain)).terms or plain_query(plain).terms  # else a plan by headings
    said = (plain_query("\n".join(logs.values())).terms + prose)[:_PROSE_WORDS]
    fenced = [" ".join(text.split()[-fenced_words:]) for text in dict.fromkeys((*parts[1::2], *logs))]
    once = (prose[_PROSE_WORDS:] + plain_query("\n".join(fenced)).terms)[:_MAX_WORDS]
    times = TITLE_TIMES if is_title else PROSE_TIMES
    return Query(_times(plain_query(title).terms, times) + _times(said, PROSE_TIMES) + once)


def _errors_in(part: str, words: int) -> str:
    """What a log of more than so many words says that failed; '' for any other text."""
    if len(part.split()) <= words or not _tells_nothing(part):
        return ""
    from ctxrank.indexer.errors.parse.units import NO_ERROR, error_units  # noqa: PLC0415  few tasks are logs

    return "\n".join(one.text for one in error_units(part)[:_MOST_ERRORS] if not one.why.endswith(NO_ERROR))


def pasted_query(text: str) -> Query:
    """The words of a text that was pasted: of one that tells something as of a task, of code and logs as they stand."""
    query = plain_query(text)
    if "\n" not in text.strip() or _tells_nothing("\n".join(text.split("```")[::2])):
        return query
    task = task_query(text)
    return task if task.terms else query


def _tells_nothing(text: str) -> bool:
    """Whether it is code or a log, by its share of stop words."""
    return plain_query(text, _MAX_WORDS).stop_share < _TOLD_SHARE


def _times(terms: tuple[Term, ...], times: int) -> tuple[Term, ...]:
    return tuple(term._replace(times=times) for term in terms)
