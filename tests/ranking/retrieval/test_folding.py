"""Folding: copies, versions and translations are listed below the best of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import found, make_store, save

from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.retrieval import folding
from ctxrank.ranking.retrieval.folding import folded_page
from ctxrank.ranking.retrieval.hits import Foldable, Hit, SearchRequest
from ctxrank.ranking.retrieval.search import search

_TUTORIAL = """\
# First steps

Make a file with a handler, start the server, and open the page. The walrus answers with the number of its tusks.
Then change the handler, save the file, and see how the server starts again without being told.
"""
_OTHER = "# Tides\n\nHigh water comes twice a day, and the walrus waits on the ice until the beach is free again.\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as store:
        yield store


def _folded(hits: tuple[Hit, ...]) -> list[tuple[str, list[str]]]:
    return [(hit.path, sorted(one.path for one in hit.folded)) for hit in hits]


def _save_all(store: Store, texts: dict[str, str]) -> None:
    """Files with the same summary, the last one the newest and so the first among equals."""
    for at, (path, text) in enumerate(texts.items()):
        save(store, path, text, summary="x", created_at=1_700_000_000_000_000 + at)


@pytest.mark.parametrize("config", [None, Config(fts5=False)])
def test_copies_fold_under_the_best_and_others_do_not(store: Store, config: Config | None) -> None:
    _save_all(store, {"a/one.md": _TUTORIAL, "b/two.md": _TUTORIAL, "tides.md": _OTHER, "c/three.md": _TUTORIAL})
    result = search(store, SearchRequest("walrus", is_folded=True), config)
    assert sorted(_folded(result.hits)) == [("c/three.md", ["a/one.md", "b/two.md"]), ("tides.md", [])]
    assert result.total == 4


def test_nothing_is_folded_unless_asked(store: Store) -> None:
    _save_all(store, {"a/one.md": _TUTORIAL, "b/one.md": _TUTORIAL})
    assert _folded(found(store, "walrus").hits) == [("b/one.md", []), ("a/one.md", [])]


def test_versions_of_one_text_fold(store: Store) -> None:
    newer = _TUTORIAL.replace("number of its tusks", "length of its tusks in metres").replace("save the file", "wait")
    _save_all(store, {"v1/start.md": _TUTORIAL, "v2/start.md": newer})
    assert _folded(found(store, "walrus", is_folded=True).hits) == [("v2/start.md", ["v1/start.md"])]


def test_translations_fold_by_their_place(store: Store) -> None:
    german = "# Erste Schritte\n\nLege eine Datei an und starte den Server. Das walrus antwortet.\n"
    chinese = "# 第一步\n\n启动服务器: walrus\n"
    _save_all(store, {"docs/de/start.md": german, "docs/zh-Hant/start.md": chinese, "docs/en/start.md": _TUTORIAL})
    (hit,) = found(store, "walrus", is_folded=True).hits
    assert len(hit.folded) == 2


def test_files_of_one_name_in_folders_that_are_no_languages_are_no_translations(store: Store) -> None:
    _save_all(store, {"docs/ts/start.md": _TUTORIAL, "docs/go/start.md": _OTHER})
    assert len(found(store, "walrus", is_folded=True).hits) == 2


def test_code_in_a_folder_that_is_named_like_a_language_is_no_translation(store: Store) -> None:
    _save_all(store, {"src/id/a.py": "def walrus():\n    return 1\n", "src/it/a.py": "class Walrus:\n    size = 2\n"})
    assert len(found(store, "walrus", is_folded=True).hits) == 2


@pytest.mark.parametrize("where", [{"checkout": "/w"}, {"file_state": "elsewhere"}])
def test_a_copy_elsewhere_folds_under_the_file_that_is_here(store: Store, where: dict[str, str]) -> None:
    _save_all(store, {"there/a.md": _TUTORIAL})
    (model,) = found(store, "walrus").hits

    def hit(path: str, terms: str, **more: Any) -> Foldable:
        return Foldable(model._replace(path=path, **more), _TUTORIAL, lambda: frozenset(terms.split()))

    copy, own, other = hit("there/a.md", "walrus", **where), hit("a.md", "walrus"), hit("b.md", "walrus")
    assert _folded(tuple(folded_page([copy, own, other], 5))) == [("a.md", ["b.md", "there/a.md"])]
    assert _folded(tuple(folded_page([copy, hit("a.md", "")], 5))) == [("there/a.md", ["a.md"])]


def test_what_the_query_tells_apart_stays_apart(store: Store) -> None:
    """The trade is one word of many, but it is the one that was asked for."""
    _save_all(store, {f"{trade}.md": f"{_TUTORIAL}For a {trade}.\n" for trade in ("baker", "cooper", "weaver")})
    assert len(found(store, "walrus", is_folded=True).hits) == 1
    paths = [hit.path for hit in found(store, "walrus baker cooper", is_folded=True).hits]
    assert {"baker.md", "cooper.md"} <= set(paths)


def test_a_page_is_filled_from_further_hits(store: Store) -> None:
    texts = {f"copy{at}/start.md": _TUTORIAL for at in range(12)}
    texts |= {f"{word}.md": f"# {word}\n\nA walrus {word} once.\n" for word in ("slept", "swam", "ate", "sang", "sat")}
    _save_all(store, texts)
    result = found(store, "walrus answers tusks", is_folded=True, limit=4)
    assert (len(result.hits), result.total) == (4, 17)
    assert [len(hit.folded) for hit in result.hits] == [11, 0, 0, 0]


def test_passages_of_one_file_do_not_fold_by_its_path(store: Store) -> None:
    text = "\n".join(
        f"## Part {at}\n\nThe walrus {word * 40}\n" for at, word in enumerate(("eats ", "sings ", "dives "))
    )
    save(store, "docs/de/walrus.md", f"# All\n\n{text}", summary="x")
    plain = found(store, "walrus", is_by_passage=True)
    assert len(found(store, "walrus", is_by_passage=True, is_folded=True).hits) == len(plain.hits) > 1


def test_short_texts_fold_only_where_they_are_equal(store: Store) -> None:
    _save_all(store, {"a/x.md": "walrus one\n", "b/x.md": "walrus two\n", "c/x.md": "walrus two\n"})
    assert _folded(found(store, "walrus", is_folded=True).hits) == [("c/x.md", ["b/x.md"]), ("a/x.md", [])]


def test_a_list_by_filters_alone_has_no_scores_and_shows_everything(store: Store) -> None:
    _save_all(store, {"a/one.md": _TUTORIAL, "b/one.md": _TUTORIAL})
    hits = found(store, "kind:package", is_folded=True).hits
    assert [(hit.score, hit.folded) for hit in hits] == [(None, ()), (None, ())]


def _hit(title: str, path: str, *, common: int, own: int) -> Foldable:
    """A hit whose text has this many words that all others have, too, and this many that only it has."""
    hit = Hit(
        id=f"artifact:{own}", kind="artifact", title=title, path=path, score=1.0, snippet="", session=None, group=None,
        agent="", type="", priority="", created_at=0, superseded_by=None, file_state="", passages=(), explanation=None,
    )  # fmt: skip
    words = [f"common{at}" for at in range(common)] + [f"own{own}x{at}" for at in range(own)]
    return Foldable(hit, " ".join(words), frozenset[str])


def test_how_many_words_texts_must_have_in_common() -> None:
    """Of a text and itself with more words: 20 of 33 are .606, of 34 .588; of 22 .909, of 23 .870; of 21 .952."""
    for first, second, most in (
        (("T", "a/one.md"), ("T", "b/two.md"), 13),
        (("T", "a/one.md"), ("U", "b/one.md"), 2),
        (("one.md", "a/one.md"), ("one.md", "b/one.md"), 2),
        (("T", "a/one.md"), ("U", "b/two.md"), 1),
    ):
        for own in (most, most + 1):
            page = folded_page([_hit(*first, common=20, own=0), _hit(*second, common=20, own=own)], 10)
            assert len(page) == 1 + (own > most), (first, second, own)


def test_texts_of_fewer_than_eight_words_must_be_equal() -> None:
    for common in (7, 8):
        page = folded_page([_hit("T", "", common=common, own=0), _hit("T", "", common=common, own=1)], 10)
        assert len(page) == 1 + (common < 8)


def test_where_all_hits_have_the_same_long_words_each_is_compared_with_few(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[Foldable] = []

    def is_like(better: object, other: Foldable, words: object) -> bool:
        compared.append(other)
        return False

    monkeypatch.setattr(folding, "_is_like", is_like)
    hits = [_hit("T", f"{at}.md", common=20, own=1)._replace(text=f"{_TUTORIAL} x{at}") for at in range(500)]
    assert len(folded_page(hits, 500)) == 500
    assert len(compared) < 500 * 16
