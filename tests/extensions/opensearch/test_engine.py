"""The wide engine without a cluster: whose word it is that there is one, and what answers where it is away."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store, run_child, save

from ctxrank.extensions.opensearch.settings import password_of
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.opening import engine_of
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking import AssembleRequest, SearchRequest, assemble, search

_AWAY = "http://127.0.0.1:1"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as made:
        yield made


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches ask a cluster that is not there."""
    monkeypatch.setenv("CTXRANK_WIDE", _AWAY)
    monkeypatch.setenv("CTXRANK_ENGINE", "opensearch")


def _project(store: Store, text: str) -> None:
    Path(store.location.folder, "config.yaml").write_text(text)


def _user(text: str) -> None:
    path = Path(os.environ["XDG_CONFIG_HOME"]) / "ctxrank" / "config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_project_names_the_engine_and_the_user_the_cluster(store: Store) -> None:
    _project(store, "engine: opensearch\n")
    _user("wide: {urls: ['https://os1:9200', 'https://ann@os2:9200'], shards: 3, replicas: 1}\n")
    wide = load_config(store).wide
    assert wide is not None and store.wide == wide
    assert wide.urls == ("https://os1:9200", "https://os2:9200")
    assert (wide.user, wide.shards, wide.replicas, wide.hosts) == ("ann", 3, 1, "os1:9200, os2:9200")


def test_a_project_cannot_name_a_cluster(store: Store) -> None:
    _project(store, f"engine: opensearch\nwide: {{urls: ['{_AWAY}']}}\n")
    config = load_config(store)
    assert (config.wide, store.wide) == (None, None)
    assert len(config.notes) == 2 and "'wide' is refused" in config.notes[0] and "no cluster" in config.notes[1]


def test_a_store_says_which_cluster_it_asks_before_its_configuration_was_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXRANK_WIDE", "http://search.example:9200")
    monkeypatch.setenv("CTXRANK_ENGINE", "opensearch")
    assert store.wide is not None and store.wide.hosts == "search.example:9200"
    assert engine_of(store).name == "opensearch"


def test_a_cluster_without_the_engine_is_asked_by_no_search(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CTXRANK_WIDE", _AWAY)
    save(store, "a.md", "zebra\n")
    assert search(store, SearchRequest("zebra")).engine == "fts5"


@pytest.mark.parametrize(
    ("section", "why"),
    [
        ("{}", "no urls"),
        ("{urls: [ftp://x]}", "no address"),
        ("{urls: ['https://os1:92000']}", "no address"),
        ("{urls: ['https://os1:http']}", "no address"),
        ("{urls: ['https://[::1']}", "no address"),
        ("{urls: ['https://ann:hush@os1']}", "a password is in the address of os1"),
        ("{urls: ['http://os1'], user: ann}", "to https alone"),
        ("{urls: ['https://os1'], password: hush}", "no 'password'"),
        ("https://ann:hush@os1", "not a section"),
        ("{urls: ['https://os1'], shards: 0}", "shards is '0'"),
        ("{urls: ['https://os1'], user: 7}", "user is '7'"),
    ],
)
def test_what_is_no_cluster_is_refused_and_no_password_is_kept(store: Store, section: str, why: str) -> None:
    _user(f"wide: {section}\n")
    with pytest.raises(UsageError, match=why) as raised:
        load_config(store)
    assert "hush" not in str(raised.value)
    assert store.primary.execute("SELECT count(*) FROM config_cache WHERE value LIKE '%hush%'").get == 0


def test_a_password_comes_from_the_environment_or_a_file(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "word").write_text("hush\nmore\n")
    _user(f"wide: {{urls: ['https://os1'], user: ann, password_file: {tmp_path / 'word'}}}\n")
    wide = load_config(store).wide
    assert wide is not None and password_of(wide) == "hush"
    monkeypatch.setenv("CTXRANK_WIDE_PASSWORD", "other")
    assert password_of(wide) == "other"


@pytest.mark.usefixtures("away")
def test_the_local_index_answers_where_the_cluster_is_away(store: Store) -> None:
    save(store, "a.md", "The zebra is striped.\n")
    result = search(store, SearchRequest("zebra"))
    assert (result.outcome, result.engine, len(result.hits)) == ("degraded", "fts5", 1)
    assert result.reason == "no node of the cluster answers (127.0.0.1:1: Connection refused)"
    block = assemble(store, AssembleRequest("S", "developer", task="zebra"))
    assert (block.outcome, block.reason, len(block.packages)) == ("degraded", result.reason, 1)


@pytest.mark.usefixtures("away")
def test_without_a_local_index_heuristics_answer_and_none_is_made(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CTXRANK_FTS5", "off")
    load_config(store)
    save(store, "a.md", "The zebra is striped.\n")
    result = search(store, SearchRequest("zebra"))
    assert (result.outcome, result.engine, len(result.hits)) == ("degraded", "heuristic", 1)
    assert result.reason == "no node of the cluster answers (127.0.0.1:1: Connection refused)"
    assert not Path(store.location.index_file).exists()


@pytest.mark.usefixtures("away")
def test_a_search_of_a_cluster_loads_no_official_client(store: Store, tmp_path: Path) -> None:
    save(store, "a.md", "zebra\n")
    code = (
        "import sys; from ctxrank.cli.main import run; run(['search', 'zebra', '--db', sys.argv[1]]); "
        "print('http.client' in sys.modules, 'opensearchpy' in sys.modules)"
    )
    assert sys.executable and run_child(code, tmp_path / ".ctxrank" / "ctxrank.db").endswith("True False\n")
