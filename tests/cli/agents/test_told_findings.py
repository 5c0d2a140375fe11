"""What a prompt gets of a finding: its name, what it says, where it is from and why it is here, all of it bounded."""

from collections.abc import Iterator

import pytest
from builders import make_store, save
from tables import each_row

from ctxrank.cli.agents.prompts import told_finding
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.floor import PromptFinding

_NOTE = ParentDocument(
    1, "package", 1, "Locks", "It waits.", "notes/a.md", "S", "G", "developer", "research", "high", 0, None, 1, None
)
_ERROR = _NOTE._replace(kind="error", priority="", path="", type="", title="Locked", body="Locked")
_NAMED, _SAID = "**[HIGH]** notes/a.md\n", "> It waits.\n\n"
_FROM = "package:1 · research · 1970-01-01 · shares lock"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with make_store(tmp_path_factory.mktemp("told")) as opened:
        save(opened, "notes/a.md")
        yield opened


@each_row(
    "parent, words, text",
    [
        (_NOTE, ("lock",), f"{_NAMED}{_SAID}{_FROM}\n"),
        (_NOTE, ("lock", "wait", "busy", "write"), f"{_NAMED}{_SAID}{_FROM}, wait, busy\n"),
        (_NOTE._replace(path=""), ("lock",), f"**[HIGH]** Locks\n{_SAID}{_FROM}\n"),
        (_NOTE._replace(priority=""), ("lock",), f"notes/a.md\n{_SAID}{_FROM}\n"),
        (_NOTE._replace(title="It waits."), ("lock",), f"{_NAMED}{_SAID}{_FROM}\n"),
        (_NOTE._replace(title="It waits.", path=""), ("lock",), f"**[HIGH]** It waits.\n{_FROM}\n"),
        (_NOTE._replace(title="It...", path=""), ("lock",), f"**[HIGH]** It waits.\n{_FROM}\n"),
        (_NOTE._replace(title="b...", path="", body="b" * 301), ("lock",),
         f"**[HIGH]** {'b' * 300}...\n{_FROM}\n"),
        (_NOTE._replace(body="# no heading\n"), ("lock",), f"{_NAMED}> \\# no heading\n\n{_FROM}\n"),
        (_NOTE._replace(path="p" * 141), ("lock",), f"**[HIGH]** {'p' * 140}...\n{_SAID}{_FROM}\n"),
        (_NOTE._replace(body="b" * 301), ("lock",), f"{_NAMED}> {'b' * 300}...\n\n{_FROM}\n"),
        (_NOTE._replace(path="p" * 140, body="b" * 300), ("lock",),
         f"**[HIGH]** {'p' * 140}\n> {'b' * 300}\n\n{_FROM}\n"),
        (_ERROR, ("lock",), "**Known error** Locked\nerror:1 · 1970-01-01 · shares lock\n"),
        (_ERROR._replace(priority="low"), ("lock",), "**[LOW]** Locked\nerror:1 · 1970-01-01 · shares lock\n"),
    ],
)  # fmt: skip
def test_a_finding_is_told_in_a_few_lines(
    store: Store, parent: ParentDocument, words: tuple[str, ...], text: str
) -> None:
    assert told_finding(store, PromptFinding(parent, "", words)) == (f"{parent.kind}:1", text)


def test_its_best_passage_follows_where_there_is_room(store: Store) -> None:
    finding = PromptFinding(_NOTE, "x = 1\ny = 2", ("lock",))
    bare = f"{_NAMED}{_SAID}{_FROM}\n"
    assert told_finding(store, finding, is_short=True)[1] == bare
    assert told_finding(store, finding)[1] == f"{bare}\n```text\nx = 1\ny = 2\n```\n"
    for length, is_cut in ((600, False), (601, True)):
        _, text = told_finding(store, finding._replace(passage="z" * length))
        assert text.endswith(f"\n{'z' * 600}{'...' if is_cut else ''}\n```\n")
