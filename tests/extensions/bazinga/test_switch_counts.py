"""A project switched over, worked in, switched back and over again, in any order: everything is there, and once."""

import contextlib
import io
import json
import random
import runpy
import secrets
import shutil
import string
import sys
import tempfile
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from bazinga_project import bazinga
from builders import found
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from predecessor import PredecessorDb
from switched_tree import LIVE_SCRIPT, Tree

from ctxrank.indexer.opening import open_project_store
from ctxrank.indexer.records.reasoning import list_reasoning
from ctxrank.indexer.records.sessions import find_group, find_session
from ctxrank.indexer.store.store import Store

OLD, NEW = "bazinga_20261101_090000", "bazinga_20261102_090000"
BIRDS = ("heron", "ibis", "kestrel")


class Switched:
    """A project of the predecessor with its database, whose script is run in this process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tree = Tree(folder, LIVE_SCRIPT)
        PredecessorDb(folder / "bazinga" / "bazinga.db")
        self.call("create-session", OLD, "simple", "Sign in")
        self.call("create-task-group", "AUTH", OLD, "Tokens")

    def switch(self, command: str) -> None:
        """Install or uninstall."""
        answer = bazinga(command, "--project-root", str(self.folder))
        assert answer.code == 0, answer

    def call(self, *words: str, is_gone: bool = False, late: int = 0) -> tuple[int, str, str]:
        """(exit code, what it prints, what it says) of the script; `is_gone` where nothing runs ctxrank."""
        for name in ("ctxrank_switch", "bazinga_db_state"):
            sys.modules.pop(name, None)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(sys, "argv", [str(self.tree.script), "--quiet", *words])
            patched.setenv("LOG_IS_LATE", str(late))
            patched.setattr(sys, "dont_write_bytecode", True)
            placed = self.folder / ".claude" / "ctxrank"
            if is_gone and placed.exists():
                patched.setattr(sys, "path", [str(placed), *sys.path])
                import ctxrank_switch  # type: ignore[import-not-found]

                patched.setattr(ctxrank_switch, "has_ctxrank", lambda: False)
                patched.setattr(ctxrank_switch, "command_of_ctxrank", list[str])
            code: Any = 0
            with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
                try:
                    runpy.run_path(str(self.tree.script), run_name="__main__")
                except SystemExit as end:
                    code = end.code
        return code or 0, out.getvalue(), said.getvalue()

    def think(self, text: str, session: str = OLD, **how: Any) -> tuple[int, str, str]:
        """Save reasoning of this text."""
        return self.call("save-reasoning", session, "AUTH", "developer", "completion", text, **how)

    @contextlib.contextmanager
    def store(self) -> Generator[Store, None, None]:
        """Its store."""
        with open_project_store(str(self.folder)) as opened:
            yield opened

    def thoughts(self, session: str = OLD) -> list[str]:
        """The contents of a session's reasoning, the oldest first."""
        with self.store() as store:
            return [entry.content for entry in reversed(list_reasoning(store.primary, session))]

    def told(self) -> list[str]:
        """What the next agent is told: in its block, and in the handoff."""
        block = ("context-block", "--agent-type", "tech_lead", "--session-id", OLD, "--group-id", "AUTH")
        handoff = ("get-reasoning", OLD, "--format", "prompt-summary")
        options = ("--project-root", str(self.folder), "--quiet")
        return [bazinga(*options, *words).out for words in (block, handoff)]


@pytest.fixture
def project(tmp_path: Path) -> Switched:
    return Switched(tmp_path / "app")


@pytest.mark.slow
@pytest.mark.parametrize("late", [0, 1, 140])
@pytest.mark.parametrize("is_back", [False, True])
def test_what_was_thought_meanwhile_is_there_once(project: Switched, *, late: int, is_back: bool) -> None:
    """In search, blocks, the next agent's handoff and strategies as well, however late its log took it."""
    project.switch("install")
    for bird in BIRDS * 2:
        project.think(f"The {bird} waits.", late=late)
    before = project.thoughts()
    assert Counter(before) == Counter({f"The {bird} waits.": 2 for bird in BIRDS})
    told = project.told()
    if is_back:
        project.switch("uninstall")
    project.switch("install")
    assert project.thoughts() == before and project.told() == told
    with project.store() as store:
        assert [hit.kind for hit in found(store, "kestrel").hits] == ["reasoning"] * 2
    words = ("extract-strategies", OLD, "AUTH", "shop")
    assert bazinga("--project-root", str(project.folder), "--quiet", *words).json()["extracted_count"] == 1


