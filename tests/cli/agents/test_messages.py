"""The last message of an agent: which part of it is kept as which phase, how much of it, and what confirms it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store
from tables import each_row

from ctxrank.cli.agents import messages
from ctxrank.cli.agents.messages import keep_text, phases_of
from ctxrank.indexer.records.reasoning import NewReasoning
from ctxrank.indexer.records.sessions import Session, require_session
from ctxrank.indexer.records.unconfirmed import count_unconfirmed, unconfirmed_name
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.store import Store

_EIGHT = "one two three four five six seven eight"


@each_row(
    "message, phases",
    [
        (_EIGHT, ["completion"]),
        (_EIGHT.removesuffix(" eight"), []),  # "Done." is no reasoning
        (f"## Decisions\n{_EIGHT}", ["decisions"]),
        (f"**Risks:**\n{_EIGHT}", ["risks"]),
        (f"**Risks**:\n{_EIGHT}", ["risks"]),
        (f"risks:\n{_EIGHT}", ["risks"]),
        (f"Risks\n{_EIGHT}", ["completion"]),
        (f"**Risks\n{_EIGHT}", ["completion"]),
        (f"## Lunch\n{_EIGHT}", ["completion"]),
        (f"{_EIGHT}\n# Decisions\n{_EIGHT}\n# Risks\nfew words\n# Decisions\n{_EIGHT}", ["completion", "decisions"]),
        (f"## {'Risks'.ljust(56, '#')}\n{_EIGHT}", ["risks"]),  # 59 characters
        (f"## {'Risks'.ljust(57, '#')}\n{_EIGHT}", ["completion"]),  # a line of text is no heading
    ],
)
def test_headings_name_the_phases(message: str, phases: list[str]) -> None:
    assert [phase for phase, _ in phases_of(message)] == phases


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


def _keep(store: Store, message: str, *phases: str, session: str = "S", injected: frozenset[str] = frozenset()) -> int:
    with store.write() as change:
        found: Session = require_session(change, session, create=True)
    entry = NewReasoning(session, None, "developer", "", "", unconfirmed_name("developer"))
    return keep_text(store, found, entry, message, injected, phases)


def _unconfirmed(store: Store) -> int:
    return sum(count_unconfirmed(store.primary, id_) for (id_,) in store.primary.execute("SELECT id FROM sessions"))


def test_what_is_kept_is_counted_and_a_short_message_is_not(store: Store) -> None:
    assert _keep(store, "Done.") == 0 == _unconfirmed(store)
    assert _keep(store, f"{_EIGHT}\n# Decisions\nbecause {_EIGHT}\n# Risks\nbut {_EIGHT}") == 3 == _unconfirmed(store)
    wanted = f"again {_EIGHT}\n# Decisions\nagain because {_EIGHT}\n# Risks\nagain but {_EIGHT}"
    assert _keep(store, wanted, "risks") == 1 and _unconfirmed(store) == 4


def test_only_another_session_that_says_the_same_confirms_it(store: Store) -> None:
    assert [_keep(store, _EIGHT), _keep(store, _EIGHT), _unconfirmed(store)] == [1, 0, 1]
    assert [_keep(store, _EIGHT, session="T"), _unconfirmed(store)] == [0, 0]


def test_a_session_has_so_many_and_a_long_one_is_cut(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "_MAX_ENTRIES", 2)
    three = f"{_EIGHT}\n# Decisions\nbecause {_EIGHT}\n# Risks\nbut {_EIGHT}"
    assert [_keep(store, three), _keep(store, f"more {three}"), _unconfirmed(store)] == [2, 0, 2]
    monkeypatch.setattr(messages, "_MAX_ENTRIES", 9)
    assert _keep(store, "word " * 3_000) == 1
    kept = read_column(store.primary, "SELECT body FROM documents WHERE kind = 'reasoning'", (), str)
    assert 5_990 <= max(map(len, kept)) <= 6_010, "so many characters, and a sign that more was said"
