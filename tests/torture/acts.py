"""What a writing process does while it is killed, cut off or starved: one act after the other, each told beforehand.

An act says through `Errand.promising` which words it is about to add or to remove, calls the product as a user would
(most of them through the command line, in this very process), and says when the call has returned.
"""

import contextlib
import io
import json
import os
import random
from collections.abc import Callable, Generator
from typing import NamedTuple
from unittest.mock import patch

import apsw
import templates
from builders import word
from promises import NAMED, SECRET, Promise, Promises, Shape, State, promise_as_json

from ctxrank.cli import main
from ctxrank.indexer.fulltext.fts5_engine import index_of
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.store.connection import PAGE_BYTES, sqlite_errors
from ctxrank.indexer.store.store import Store

SESSION, GROUP = "S", "G"
Tell = Callable[[dict[str, object]], None]


class Failed(Exception):
    """A call that should have succeeded did not; the message holds what it said, `code` how it ended."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Unrecorded(Failed):
    """An assembly gave its block and could not record it within its 250 ms: what it says it does among others."""


class Called(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    stdout: str
    stderr: str


# What a purge has to take away, as far as anybody knows.
_THERE = (State.ADDING, State.KEPT, State.REMOVING)


class Errand:
    """One writer: its folder, its luck, the words that are its own, and somebody to tell."""

    def __init__(
        self, folder: str, templates_folder: str, rng: random.Random, first_word: int, tell: Tell, promises: Promises
    ) -> None:
        self.folder = folder
        self.templates = templates_folder
        self.rng = rng
        self.files = {
            one.file: text
            for text, one in promises.items()
            if one.shape is Shape.FILE and one.state is State.KEPT and one.file
        }
        # Of those who were killed before their purge, too.
        self.secrets = [text for text, one in promises.items() if one.file == SECRET and one.state in _THERE]
        self.named = [text for text, one in promises.items() if one.file == NAMED and one.state in _THERE]
        self.damages: tuple[Callable[[Errand, int], None], ...] = DAMAGES
        self._next = first_word
        self._tell = tell

    @property
    def db(self) -> str:
        """The store's truth."""
        return os.path.join(self.folder, ".ctxrank", "ctxrank.db")

    def new_word(self) -> str:
        """A word that nobody else has."""
        self._next += 1
        return word(self._next)

    def incoming(self, suffix: str) -> str:
        """A path for what is imported, beside the root."""
        folder = f"{self.folder}-incoming"
        os.makedirs(folder, exist_ok=True)
        return os.path.join(folder, self.new_word() + suffix)

    @contextlib.contextmanager
    def promising(
        self, adds: dict[str, Promise] | None = None, removes: tuple[str, ...] = (), forgets: tuple[str, ...] = ()
    ) -> Generator[None, None, None]:
        """Tell what is about to change; and, if the block ends well, that it has."""
        words = adds or {}
        begin = [[text, promise_as_json(one)] for text, one in words.items()]
        self._tell({"begin": begin, "removes": (*removes, *forgets), "purges": forgets})
        yield
        self._tell({"done": list(words), "removed": removes, "forgotten": forgets})

    @contextlib.contextmanager
    def damaging(self) -> Generator[None, None, None]:
        """Tell that the store is about to be damaged; and, if the block ends well, that it is repaired."""
        self._tell({"is_damaged": True})
        yield
        self._tell({"is_damaged": False})

    def call(self, *arguments: str) -> Called:
        """Run one command in this process. Raises Failed unless it succeeds."""
        called = call_command("--db", self.db, "--root", self.folder, *arguments)
        if called.code != 0:
            said = called.stderr or called.stdout
            raise Failed(f"{' '.join(arguments[:2])} exits with {called.code}: {said}", called.code)
        return called

    def purge(self, *arguments: str, forgets: tuple[str, ...]) -> None:
        """Forget something, in the copies that a repair left as well."""
        copies = os.path.join(os.path.dirname(self.db), "backups")
        with self.promising(forgets=forgets):
            self.call("purge", *arguments, *(["--backups"] if os.path.exists(copies) else []))

    def open(self) -> Store:
        """The store, for what has no command."""
        return open_store(self.db, root=self.folder)


