"""What every kind of input is fed to, and what must be true whatever its bytes are.

    TARGETS["query"](b'"connection reset" -flaky')        returns, or raises what a user would have met as a traceback

Each target takes bytes. A CtxrankError is an answer; anything else that is raised is a defect. The suite runs each on
the seeds in `corpus/` and on hypothesis's bytes (tests/fuzz/test_fuzz_targets.py); `make fuzz` lets atheris look for
more.
"""

import atexit
import contextlib
import functools
import io
import json
import os
import shutil
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Generator

from ctxrank.cli.agents.hook import answer_of
from ctxrank.cli.agents.injected_text import MAX_CHARACTERS
from ctxrank.cli.call import Call
from ctxrank.cli.main import run
from ctxrank.extensions.bazinga.database.source import read_predecessor
from ctxrank.extensions.links.artifact import level_texts
from ctxrank.extensions.links.globs import matches, overlap
from ctxrank.extensions.links.reading import parse_artifact
from ctxrank.extensions.team.log import LogLine
from ctxrank.extensions.team.sealing import Register, seal
from ctxrank.extensions.team.sync import bring
from ctxrank.indexer.beneath import is_inside
from ctxrank.indexer.bounds import FEW_RECORDS
from ctxrank.indexer.errors.failure_text import read_failure_text
from ctxrank.indexer.errors.parse.capture import capture_file
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign, terms_of
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.exchange.exchange import Exchange, carry_out, import_jsonl
from ctxrank.indexer.exchange.export import FORMAT, VERSION
from ctxrank.indexer.exchange.lines import parse_line
from ctxrank.indexer.exchange.orders import FORGET, REMOVED, waiting_orders
from ctxrank.indexer.files.paths import contained_path, portable_path
from ctxrank.indexer.files.read import FileText, read_text_file
from ctxrank.indexer.light_typing import is_dict, is_list
from ctxrank.indexer.opening import create_store, open_store
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.incoming_texts import IncomingTexts
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import require_value
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.frontmatter import MAX_DEPTH, read_frontmatter
from ctxrank.indexer.text.identifiers import split_identifiers
from ctxrank.indexer.text.invisible import without_invisible
from ctxrank.indexer.text.lines import is_one_line, one_line, printable, shown_json, visible_json
from ctxrank.indexer.text.passages import split_passages
from ctxrank.ranking.context.assembly.assemble import assemble
from ctxrank.ranking.context.assembly.shapes import AssembleRequest
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.query import parse_query
from ctxrank.ranking.retrieval.search import search

Target = Callable[[bytes], None]
_MAX_BYTES = 100_000
_PATHS = ("a.md", "b.py", "c.ts", "d.log", "e")
MEMBER = "0a0a0a0a-0000-4000-8000-000000000000"  # another store
_SECRET = "Kq7vXw2mPz9t"
# What a command could run or write elsewhere is not given to it here.
_KEPT_FROM_COMMANDS = ("run", "/", "~", "..", "\\")


def query(data: bytes) -> None:
    """No text is a syntax error, and what a query is read as reads the same again."""
    text = _text(data)
    parsed = parse_query(text)
    assert parse_query(str(parsed)) == parsed
    with contextlib.suppress(CtxrankError):  # a date that is none, say
        search(_store(), SearchRequest(text))


def frontmatter(data: bytes) -> None:
    """A file of .contextia/ is read without trust, and its texts have no line that looks like a section's header."""
    text = _text(data)
    _assert_bounded(read_frontmatter(text).values, MAX_DEPTH + 1)
    for level in level_texts(parse_artifact(".contextia/system/specs/a.md", text)):
        assert _hidden(level) == set()


def artifact(data: bytes) -> None:
    """A file's bytes become passages that hold its text, whatever it calls itself; the first byte chooses its name."""
    path = os.path.join(_folder(), _PATHS[data[0] % len(_PATHS)] if data else _PATHS[0])
    with open(path, "wb") as file:
        file.write(data[1:])
    read = read_text_file(*os.path.split(path))
    if not isinstance(read, FileText):
        return
    clean = redact(read.text, RedactionMode.BOTH).text
    passages = split_passages(clean, path)
    assert len({passage.key for passage in passages}) == len(passages)
    assert all(1 <= passage.start_line <= passage.end_line for passage in passages)
    split_identifiers(clean)


def failure(data: bytes) -> None:
    """What a command printed is read, cut and signed; a signature says the same each time."""
    path = os.path.join(_folder(), "output.log")
    with open(path, "wb") as file:
        file.write(data)
    read = read_failure_text(capture_file(path).data(), RedactionMode.BOTH)
    for unit in error_units(read.text):
        assert sign(unit) == sign(unit)
        terms_of(sign(unit))


def config(data: bytes) -> None:
    """A project's configuration is settings or a sentence; it turns no redaction off."""
    store = _store()
    path = os.path.join(store.location.folder, "config.yaml")
    with open(path, "wb") as file:
        file.write(data)
    try:
        with contextlib.suppress(CtxrankError):
            assert not load_config(store).redaction_mode.is_off
    finally:
        os.unlink(path)


