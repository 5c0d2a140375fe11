"""What moves between the parts of the public benchmark: questions, what answers them, and rankings."""

from collections.abc import Callable
from typing import Literal, NamedTuple

View = Literal["files", "passages", "source"]  # the unit of a ranking; `source`: files, with a filter to the sources


class Place(NamedTuple):
    """A file, or the lines of it; both ends inside."""

    path: str
    start: int
    end: int


class Wanted(NamedTuple):
    """What answers a question; without lines the whole file."""

    path: str
    start: int = 0
    end: int = 0
    grade: float = 1.0


class Question(NamedTuple):
    """A question as it is typed."""

    id: str
    kind: str
    text: str
    wanted: tuple[Wanted, ...]


Ranked = dict[View, dict[str, list[Place]]]  # by view and question, the best first


class Corpus(NamedTuple):
    """Files that are indexed together, and what is asked of them."""

    name: str
    commit: str
    write: Callable[[str], object]  # writes the files into an empty folder, or that of another corpus of the same tree
    questions: tuple[Question, ...]
    source: tuple[str, ...] = ()  # globs of the sources, where a view filters to them
    tree: str = ""  # what follows one another and has the same tree is indexed in one folder, by what has changed


class PublicSet(NamedTuple):
    """One row of the table."""

    name: str
    views: tuple[View, ...]
    measures: tuple[str, ...]
    corpora: tuple[Corpus, ...]
    skipped: tuple[str, ...]  # what of it is absent, in words
    folder: str = ""  # in BEIR's form, where `ctxrank eval` can be asked too