def call_command(*arguments: str) -> Called:
    """Run one command in this process and keep what it prints."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.run(list(arguments))
        out.flush()
    raw = out.buffer
    assert isinstance(raw, io.BytesIO), "it was made so"
    return Called(code, raw.getvalue().decode("utf-8", "replace"), err.getvalue())


def new(shape: Shape, file: str = "") -> Promise:
    """A promise whose call is about to begin."""
    return Promise(shape, State.ADDING, file)


def save_through_the_api(errand: Errand) -> None:
    """A handful of entries of reasoning, one after the other, through one open store."""
    with errand.open() as store:
        for _ in range(errand.rng.randint(1, 6)):
            text = errand.new_word()
            with errand.promising({text: new(Shape.REASONING)}):
                content = f"The lock is taken first: {text}. " + "A sentence that takes up room. " * 20
                save_reasoning(store, NewReasoning(SESSION, GROUP, "developer", "decisions", content))


def save_reasoning_by_command(errand: Errand) -> None:
    text = errand.new_word()
    with errand.promising({text: new(Shape.REASONING)}):
        errand.call(
            "reasoning", "save", "--session", SESSION, "--group", GROUP, "--agent", "developer", "--phase", "risks",
            f"About {text} alone.",
        )  # fmt: skip


def save_package(errand: Errand) -> None:
    """A file of two passages, which comes with its package's summary."""
    text = errand.new_word()
    _save_package(errand, text, f"notes/{text}.md", SESSION)


def _save_package(errand: Errand, text: str, path: str, session: str) -> None:
    write(errand, path, _two_passages(text))
    with errand.promising({text: new(Shape.PACKAGE)}):
        errand.call(
            "package", "save", path, "--session", session, "--group", GROUP, "--type", "research",
            "--producer", "investigator", "--summary", f"What {text} is.",
        )  # fmt: skip


def index_files(errand: Errand) -> None:
    """New files, changed ones and a deleted one, in one run."""
    adds: dict[str, Promise] = {}
    removes: list[str] = []
    known = sorted(errand.files)
    changed = errand.rng.sample(known, min(2, len(known)))
    for path in [*changed[:1], *(f"docs/{errand.new_word()}.md" for _ in range(errand.rng.randint(1, 4)))]:
        if path in errand.files:
            removes.append(errand.files[path])
        errand.files[path] = errand.new_word()
        adds[errand.files[path]] = new(Shape.FILE, path)
    for path in changed[1:]:
        removes.append(errand.files.pop(path))
    with errand.promising(adds, tuple(removes)):
        for path in changed[1:]:
            os.unlink(os.path.join(errand.folder, path))
        for text, promise in adds.items():
            write(errand, promise.file, _two_passages(text))
        os.makedirs(os.path.join(errand.folder, "docs"), exist_ok=True)
        errand.call("index", os.path.join(errand.folder, "docs"))


def import_export(errand: Errand) -> None:
    """What another store exported: five records, each there once however often it comes."""
    words = {text: errand.new_word() for text in templates.WORDS}
    path = errand.incoming(".jsonl")
    templates.export_with(errand.templates, words, f"T-{errand.new_word()}", path)
    _import(errand, "jsonl", path, words)


def import_bazinga(errand: Errand) -> None:
    """A predecessor's database."""
    words = {text: errand.new_word() for text in templates.WORDS}
    path = errand.incoming(".db")
    templates.bazinga_with(errand.templates, words, f"bazinga_{errand.new_word()}", path)
    _import(errand, "bazinga", path, words)


def _import(errand: Errand, kind: str, path: str, words: dict[str, str]) -> None:
    adds = {words[old]: new(shape, f"{kind} {path}") for old, shape in templates.WORDS.items()}
    with errand.promising(adds):
        errand.call("import", kind, path)


def import_again(errand: Errand, source: str, words: dict[str, Promise]) -> None:
    """What a user does after an import was killed: the same call once more."""
    kind, _, path = source.partition(" ")
    with errand.promising(words):
        errand.call("import", kind, path)


def save_known_error(errand: Errand) -> None:
    text = errand.new_word()
    with errand.promising({text: new(Shape.ERROR)}):
        errand.call(
            "error", "save", "--type", "ImportError", "--message", f"No module named {errand.new_word()}",
            "--solution", f"Install {text}.",
        )  # fmt: skip


def save_strategy(errand: Errand) -> None:
    text = errand.new_word()
    with errand.promising({text: new(Shape.STRATEGY)}):
        errand.call("strategy", "save", "--topic", "methodology", f"Look at {text} first.")


def save_skill_output(errand: Errand) -> None:
    text = errand.new_word()
    with errand.promising({text: new(Shape.SKILL)}):
        errand.call("skill", "save-output", "lint-check", json.dumps({"found": text}), "--session", SESSION)