def json_lines(data: bytes) -> None:
    """An export from anywhere comes in line by line or not at all."""
    with _new_store() as store, contextlib.suppress(CtxrankError):
        import_jsonl(store, io.BytesIO(data))
        search(store, SearchRequest("token"))


def orders(data: bytes) -> None:
    """Orders to forget remove nothing where they came in a file, and no more than the bound where a log has them."""
    with _new_store(_herons()) as store:
        own = require_value(store.primary, "SELECT uuid FROM store", (), str)
        data = data[:_MAX_BYTES].replace(b"OWN", own.encode())
        header = {"format": FORMAT, "version": VERSION, "store": MEMBER}
        before = _bodies(store)
        with contextlib.suppress(CtxrankError):
            import_jsonl(store, io.BytesIO(json.dumps(header).encode() + b"\n" + data))
        assert before <= _bodies(store)
        _bring(store, [_log_line(number, line) for number, line in enumerate(data.splitlines(), start=1)])
        assert len(before - _bodies(store)) <= FEW_RECORDS
        carry_out(store, waiting_orders(store.primary))
        assert not waiting_orders(store.primary)
        assert "heron" not in repr(list(store.primary.execute("SELECT * FROM removals")))
        search(store, SearchRequest("heron"))


def pushed(data: bytes) -> None:
    """Whatever a member pushed into a log comes in or is left out, under its own name: the columns, then the line."""
    columns, _, line = data[:_MAX_BYTES].partition(b"\n")
    try:
        values = dict(parse_line(columns))
        register = Register(str(values.get("kind")), str(values.get("key")), MEMBER)
        sealed = seal("shop", register, line)
    except (ValueError, UnicodeEncodeError):
        return
    size = values.get("size")
    opens = LogLine(1, register, sealed.line, sealed.secret, size if isinstance(size, int) else sealed.size)
    with _new_store() as store:
        own = set(store.primary.execute("SELECT uuid FROM store"))
        _bring(store, [opens, opens._replace(n=2, line=line), opens._replace(n=3, secret=line[:32]), opens])
        assert own == set(store.primary.execute("SELECT uuid FROM store"))
        assert not list(store.primary.execute("SELECT 1 FROM documents WHERE record_id > 0 AND kind <> 'passage'"))
        search(store, SearchRequest("token"))


def json_value(data: bytes) -> None:
    """A JSON value of a record stays JSON while secrets are taken out of it."""
    clean = IncomingTexts(RedactionMode.BOTH).json(_text(data), empty="{}")
    clean.encode()
    json.loads(clean)