def test_what_its_rules_redact_otherwise_is_there_once(project: Switched) -> None:
    project.switch("install")
    secret = "7" + "".join(random.choices(string.ascii_letters, k=12)) + "3"
    for text in (f"The heron's Password:  {secret} fits.", "The ibis has none."):
        project.think(text)
    before = project.thoughts()
    project.switch("install")
    assert project.thoughts() == before and secret not in str(before)


def test_what_was_redacted_there_is_taken_for_no_other_thought_of_that_moment(project: Switched) -> None:
    """One that both have, and then one with a secret that BAZINGA alone has."""
    project.switch("install")
    project.think("The heron waits.", late=1)
    project.switch("uninstall")
    project.think(f"The ibis's password: {secrets.token_hex(8)} fits.")
    project.switch("install")
    heron, ibis = sorted(project.thoughts())
    assert heron == "The heron waits." and ibis.startswith("The ibis's password=")


def test_reasoning_goes_to_its_log_where_ctxrank_is_gone(project: Switched) -> None:
    """And from there into the store, as soon as that is there again."""
    project.switch("install")
    code, answer, said = project.think("The heron waits.", is_gone=True)
    assert (code, json.loads(answer)["kept"]) == (0, "there") and "BAZINGA's own log does" in said
    assert project.thoughts() == []
    project.switch("install")
    assert project.thoughts() == ["The heron waits."]


def test_reasoning_of_a_session_that_is_only_there_goes_to_its_log(project: Switched) -> None:
    project.switch("install")
    project.call("create-session", NEW, "simple", "Sign out", is_gone=True)
    code, answer, said = project.think("The ibis waits.", NEW)
    assert (code, json.loads(answer)["kept"]) == (0, "there") and "There is no session" in said
    project.switch("install")
    assert project.thoughts(NEW) == ["The ibis waits."]


def test_what_ctxrank_refuses_goes_nowhere(project: Switched) -> None:
    project.switch("install")
    refused = project.call("save-reasoning", OLD, "AUTH", "developer", "guessing", "The ibis waits.")
    assert refused[0] == 1 and "Invalid reasoning_phase" in refused[2]
    project.switch("uninstall")
    project.switch("install")
    assert project.thoughts() == []


@pytest.mark.parametrize("session", [OLD, NEW])
@pytest.mark.parametrize("is_gone", [False, True])
def test_a_session_that_it_completes_has_ended_here(project: Switched, session: str, *, is_gone: bool) -> None:
    """One that was brought in, and one that was made in both; at once, or with the next install."""
    project.switch("install")
    project.call("create-session", NEW, "simple", "Sign out")
    project.call("create-task-group", "AUTH", NEW, "Tokens")
    project.call("update-task-group", "AUTH", session, "--status", "in_progress")
    project.call("update-session-status", session, "completed", is_gone=is_gone)
    project.call("update-task-group", "AUTH", session, "--status", "completed", is_gone=is_gone)
    with project.store() as store:
        before = find_session(store.primary, session)
        assert (before.status, before.ended_at is None) == (("active", True) if is_gone else ("completed", False))
    project.switch("install")
    with project.store() as store:
        after = find_session(store.primary, session)
        assert after.status == "completed" and after.ended_at is not None
        assert is_gone or after.ended_at == before.ended_at
        group = find_group(store.primary, after.id, "AUTH")
        assert group is not None and (group.status, group.title) == ("completed", "Tokens")