def run_a_failing_command(errand: Errand) -> None:
    """A command that fails, and succeeds once a file has changed: the failure makes way for a known error."""
    text, type_ = errand.new_word(), f"{errand.new_word().capitalize()}Error"
    says = f"{type_}: {errand.new_word()} met {errand.new_word()} near {errand.new_word()}"
    script = f"test -e {text}.bin || {{ echo '{says}' >&2; exit 3; }}"
    command = ("--db", errand.db, "--root", errand.folder, "error", "run", "--", "sh", "-c", script)
    with errand.promising({text: new(Shape.COMMAND)}):
        _expect(call_command(*command), 3)
    write(errand, f"{text}.bin", "\0")  # nothing that 'index' takes in
    with errand.promising({text: new(Shape.ERROR)._replace(former=Shape.COMMAND)}):
        _expect(call_command(*command), 0)


def _expect(called: Called, code: int) -> None:
    """The command's own exit code, and no note that nothing was learnt. Raises Failed."""
    if called.code != code:
        raise Failed(f"error run exits with {called.code} instead of {code}: {called.stderr}", called.code)
    if "not recorded" in called.stderr:
        raise Failed(called.stderr, 6)


def assemble(errand: Errand) -> None:
    """A block for an agent: deliveries and a receipt are recorded."""
    text = errand.new_word()
    with errand.promising({text: new(Shape.RECEIPT)}):
        called = errand.call(
            "assemble", "--session", SESSION, "--group", GROUP, "--agent", "developer", "--task",
            f"Look into {text}", "--iteration", str(errand.rng.randint(0, 9)), "--format", "json",
        )  # fmt: skip
        # An assembly never fails: it says on stderr, and with no receipt, that it could not be recorded.
        if json.loads(called.stdout).get("receipt") is None:
            if "is locked by another process" in called.stderr:
                raise Unrecorded(called.stderr, 7)
            raise Failed(called.stderr or "there is no receipt, and no note that says why", 6)


def prune_a_session(errand: Errand) -> None:
    """Reasoning of a session of its own, and its removal."""
    texts = [errand.new_word() for _ in range(3)]
    session = f"P-{texts[0]}"
    for text in texts:
        with errand.promising({text: new(Shape.REASONING)}):
            errand.call(
                "reasoning", "save", "--session", session, "--create-session", "--agent", "developer", "--phase",
                "pivot", f"Not for long: {text}.",
            )  # fmt: skip
    with errand.promising(removes=tuple(texts)):
        errand.call("prune", "--older-than", "0s", "--kind", "reasoning", "--session", session)


def purge_a_secret(errand: Errand) -> None:
    """A secret that was stored while redaction was off, and its purge by today's rules."""
    text = errand.new_word()
    secret = "ghp" + "_" + (text + "A1B2" * 9)[:36]
    _store_unclean(errand, text, SECRET, secret)
    errand.secrets.append(text)
    errand.purge("--redact", forgets=tuple(errand.secrets))
    errand.secrets.clear()


def purge_a_named_secret(errand: Errand) -> None:
    """A secret that no rule knows, given by name."""
    text = errand.new_word()
    _store_unclean(errand, text, NAMED, f"{text}-kept-too-long")
    errand.named.append(text)
    path = errand.incoming(".txt")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{one}-kept-too-long\n" for one in errand.named)
    # Every text goes through the redaction, which sees by its rules what was stored without them.
    errand.purge("--secret", path, forgets=(*errand.named, *errand.secrets))
    errand.named.clear()
    errand.secrets.clear()


def _store_unclean(errand: Errand, text: str, file: str, secret: str) -> None:
    with errand.open() as store, errand.promising({text: new(Shape.REASONING, file)}):
        entry = NewReasoning(SESSION, GROUP, "developer", "blockers", f"The token is {secret} for now.")
        with patch.dict(os.environ, CTXRANK_REDACTION_MODE="off"):
            save_reasoning(store, entry)


def forget_a_document(errand: Errand) -> None:
    """An entry of reasoning that is to be forgotten, to the last byte."""
    text = errand.new_word()
    with errand.promising({text: new(Shape.REASONING)}):
        called = errand.call(
            "--json", "reasoning", "save", "--session", SESSION, "--agent", "developer", "--phase", "risks",
            f"Forget {text} again.",
        )  # fmt: skip
    errand.purge(f"reasoning:{json.loads(called.stdout)['id']}", forgets=(text,))


