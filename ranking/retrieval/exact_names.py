"""A query that is a name or a line of code and nothing else, and files that a query names: what is meant comes first.

    SPEC-BILLING-001, single-flight        the linked artifact of that id; what holds the name
    cmdline.py, scrapy/cmdline.py:42       the file whose path ends so, of it the passage with that line
    scrapy.cmdline, scrapy.cmdline.run     the file with this module's path
    tests, src/tui                         the file or the folder of this name
    a traceback, a compiler's message      the innermost of the files in it that exist here, then the others
    client.get("/users", timeout=5)        what has this line as it stands, but for its white space

The parts of a name are common words, and the words of a call are those of other calls, so a text that repeats them
would come before the one that is meant. Within each group the usual order holds, and after all of them whatever else
was found.
"""

import re
from itertools import takewhile

from ctxrank.indexer.engine import PhraseClause, RowQuery
from ctxrank.indexer.extensions import NAMED_DOCUMENTS, is_installed, provided
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.facets import Scope, document_id_of
from ctxrank.ranking.retrieval.candidates.candidates import Candidate, Candidates, best_first, scored_rows
from ctxrank.ranking.retrieval.hits import Question
from ctxrank.ranking.retrieval.named_paths import lifted, with_named_paths
from ctxrank.ranking.retrieval.plan import Plan
from ctxrank.ranking.retrieval.query import Query, is_line_of_code

_NAME = re.compile(r"\w+(-\w+)+")
_MODULE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_EXTENSION = re.compile(r"\.(?=\w{0,7}[^\W\d])\w{1,8}$")
_LINE = re.compile(r"(?::(\d{1,7}))(?::\d{1,7})?:?$")
# A frame of Python's, whose last one is the innermost; and path:line, as all others write it, the innermost first. Both
# are compiled where a query has several words.
_FRAME = r'File "([^"\n]{1,400})", line (\d{1,7})'
_PLACE = r"(?<![\w./\\@+-])([\w./\\@+-]{1,300}\.[A-Za-z]\w{0,7}):(\d{1,7})(?![\w/])"
# What a module's file may be called when it is a folder's.
_OF_FOLDER = ("__init__", "index", "mod")
_MOST_ROWS = 2000  # looked at for one file: a name like __init__.py is many
_MOST_FILES = 12  # of one query
_MOST_READ = 200  # rows with the words of a line of code in its order, of which each is looked at
_MAX_CHARS = 100_000  # of one of them


class NamedFile(NamedTuple):
    """A file as a query names it: the parts of its path, and the line; of a module without an extension."""

    parts: tuple[str, ...]
    line: int = 0
    is_module: bool = False


def with_what_is_named(plan: Plan, question: Question, found: Candidates) -> tuple[Candidates, list[frozenset[int]]]:
    """For a name, a line of code or named files: also what holds it as typed, and the documents that come first."""
    query, scope, text = question.query, question.filters.scope, question.request.text
    if files := named_files(query, text):
        return with_rows_of_files(plan, scope, found, files)
    if not question.request.is_syntax and is_line_of_code(text):
        return with_rows_of_line(plan, scope, found, text.strip())
    if len(query.terms) != 1:
        return found, []
    term = query.terms[0]
    found = with_named_paths(plan, found, term)
    if not term.is_plain or _NAME.fullmatch(term.text) is None:
        return found, []
    groups: list[frozenset[int]] = []
    if is_installed("links"):
        groups.append(provided(NAMED_DOCUMENTS, "search")(question.store.primary, term.text))
    holding = _scored(plan, RowQuery(PhraseClause(term.text), scope, excluded=plan.excluded))
    groups.append(frozenset(row.owner_id for row in holding))
    rows = {row.rowid: row for row in (*holding, *found.rows)}
    # What was not seen may belong to those that come first.
    is_complete = found.is_complete and len(holding) < _MOST_ROWS
    return found._replace(rows=list(rows.values()), is_complete=is_complete), groups


def with_rows_of_line(
    plan: Plan, scope: Scope, found: Candidates, line: str
) -> tuple[Candidates, list[frozenset[int]]]:
    """All candidates with the rows that hold a line of code as it stands; and their documents, which come first."""
    if not (plan.terms or plan.required):
        return found, []
    line = line.replace("\0", " ").encode("utf-8", "replace").decode()  # what no text that is stored can hold
    holding = _scored(plan, RowQuery(PhraseClause(line, "body"), scope))
    rows = best_first(holding)[:_MOST_READ]
    wanted = " ".join(line.split())
    texts = plan.engine.texts([row.rowid for row in rows], _MAX_CHARS)
    literal = [row for row in rows if row.rowid in texts and wanted in " ".join(texts[row.rowid][2].split())]
    known = {row.rowid: row for row in found.rows}
    for row in literal:
        known[row.rowid] = lifted(plan, known.get(row.rowid, row), wanted)
    # What was not looked at may belong to those that come first.
    is_complete = found.is_complete and len(holding) <= _MOST_READ
    groups = [frozenset(row.owner_id for row in literal)]
    return found._replace(rows=list(known.values()), is_complete=is_complete), groups


