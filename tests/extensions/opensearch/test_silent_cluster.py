"""A cluster that accepts and says too little: the embedded index answers, by the deadline of the whole question."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, save
from runner_events import Runner
from silent_servers import Manner, answering_once, continuing, endless, silent, standing_in, trickling

from ctxrank.cli.main import run
from ctxrank.extensions.opensearch import engine as wide_engine
from ctxrank.extensions.opensearch.documents import FORMAT
from ctxrank.extensions.opensearch.updater import index_name
from ctxrank.indexer.store.change_log import history_id
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking import AssembleRequest, SearchRequest, assemble, search

# What a machine that does other things at the same time may take on top of a deadline.
_SLACK_S = 3.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as made:
        save(made, "a.md", "The zebra in the queue is striped and waits for a lock.\n")
        yield made


def _named(monkeypatch: pytest.MonkeyPatch, *urls: str) -> None:
    monkeypatch.setenv("CTXRANK_WIDE", ",".join(urls))
    monkeypatch.setenv("CTXRANK_ENGINE", "opensearch")


def _ready_then_silent(store: Store) -> Manner:
    """Says that the index is there and up to date, and answers no question."""
    seq = store.last_seq()
    history = history_id(store.primary, "main", seq)
    meta = {
        "applied_seq": seq, "history_id": history, "visible_seq": seq, "visible_history_id": history, "format": FORMAT,
    }  # fmt: skip
    return answering_once(json.dumps({index_name(store.primary): {"mappings": {"_meta": meta}}}).encode())


@pytest.mark.parametrize(
    ("scheme", "manner"),
    [("http", silent), ("http", trickling), ("http", endless), ("http", continuing), ("https", silent)],
)
def test_a_search_ends_with_its_deadline(
    store: Store, monkeypatch: pytest.MonkeyPatch, scheme: str, manner: Manner
) -> None:
    monkeypatch.setattr(wide_engine, "QUESTION_S", 0.4)
    with standing_in(manner) as port:
        _named(monkeypatch, f"{scheme}://127.0.0.1:{port}")
        begun = time.monotonic()
        # No hit, so that it is asked again in other words: both are one question.
        result = search(store, SearchRequest('"zebra striped" lock:nothing'))
        assert time.monotonic() - begun < 0.4 + _SLACK_S
    assert (result.outcome, result.engine) == ("degraded", "fts5")
    assert "within 0.4 s" in result.reason


@pytest.mark.slow
def test_a_cluster_that_falls_silent_within_a_question_is_left_for_the_embedded_index(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with standing_in(_ready_then_silent(store)) as port:
        _named(monkeypatch, f"http://127.0.0.1:{port}")
        begun = time.monotonic()
        result = search(store, SearchRequest("zebra"))
        assert 1.5 < time.monotonic() - begun < 2 + _SLACK_S
        assert (result.outcome, result.engine, len(result.hits)) == ("degraded", "fts5", 1)
        assert "does not answer" in result.reason or "no answer within" in result.reason


@pytest.mark.slow
def test_an_assembly_asks_one_question(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with standing_in(silent) as port:
        _named(monkeypatch, f"http://127.0.0.1:{port}")
        begun = time.monotonic()
        block = assemble(store, AssembleRequest("S", "developer", task="zebra"))
        assert time.monotonic() - begun < 2 + _SLACK_S
        assert (block.outcome, len(block.packages), store.deadline) == ("degraded", 1, None)


def test_a_node_that_is_silent_leaves_time_for_the_next_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with standing_in(silent) as first, standing_in(_ready_then_silent(store)) as second:
        _named(monkeypatch, f"http://127.0.0.1:{first}", f"http://127.0.0.1:{second}")
        load_config(store)
        assert store.wide is not None
        engine = wide_engine.engine_for(store, store.wide)
        assert engine.make_ready(2000).stand_in is None  # the second one has said that it is up to date
        engine.close()


def test_a_prompt_gets_what_the_embedded_index_has_within_half_a_second(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wide_engine, "QUESTION_S", 30.0)  # which is not an event's
    prompt = "why does the striped zebra wait for a lock in the queue?"
    for manner in (silent, _ready_then_silent(store)):
        with standing_in(manner) as port:
            _named(monkeypatch, f"http://127.0.0.1:{port}")
            begun = time.monotonic()
            said = Runner(tmp_path, session=f"of {port}").prompt(prompt)
            assert time.monotonic() - begun < 0.5 + _SLACK_S
            assert "striped" in said


@pytest.mark.slow
def test_a_state_is_asked_for_two_seconds(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with standing_in(silent) as port:
        _named(monkeypatch, f"http://127.0.0.1:{port}")
        begun = time.monotonic()
        assert run(["status", "--json"]) == 0
        assert time.monotonic() - begun < 2 + _SLACK_S
    assert "no answer within 2 s" in json.loads(capsys.readouterr().out)["wide"]["trouble"]
