"""`ctxrank wide` and the commands that ask a cluster, on a real node, each answer as its schema says."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save
from cluster_nodes import ClusterNode
from jsonschema import Draft202012Validator

from ctxrank.cli.main import declared_commands, run
from ctxrank.cli.schema import answer_schema, commands_of
from ctxrank.extensions.opensearch import engine as wide_engine

pytestmark = [pytest.mark.wide, pytest.mark.slow]

_DECLARED = dict(commands_of(declared_commands()))
_RARE = "qz4h8n2c6x0v"
Asked = Callable[..., Any]


@pytest.fixture
def asked(
    wide_node: ClusterNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Asked:
    """A command's JSON, of a store in `tmp_path` that searches on the node."""
    monkeypatch.setattr(wide_engine, "QUESTION_S", 60.0)  # a busy machine's node may be slow, and here it is not left
    monkeypatch.setenv("CTXRANK_WIDE", wide_node.url)
    monkeypatch.setenv("CTXRANK_ENGINE", "opensearch")
    monkeypatch.chdir(tmp_path)
    with make_store(tmp_path) as store:
        save(store, "alpha.md", "The database is locked while a worker writes.\n")
        save(store, "beta.md", "A token is refreshed.\n")

    def ask(*words: str, code: int = 0) -> Any:
        capsys.readouterr()
        assert run([*words, "--json"]) == code, capsys.readouterr()
        answer = json.loads(capsys.readouterr().out)
        name = next(name for name in (" ".join(words[:2]), words[0]) if name in _DECLARED)
        declared = _DECLARED[name].answer
        assert declared, name
        validator: Any = Draft202012Validator(answer_schema(declared))
        validator.validate(answer)
        return answer

    return ask


def test_a_store_is_sent_searched_and_its_state_is_said(asked: Asked) -> None:
    assert "no index of this store" in asked("status")["wide"]["trouble"]
    before = asked("search", "locked")
    assert (before["outcome"], before["engine"]) == ("degraded", "fts5")
    assert "'ctxrank wide sync' makes it" in before["reason"]
    sent = asked("wide", "sync")
    assert (sent["changed"] > 0, asked("wide", "sync")["changed"]) == (True, 0)
    status = asked("status")["wide"]
    assert (status["documents"], status["behind"], status["used"], status["trouble"]) == (
        sent["changed"],
        0,
        True,
        None,
    )
    after = asked("search", "locked")
    assert (after["outcome"], after["engine"]) == ("matched", "opensearch")
    assert after["hits"] == before["hits"]
    whole = asked("status")
    assert (whole["engine"], whole["wide"]["documents"]) == ("opensearch", sent["changed"])


def test_a_search_sends_a_few_changes_and_a_block_asks_the_cluster(asked: Asked, tmp_path: Path) -> None:
    asked("wide", "sync", "--rebuild")
    with make_store(tmp_path) as store:
        save(store, "new.md", "A zebra came.\n")
    found = asked("search", "zebra")
    assert (found["outcome"], found["engine"], len(found["hits"])) == ("matched", "opensearch", 1)
    block = asked("assemble", "--session", "S", "--agent", "developer", "--task", "zebra", "--format", "json")
    bears = [package["detail"] != "line" for package in block["packages"]]
    assert (block["engine"], bears) == ("opensearch", [True, False, False])


def test_without_an_index_here_the_cluster_answers_alone(
    asked: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXRANK_FTS5", "off")
    for file in (tmp_path / ".ctxrank").glob("index.db*"):
        os.unlink(file)
    asked("wide", "sync", "--rebuild")
    asked("index")
    found = asked("search", "locked")
    assert (found["outcome"], found["engine"], len(found["hits"])) == ("matched", "opensearch", 1)
    assert not (tmp_path / ".ctxrank" / "index.db").exists()


def test_a_purge_is_done_when_the_cluster_has_forgotten(asked: Asked, wide_node: ClusterNode, tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "gone.md", f"The word {_RARE} goes.\n")
    asked("wide", "sync", "--rebuild")
    assert wide_node.files_with(_RARE)
    (hit,) = asked("search", _RARE)["hits"]
    asked("purge", hit["id"], code=7)
    asked("wide", "sync", "--forget")
    assert wide_node.files_with(_RARE) == []
    assert asked("search", _RARE, code=1)["hits"] == []
