"""A test collection in BEIR's form: documents, queries, and which documents answer which query.

    corpus.jsonl     {"_id": "d1", "title": "Locks", "text": "…", "group": "A"}
    queries.jsonl    {"_id": "q1", "text": "why is it locked", "group": "A"}
    qrels.tsv        q1 ⇥ d1 ⇥ 1            (or qrels/test.tsv; a first line of column names is passed over)

Title and group may be missing. Documents and queries of one group make a collection of their own. A line becomes
what the product would make of it:

    a text with a title             a file of Markdown whose heading that is: title and path, and its passages
    a text without one              a plain file
    a title that is a path          the file of that path; its kind decides how it is cut
    ids such as D1:3 and D1:4       passages of D1: what is asked for are the parts, and not the whole
"""

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.exceptions import UsageError, refused_by_system
from ctxrank.indexer.exchange.lines import parse_line
from ctxrank.indexer.files.artifacts import prepare, refresh_owners
from ctxrank.indexer.files.read import FileText
from ctxrank.indexer.files.stamps import FileStamp
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.engine import RULESET_VERSION, RedactionMode, redact
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.ids import public_id
from ctxrank.indexer.store.store import Change, Store

MADE_AT = DAY_US  # all documents are of one age: a collection says nothing of time
_CHUNK_DOCUMENTS = 500  # written in one transaction
_PART = re.compile(r"(.+):\d+")
_PATH = re.compile(r"[^\s]*(?:[^\s/]/[^\s/]|[^\s./]\.[A-Za-z]\w{0,9}$)[^\s]*")


class SourceDocument(NamedTuple):
    """One line of the corpus."""

    id: str
    title: str
    text: str


class JudgedQuery(NamedTuple):
    """A query, and the grade of each document that answers it (above 0)."""

    id: str
    text: str
    grades: Mapping[str, float]


class Collection(NamedTuple):
    """What is indexed together, and what is asked of it."""

    group: str
    documents: tuple[SourceDocument, ...]
    queries: tuple[JudgedQuery, ...]


def read_collections(folder: str) -> list[Collection]:
    """The collections of a folder, one for each group. Raises UsageError, which names file and line."""
    grades = _grades(folder)
    corpus: dict[str, dict[str, SourceDocument]] = {}
    for place, line in _lines(folder, "corpus.jsonl"):
        document = SourceDocument(
            _text(line, "_id", place), _text(line, "title", place, ""), _text(line, "text", place)
        )
        group = corpus.setdefault(_text(line, "group", place, ""), {})
        if document.id in group:
            raise UsageError(f"{place}: the document '{document.id}' is there twice.", "Give each an _id of its own.")
        group[document.id] = document
    queries: dict[str, list[JudgedQuery]] = {}
    for place, line in _lines(folder, "queries.jsonl"):
        id_ = _text(line, "_id", place)
        if judged := grades.get(id_):
            query = JudgedQuery(id_, _text(line, "text", place), judged)
            queries.setdefault(_text(line, "group", place, ""), []).append(query)
    if not queries:
        raise UsageError(
            f"No query of {folder} has a relevant document.", "The first column of qrels.tsv names the _id of a query."
        )
    return [Collection(group, tuple(corpus.get(group, {}).values()), tuple(asked)) for group, asked in queries.items()]


def _lines(folder: str, name: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    path = os.path.join(folder, name)
    for number, text in _numbered(path):
        try:
            yield f"{path}:{number}", parse_line(text.encode())
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {error}.", "Give one JSON object a line.") from error


def _numbered(path: str) -> Iterator[tuple[int, str]]:
    step = "A collection is a folder with corpus.jsonl, queries.jsonl and qrels.tsv."
    reading = refused_by_system(f"{path} cannot be read", step, UsageError)
    with reading, open(path, encoding="utf-8", errors="replace") as file:
        for number, text in enumerate(file, start=1):
            if text.strip():
                yield number, text


def _text(line: Mapping[str, object], key: str, place: str, default: str | None = None) -> str:
    value = line.get(key)
    if value is None and default is not None:
        return default
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise UsageError(f"{place}: '{key}' is {'missing' if value is None else 'not a text'}.", "Give it as a string.")
    return value


def _grades(folder: str) -> dict[str, dict[str, float]]:
    """Grades above 0, by query and document."""
    split = os.path.join(folder, "qrels", "test.tsv")
    path = split if os.path.exists(split) else os.path.join(folder, "qrels.tsv")
    grades: dict[str, dict[str, float]] = {}
    for number, text in _numbered(path):
        cells = text.rstrip("\r\n").split("\t")
        try:
            query, document, grade = cells[0], cells[1], float(cells[2])
            if not math.isfinite(grade):
                raise ValueError("no number")
        except (IndexError, ValueError) as error:
            if number == 1:
                continue  # names of the columns
            raise UsageError(
                f"{path}:{number} is not a judgement.", "A line is query, document and grade, with tabs between."
            ) from error
        if grade > 0:
            grades.setdefault(query, {})[document] = grade
    return grades


class Loaded(NamedTuple):
    """A collection in a store: ids of the corpus by public ids of the store."""

    ids: Mapping[str, str]
    is_of_passages: bool  # the corpus' lines are passages, and these are what is asked for


def load_collection(
    store: Store, sources: Sequence[SourceDocument], mode: RedactionMode = RedactionMode.PATTERN_ONLY
) -> Loaded:
    """Put a corpus into an empty store and let the index follow."""
    ids: dict[str, str] = {}
    wholes = [match[1] if (match := _PART.fullmatch(source.id)) else "" for source in sources]
    is_of_passages = any(wholes) and len(set(wholes)) < len(wholes)
    owners: dict[str, int] = {}
    for start in range(0, len(sources), _CHUNK_DOCUMENTS):
        with store.write() as change:
            for number, source in enumerate(sources[start : start + _CHUNK_DOCUMENTS], start + 1):
                if not is_of_passages:
                    ids[public_id("artifact", number)] = source.id
                    _put_file(change, number, source, mode)
                    continue
                name = wholes[number - 1] or source.id
                if name not in owners:
                    whole = documents.Document("artifact", number, "", "", MADE_AT, RULESET_VERSION)
                    owners[name] = documents.put(change, whole)
                title, text = redact(source.title, mode).text, redact(source.text, mode).text
                part = documents.Document("passage", None, title, text, MADE_AT, RULESET_VERSION, owner_id=owners[name])
                ids[public_id("passage", documents.put(change, part._replace(passage_key=source.id)))] = source.id
    store.catch_up()
    return Loaded(ids, is_of_passages)


def _put_file(change: Change, number: int, source: SourceDocument, mode: RedactionMode) -> None:
    """The rows that `index` makes of a file with this text."""
    path, text = source.title, source.text
    if not _PATH.fullmatch(path):
        path = "text.md" if source.title else "text.txt"  # a number could be a word of a query
        text = f"# {source.title}\n\n{text}\n" if source.title else f"{text}\n"
    stamp = FileStamp(0, MADE_AT * 1000, 0)
    refresh_owners(change, number, prepare(path, FileText(text, "", stamp, ""), mode))