def forget_a_session(errand: Errand) -> None:
    """A session of its own, with one of several kinds in it."""
    entry, output, package = (errand.new_word() for _ in range(3))
    session = f"F-{entry}"
    with errand.promising({entry: new(Shape.REASONING)}):
        errand.call(
            "reasoning", "save", "--session", session, "--create-session", "--group", f"G-{output}", "--agent",
            "developer", "--phase", "pivot", f"Not for long: {entry}.",
        )  # fmt: skip
    with errand.promising({output: new(Shape.SKILL)}):
        errand.call("skill", "save-output", "lint-check", json.dumps({"found": output}), "--session", session)
    _save_package(errand, package, f"forgotten/{package}.md", session)
    errand.purge("--session", session, forgets=(entry, output, package))


def forget_a_path(errand: Errand) -> None:
    """A file that a package was made of, or a folder that was indexed."""
    text = errand.new_word()
    if errand.rng.random() < 1 / 2:
        _save_package(errand, text, f"forgotten/{text}.md", SESSION)
        errand.purge("--path", f"forgotten/{text}.md", forgets=(text,))
        return
    write(errand, f"forgotten in {text}/{text}.md", _two_passages(text))
    with errand.promising({text: new(Shape.FILE)}):
        errand.call("index", os.path.join(errand.folder, f"forgotten in {text}"))
    errand.purge("--path", f"forgotten in {text}", forgets=(text,))


def repair_the_store(errand: Errand) -> None:
    """A record's document that is gone, or a wiped page (of the primary database or the index), and the repair."""
    text = errand.new_word()
    with errand.open() as store, errand.promising({text: new(Shape.REASONING)}):
        number = save_reasoning(store, NewReasoning(SESSION, GROUP, "developer", "risks", f"About {text} alone.")).id
    with errand.damaging():
        how = errand.rng.choice((_lose_a_document, *errand.damages))
        how(errand, number)
        errand.call("doctor", "--deep", "--repair", "apply")


def _lose_a_document(errand: Errand, number: int) -> None:
    with errand.open() as store, store.write() as change:
        change.connection.execute("DELETE FROM documents WHERE kind = 'reasoning' AND record_id = ?", (number,))


def _wipe_an_sql_index(errand: Errand, number: int) -> None:
    """An index of SQL's holds no row that its table does not hold."""
    root_of_index = "SELECT rootpage FROM sqlite_schema WHERE name = 'documents_session'"
    with errand.open() as store, sqlite_errors(store.location.primary):
        page = int(store.primary.execute(root_of_index).get)
    _wipe(errand.db, page - 1)


def _wipe_a_page_of_the_index(errand: Errand, number: int) -> None:
    path = os.path.join(os.path.dirname(errand.db), "index.db")
    if os.path.exists(path) and os.path.getsize(path):
        _wipe(path, errand.rng.randrange(os.path.getsize(path) // PAGE_BYTES))


def _wipe(path: str, page: int) -> None:
    """Damage behind SQLite's back, once its log is merged."""
    connection = apsw.Connection(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    with open(path, "r+b") as file:
        file.seek(page * PAGE_BYTES)
        file.write(bytes(PAGE_BYTES))


# What is done to files, and not through SQLite.
DAMAGES = (_wipe_an_sql_index, _wipe_a_page_of_the_index)


def rebuild(errand: Errand) -> None:
    errand.call("rebuild")


def optimize(errand: Errand) -> None:
    """Merge the index's segments, as a long catch-up does."""
    with errand.open() as store, sqlite_errors(store.location.index_file):
        store.catch_up()
        if index_of(store).is_usable:
            index_of(store).connection.set_busy_timeout(store.busy_ms)
            index_of(store).connection.execute("INSERT INTO main.fts (fts) VALUES ('optimize')")


def write(errand: Errand, path: str, text: str) -> None:
    """Put a file below the root."""
    target = os.path.join(errand.folder, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)


def _two_passages(text: str) -> str:
    room = "A sentence that takes up room, so that a passage is one of its own. " * 30
    return f"# About\n\nThe {text} is a finding. {room}\n\n# More\n\nAnother {text} is not. {room}\n"


# What no writer does while there are others: they would see each other's files, purge each other's secrets, and keep
# a log from being cut.
ALONE = (
    "index_files", "purge_a_secret", "purge_a_named_secret", "forget_a_document", "forget_a_session", "forget_a_path",
    "repair_the_store", "run_a_failing_command",
)  # fmt: skip
ACTS: dict[str, Callable[[Errand], None]] = {
    act.__name__: act
    for act in (
        save_through_the_api, save_reasoning_by_command, save_package, index_files, import_export, import_bazinga,
        save_known_error, save_strategy, save_skill_output, run_a_failing_command, assemble, prune_a_session,
        purge_a_secret, purge_a_named_secret, forget_a_document, forget_a_session, forget_a_path, repair_the_store,
        rebuild, optimize,
    )
}  # fmt: skip