def database(data: bytes) -> None:
    """A predecessor's database is read whole or refused, and nothing in it runs."""
    path = os.path.join(_folder(), "bazinga.db")
    for suffix in ("", "-wal", "-journal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)
    with open(path, "wb") as file:
        file.write(data)
    with contextlib.suppress(CtxrankError):
        read_predecessor(path, busy_ms=0)


def path(data: bytes) -> None:
    """A path that is accepted lies inside the root and stands on one line; patterns and paths meet in bounded time."""
    text, _, other = _text(data).partition("\n")
    with contextlib.suppress(CtxrankError):
        inside = contained_path(_folder(), text)
        real = os.path.realpath(os.path.join(_folder(), inside))
        assert is_inside(os.path.realpath(_folder()), real) and is_one_line(inside)
    with contextlib.suppress(CtxrankError):
        assert is_one_line(portable_path(text))
    matches(text, other)
    overlap(text, other)


def shown(data: bytes) -> None:
    """What is printed for a person, or as JSON, holds nothing that a terminal obeys."""
    text = _text(data)
    assert _hidden(one_line(text)) == set() and "\n" not in one_line(text)
    assert _hidden(printable(text)) == set()
    assert _hidden(shown_json(json.dumps(text, ensure_ascii=False))) == set()
    escaped = visible_json(json.dumps(text, ensure_ascii=False))
    assert _hidden(escaped) == set() and json.loads(escaped) == json.loads(json.dumps(text, ensure_ascii=False))


def block(data: bytes) -> None:
    """Nothing that a package says stands outside its fence or its line."""
    text = data.decode("utf-8", "replace")
    with _new_store() as store:
        with open(os.path.join(store.location.root, "a.md"), "w", encoding="utf-8", errors="replace") as file:
            file.write(f"walrus {text}")
        new = NewPackage("S", None, "research", "a.md", "investigator", f"walrus {text}")
        save_package(store, new, create_session=True)
        made = assemble(store, AssembleRequest("S", "developer", task=f"walrus {text}", is_marking=False))
    assert _hidden(made.text) == set()
    headings = [line for line in _outside_fences(made.text) if line.startswith("#")]
    assert headings[:1] == ["## Context for developer"] and len(headings) == 2


def hook(data: bytes) -> None:
    """Any event of a runner is answered with JSON of hidden nothing, or with silence."""
    home = _store().location
    event = data.replace(b"FOLDER", os.fsencode(home.root))
    said = answer_of(event, None, Call(db=home.primary))
    assert not said or ("hookSpecificOutput" in json.loads(said) and _hidden(json.dumps(said)) == set())
    assert len(said) <= MAX_CHARACTERS


def arguments(data: bytes) -> None:
    """Any words, separated by zeros, end with a documented code and a sentence."""
    words = [os.fsdecode(word) for word in data.split(b"\0")][:20]
    if any(kept in word for word in words for kept in _KEPT_FROM_COMMANDS):
        return
    store = _store()
    out, err = io.StringIO(), io.StringIO()
    before = os.getcwd()
    os.chdir(store.location.root)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _no_stdin():
            code = run(words)
    finally:
        os.chdir(before)
    assert code in range(8)
    assert "Internal error" not in out.getvalue() + err.getvalue()
    assert _hidden(out.getvalue() + err.getvalue()) == set()


TARGETS: dict[str, Target] = {
    target.__name__: target
    for target in (
        query, frontmatter, artifact, failure, config, json_lines, json_value, database, path, shown, block, arguments,
        hook, orders, pushed,
    )
}  # fmt: skip


def _log_line(number: int, data: bytes) -> LogLine:
    """A line as a member seals it, in the place in the log that it speaks of."""
    record, kind, key = "", "", str(number)
    with contextlib.suppress(ValueError):
        values = parse_line(data)
        record, kind = str(values.get("record"))[:40], str(values.get("kind"))[:40]
        record = f"{record} {kind}" if record == FORGET or "of" in values else kind if record == REMOVED else record
    register = Register(record.encode("utf-8", "replace").decode(), key, MEMBER)
    sealed = seal("shop", register, data)
    return LogLine(number, register, sealed.line, sealed.secret, sealed.size)


def _bring(store: Store, lines: list[LogLine]) -> None:
    """Take lines of a log in, as an exchange with it does."""
    exchange = Exchange(store, MEMBER, door="log")
    bring(exchange, "shop", lines, lambda _: None)
    exchange.finish()


def _bodies(store: Store) -> set[tuple[object, ...]]:
    return set(store.primary.execute("SELECT kind, record_id, body FROM documents WHERE kind = 'package'"))


def _text(data: bytes) -> str:
    return data[:_MAX_BYTES].decode("utf-8", "surrogateescape")


def _hidden(text: str) -> set[str]:
    """What nobody sees: joiners and a flag's tags only where they are not needed."""
    needed = set("\u200c\u200d") | set(map(chr, range(0xE0020, 0xE0080)))
    hidden = {char for char in set(text) - {"\n", "\t"} if unicodedata.category(char)[0] == "C"}
    return hidden - needed if without_invisible(text) == text else hidden


def _assert_bounded(value: object, depth: int) -> None:
    assert depth > 0
    inner = list(value.values()) if is_dict(value) else value if is_list(value) else []
    for one in inner:
        _assert_bounded(one, depth - 1)


def _outside_fences(text: str) -> list[str]:
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if fence:
            fence = "" if line == fence else fence
        elif len(ticks) >= 3:
            fence = ticks
        else:
            lines.append(line)
    assert not fence, "every fence is closed"
    return lines


@functools.cache
def _folder() -> str:
    folder = tempfile.mkdtemp(prefix="ctxrank-fuzz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def _store() -> Store:
    """One store for what only reads; with its own home, so that no user's configuration counts."""
    os.environ["XDG_CONFIG_HOME"] = _folder()
    home = os.path.join(_folder(), "store")
    os.makedirs(home)
    with open(os.path.join(home, "a.md"), "w", encoding="utf-8") as file:
        file.write("# Tokens\n\nThe token refresh races with the database lock.\n")
    store = create_store(home)
    new = NewPackage("S", "AUTH", "research", "a.md", "investigator", "The token refresh races.")
    save_package(store, new, create_session=True)
    store.catch_up()
    return store


@functools.cache
def _herons() -> str:
    """The folder of a store with a few packages more than an order may touch."""
    folder = os.path.join(_folder(), "herons")
    os.makedirs(folder)
    with create_store(folder) as store:
        for number in range(FEW_RECORDS + 2):
            with open(os.path.join(folder, f"{number}.md"), "w", encoding="utf-8") as file:
                file.write(f"heron {number} of {_SECRET}")
            new = NewPackage("S", "AUTH", "research", f"{number}.md", "investigator", f"heron {number}")
            save_package(store, new, create_session=True)
        store.catch_up()
    return folder


@contextlib.contextmanager
def _new_store(copied: str = "") -> Generator[Store, None, None]:
    """A store for what writes: empty, or as that of another folder is."""
    folder = os.path.join(_folder(), "new")
    if copied:
        shutil.copytree(copied, folder)
    else:
        os.makedirs(folder)
    try:
        with open_store(os.path.join(folder, ".ctxrank")) if copied else create_store(folder) as store:
            yield store
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def _no_stdin() -> Generator[None, None, None]:
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(b""))
    try:
        yield
    finally:
        sys.stdin = before