def with_rows_of_wholes(plan: Plan, scope: Scope, found: Candidates) -> Candidates:
    """All candidates, and rows that hold what was typed as one the way it is written, with a bonus."""
    rows = {row.rowid: row for row in found.rows}
    for whole, gain in plan.wholes:
        holding = _scored(plan, RowQuery(whole, scope, excluded=plan.excluded))
        if len(holding) < _MOST_ROWS:
            for row in holding:
                rows[row.rowid] = lifted(plan, rows.get(row.rowid, row), whole.text, gain)
    return found._replace(rows=list(rows.values()))


def _scored(plan: Plan, query: RowQuery) -> list[Candidate]:
    """The rows that a query finds, by what they score."""
    return scored_rows(plan, plan.engine.rows(query, _MOST_ROWS))


def named_files(query: Query, text: str) -> list[list[NamedFile]]:
    """The files that a query names, the ones that come first first; each as what it may mean, the likeliest first."""
    if len(query.terms) == 1:
        term = query.terms[0]
        meanings = [] if term.is_prefix or term.column else _meanings(term.text)
        return [meanings] if meanings else []
    frames = re.findall(_FRAME, text)[::-1]
    places = dict.fromkeys(frames or re.findall(_PLACE, text))
    return [[_file(path, int(line))] for path, line in list(places)[:_MOST_FILES]]


def _file(path: str, line: int) -> NamedFile:
    return NamedFile(tuple(part for part in path.replace("\\", "/").lower().split("/") if part.strip(".")), line)


def _meanings(text: str) -> list[NamedFile]:
    text = text.strip("\"'`()<>,;")
    line = 0
    if place := _LINE.search(text):
        text, line = text[: place.start()], int(place[1])
    meanings: list[NamedFile] = []
    if _EXTENSION.search(text) and "://" not in text:
        meanings.append(_file(text, line))
    if _MODULE.fullmatch(text):
        parts = tuple(text.lower().split("."))
        meanings.append(NamedFile(parts, line, is_module=True))
        if len(parts) > 2:  # the last one is what the module defines
            meanings.append(NamedFile(parts[:-1], line, is_module=True))
    return [meaning for meaning in meanings if meaning.parts]


def with_rows_of_files(
    plan: Plan, scope: Scope, found: Candidates, named: list[list[NamedFile]]
) -> tuple[Candidates, list[frozenset[int]]]:
    """All candidates with the rows of files that a query names; and the documents that come first, by groups.

    Where phrases are required, a name finds no file that is without them.
    """
    if plan.required:
        return found, []
    rows = {row.rowid: row for row in found.rows}
    groups: list[frozenset[int]] = []
    for meanings in named:
        for meaning in meanings:
            owner_ids = _owners(plan, scope, meaning)
            if not owner_ids:
                continue
            of_files = RowQuery(PhraseClause(meaning.parts[-1], "path"), scope._replace(document_ids=owner_ids))
            for row in _scored(plan, of_files):
                rows.setdefault(row.rowid, row)
            if meaning.line:  # the passages with it come first in their file
                ids = {document_id_of(rowid): rowid for rowid, row in rows.items() if row.owner_id in owner_ids}
                for id_, passage in plan.engine.passages(ids).items():
                    if passage.start_line <= meaning.line <= passage.end_line:
                        rows[ids[id_]] = lifted(plan, rows[ids[id_]], meaning.parts[-1], line=meaning.line)
            groups.append(owner_ids)
            break
    # A group that comes first takes its documents; what comes again further out keeps its first place.
    return found._replace(rows=list(rows.values())), groups


def _owners(plan: Plan, scope: Scope, named: NamedFile) -> frozenset[int]:
    """The documents whose path ends as a file was named, or as much of it as there is."""
    for parts in dict.fromkeys((named.parts[-2:], named.parts[-1:])):
        if named.is_module and len(parts) < min(2, len(named.parts)):
            break
        query = RowQuery(PhraseClause("/".join(parts), "path"), scope, excluded=plan.excluded)
        found = plan.engine.rows(query, _MOST_ROWS)
        parents = plan.engine.parents({row[1] for row in found})
        ends = {id_: end for id_, parent in parents.items() if (end := _common_end(parent.path, named))}
        if ends:
            longest = max(ends.values())
            return frozenset(id_ for id_, end in ends.items() if end == longest)
    return frozenset()


def _common_end(path: str, named: NamedFile) -> int:
    """How many parts of a path are those at the end of a named file; 0 where it is another file."""
    parts = path.replace("\\", "/").lower().split("/")
    if named.is_module:
        parts[-1] = _EXTENSION.sub("", parts[-1])
        if parts[-1] in _OF_FOLDER and named.parts[-1] != parts[-1]:
            del parts[-1]
    length = len([*takewhile(lambda pair: pair[0] == pair[1], zip(parts[::-1], named.parts[::-1], strict=False))])
    # All of what was typed, all of the path, or of a path from elsewhere the file with its folder.
    is_from_elsewhere = not named.is_module and length >= 2
    return length if length in (len(named.parts), len(parts)) or is_from_elsewhere else 0