class AnyOrder(RuleBasedStateMachine):
    """Work and switches in any order; the model counts what the store must hold, and what it must learn."""

    def __init__(self) -> None:
        super().__init__()
        self.home = tempfile.mkdtemp()
        self.project = Switched(Path(self.home, "app"))
        self.is_installed = False
        self.known: Counter[tuple[str, str]] = Counter()  # (session, what), as the store has it
        self.waiting: Counter[tuple[str, str]] = Counter()  # in BAZINGA's database alone
        self.sessions = {OLD: False}  # by name: whether the store knows it
        self.ended: set[str] = set()

    def teardown(self) -> None:
        shutil.rmtree(self.home)

    @rule()
    def install(self) -> None:
        self.project.switch("install")
        self.is_installed = True
        self.known += self.waiting
        self.waiting.clear()
        self.sessions = dict.fromkeys(self.sessions, True)

    @rule()
    def uninstall(self) -> None:
        self.project.switch("uninstall")
        self.is_installed = False

    @rule(is_gone=st.booleans())
    def make_a_session(self, *, is_gone: bool) -> None:
        self.project.call("create-session", NEW, "simple", "Sign out", is_gone=is_gone)
        self.sessions[NEW] = self.sessions.get(NEW, False) or (self.is_installed and not is_gone)

    @rule(
        session=st.sampled_from((OLD, NEW)), bird=st.sampled_from(BIRDS), late=st.integers(0, 140),
        is_secret=st.booleans(), is_gone=st.booleans(),
    )  # fmt: skip
    def think(self, session: str, bird: str, late: int, *, is_secret: bool, is_gone: bool) -> None:
        if session in self.sessions:
            text = f"The {bird}'s password:  {random.randbytes(6).hex()} fits." if is_secret else f"The {bird} waits."
            assert self.project.think(text, session, is_gone=is_gone, late=late)[0] == 0
            is_here = self.is_installed and not is_gone and self.sessions[session]
            (self.known if is_here else self.waiting)[session, bird] += 1

    @rule(session=st.sampled_from((OLD, NEW)), number=st.integers(1, 1000))
    def save_a_package_and_an_output(self, session: str, number: int) -> None:
        if self.sessions.get(session) or (session in self.sessions and not self.is_installed):
            path = f"bazinga/artifacts/{session}/{number}.md"
            words = (session, "AUTH", "research", path, "developer", '["qa_expert"]', "high", f"Finding {number}")
            assert self.project.call("save-context-package", *words)[0] == 0
            assert self.project.call("save-skill-output", session, "lint", '{"n": 1}')[0] == 0
            for what in ("package", "output"):
                (self.known if self.is_installed else self.waiting)[session, what] += 1

    @rule(session=st.sampled_from((OLD, NEW)), is_gone=st.booleans())
    def end_a_session(self, session: str, *, is_gone: bool) -> None:
        if session in self.sessions:
            self.project.call("update-session-status", session, "completed", is_gone=is_gone)
            self.ended.add(session)

    @invariant()
    def the_store_has_what_it_must(self) -> None:
        if not (self.project.folder / ".ctxrank").exists():
            return
        with self.project.store() as store:
            counted: Counter[tuple[str, str]] = Counter()
            for session, is_here in self.sessions.items():
                if is_here:
                    counted.update((session, bird_of(text)) for text in self.project.thoughts(session))
            query = "SELECT s.name, ? FROM {} AS r JOIN sessions AS s ON s.id = r.session_id"
            for table, what in (("packages", "package"), ("skill_outputs", "output")):
                counted.update(store.primary.execute(query.format(table), (what,)))
            assert counted == self.known
            query = "SELECT count(*) FROM documents WHERE kind IN ('reasoning', 'package', 'skill')"
            assert store.primary.execute(query).fetchone() == (sum(self.known.values()),)
            if self.is_installed and not self.waiting:
                for bird in BIRDS:
                    hits = found(store, bird, limit=1000).hits
                    assert len(hits) == sum(self.known[session, bird] for session in self.sessions)


def bird_of(text: str) -> str:
    """What a thought is about."""
    return next(bird for bird in BIRDS if bird in text)


AnyOrder.TestCase.settings = settings(max_examples=12, stateful_step_count=14, deadline=None)
TestAnyOrder = pytest.mark.slow(AnyOrder.TestCase)
