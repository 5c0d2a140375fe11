"""`ctxrank eval`: measures to redo on paper, collections as the product takes them, and the sweep."""

import json
from math import isclose, log2
from pathlib import Path
from random import Random

import pytest

from ctxrank.cli.main import run
from ctxrank.extensions.evaluation.collection import (
    MADE_AT,
    Collection,
    JudgedQuery,
    SourceDocument,
    read_collections,
)
from ctxrank.extensions.evaluation.evaluate import evaluate, indexed, ndcg, quality, ranked_ids
from ctxrank.extensions.evaluation.sweep import interval, sweep
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.store.config import Config
from ctxrank.ranking.retrieval.hits import SearchRequest
from ctxrank.ranking.retrieval.search import search


def _write(folder: Path, corpus: list[dict[str, str]], queries: list[dict[str, str]], qrels: str) -> Path:
    for name, lines in (("corpus", corpus), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "qrels.tsv").write_text(qrels, encoding="utf-8")
    return folder


def _animals(tmp_path: Path) -> Path:
    corpus = [{"_id": name, "title": "", "text": f"the {name} sleeps"} for name in ("walrus", "zebra", "yak")]
    queries = [{"_id": "q1", "text": "walrus"}, {"_id": "q2", "text": "zebra yak"}, {"_id": "q3", "text": "unjudged"}]
    return _write(tmp_path, corpus, queries, "query-id\tcorpus-id\tscore\nq1\twalrus\t1\nq2\tyak\t1\nq1\tyak\t0\n")


def test_ndcg_can_be_redone_on_paper() -> None:
    grades = {"a": 2.0, "b": 1.0}
    assert ndcg(["a", "b"], grades) == 1.0
    assert isclose(ndcg(["x", "b", "a"], grades), (1 / log2(3) + 2 / log2(4)) / (2 + 1 / log2(3)))
    assert ndcg([], grades) == 0.0


def test_each_measure_looks_as_deep_as_its_name_says() -> None:
    ranked = [f"x{number}" for number in range(10)] + ["a"]
    found = quality(JudgedQuery("q", "", {"a": 1.0, "b": 1.0}), ranked)
    assert (found.ndcg_at_10, found.mrr_at_10, found.recall_at_100) == (0.0, 0.0, 0.5)


def test_only_judged_queries_count_and_a_grade_of_nought_is_no_answer(tmp_path: Path) -> None:
    found = evaluate(read_collections(str(_animals(tmp_path))), Config())
    assert [query.query_id for query in found.queries] == ["q1", "q2"]
    assert found.documents == 3 and found.mean("recall_at_100") == 1.0
    assert found.latency_ms(0.95) >= found.latency_ms(0.0) > 0


def test_a_copy_takes_no_place_as_on_a_page_of_hits(tmp_path: Path) -> None:
    copied = "the walrus sleeps on the ice"
    corpus = [{"_id": "a", "text": copied}, {"_id": "copy", "text": copied}, {"_id": "b", "text": f"{copied} alone"}]
    folder = _write(tmp_path, corpus, [{"_id": "q", "text": "walrus ice"}], "q\tb\t1\n")
    found = evaluate(read_collections(str(folder)), Config())
    assert found.mean("mrr_at_10") == 0.5 and found.mean("recall_at_100") == 1.0


@pytest.mark.slow
def test_the_first_ten_are_those_of_who_asks_for_ten() -> None:
    """Who asks for a hundred has more rows scored."""
    chance = Random(1)
    words = ["".join(chance.choices("bcdfghjk", k=5)) for _ in range(200)]
    texts = [
        "\n\n".join(" ".join(chance.choices(words, range(200, 0, -1), k=150)) for _ in range(chance.randrange(1, 6)))
        for _ in range(200)
    ]
    sources = tuple(SourceDocument(f"d{number}", "", text) for number, text in enumerate(texts))
    queries = list[JudgedQuery]()
    with indexed(Collection("", sources, ()), Config()) as one:
        for text in (" ".join(chance.sample(words, 6)) for _ in range(10)):
            ten, hundred = (
                [one.loaded.ids[hit.id] for hit in search(one.store, SearchRequest(text, limit, as_of=MADE_AT)).hits]
                for limit in (10, 100)
            )
            place = next((at for at in range(10) if ten[at] != hundred[at]), None)
            if place is not None:
                queries.append(JudgedQuery(str(place + 1), text, {ten[place]: 1.0}))
    assert queries
    found = evaluate([Collection("", sources, tuple(queries))], Config())
    assert [query.mrr_at_10 for query in found.queries] == [1 / int(query.id) for query in queries]


def test_a_group_is_an_index_of_its_own(tmp_path: Path) -> None:
    corpus = [{"_id": f"{group}1", "text": "walrus", "group": group} for group in "AB"]
    folder = _write(tmp_path, corpus, [{"_id": "q", "text": "walrus", "group": "B"}], "q\tB1\t1\n")
    (collection,) = read_collections(str(folder))
    with indexed(collection, Config()) as one:
        assert ranked_ids(one, collection.queries[0], Config()) == ["B1"]


def test_a_long_text_is_one_document_whatever_its_passages(tmp_path: Path) -> None:
    text = "\n\n".join(f"Paragraph {number} about walrus {'filler ' * 60}" for number in range(20))
    folder = _write(tmp_path, [{"_id": "long", "title": "src/a.md", "text": text}], [{"_id": "q", "text": "walrus"}],
                    "q\tlong\t1\n")  # fmt: skip
    (collection,) = read_collections(str(folder))
    with indexed(collection, Config()) as one:
        assert ranked_ids(one, collection.queries[0], Config()) == ["long"]
        kinds = dict(one.store.primary.execute("SELECT kind, count(*) FROM documents GROUP BY kind"))
    assert kinds["artifact"] == 1 and int(str(kinds["passage"])) > 5


def test_a_short_text_has_the_rows_of_a_file_with_that_text(tmp_path: Path) -> None:
    corpus = [{"_id": "a", "title": "Sleep", "text": "the walrus sleeps"}, {"_id": "b", "text": "the yak sleeps"}]
    folder = _write(tmp_path, corpus, [{"_id": "q", "text": "walrus"}], "q\ta\t1\n")
    (collection,) = read_collections(str(folder))
    with indexed(collection, Config()) as one:
        rows = one.store.primary.execute("SELECT kind, title, body, path FROM documents ORDER BY id").fetchall()
    assert rows == [
        ("artifact", "Sleep", "", "text.md"), ("passage", "Sleep", "# Sleep\n\nthe walrus sleeps\n", "text.md"),
        ("artifact", "text.txt", "", "text.txt"), ("passage", "", "the yak sleeps\n", "text.txt"),
    ]  # fmt: skip


def test_parts_of_a_whole_are_found_by_themselves_and_by_what_is_around_them(tmp_path: Path) -> None:
    """The same words in two conversations, one of which is about holidays."""
    turns = {"D1:1": "We went on holidays to Spain.", "D1:2": "She swam there once.", "D1:3": "Holidays are short.",
             "D2:1": "The pool is cold.", "D2:2": "Once she swam there.", "D2:3": "It was winter."}  # fmt: skip
    corpus = [{"_id": id_, "text": text} for id_, text in turns.items()]
    folder = _write(tmp_path, corpus, [{"_id": "q", "text": "swam holidays"}], "q\tD1:2\t1\n")
    (collection,) = read_collections(str(folder))
    with indexed(collection, Config()) as one:
        ranked = ranked_ids(one, collection.queries[0], Config())
    assert ranked.index("D1:2") < ranked.index("D2:2")


def test_a_query_is_asked_as_typed_and_as_plain_words(tmp_path: Path) -> None:
    corpus = [{"_id": "a", "text": "a walrus"}, {"_id": "b", "text": "a zebra"}]
    for text, typed, plain in (
        ("walrus kind:error", 0.0, 1.0), ("walrus kind:nonsense", 0.0, 1.0), ('"no such phrase" walrus', 1.0, 1.0),
        ("-walrus animal", 1.0, 1.0), ("zebra -walrus", 0.0, 1.0),
    ):  # fmt: skip
        folder = _write(tmp_path, corpus, [{"_id": "q1", "text": text}], "q1\ta\t1\n")
        found = evaluate(read_collections(str(folder)), Config())
        assert found.mean("recall_at_100") == typed, text
        assert found.mean("recall_at_100", is_plain=True) == plain, text


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("corpus.jsonl", "{", "corpus.jsonl:1"),
        ("corpus.jsonl", "[" * 100_000, "corpus.jsonl:1"),
        ("queries.jsonl", "[]", "queries.jsonl:1: it is not a JSON object"),
        ("corpus.jsonl", '{"_id": "a", "text": 1.5}\n', "'text'"),
        ("corpus.jsonl", '{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}\n', "twice"),
        ("qrels.tsv", "q1\ta\t1\nq1 a\n", "qrels.tsv:2"),
        ("qrels.tsv", "q1\ta\t1\nq1\ta\tinf\n", "qrels.tsv:2"),
        ("qrels.tsv", "other\ta\t1\n", "No query"),
    ],
)
def test_a_folder_that_is_no_collection_is_refused_with_its_place(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    folder = _animals(tmp_path)
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        read_collections(str(folder))


def test_the_command_needs_no_store_and_answers_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    assert run(["eval", str(_animals(tmp_path)), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["queries"], answer["documents"]) == (2, 3)
    assert answer["metrics"].keys() == {"ndcg_at_10", "recall_at_100", "mrr_at_10"}
    assert answer["latency_ms"].keys() == {"p50", "p95"} and not list(empty.iterdir())


def _labelled(tmp_path: Path) -> Path:
    """What is wanted is always what has the word in its title; a rival says it more often."""
    corpus, queries, qrels = list[dict[str, str]](), list[dict[str, str]](), ""
    for number in range(24):
        word = "q" + str(number).translate(str.maketrans("0123456789", "bcdfghjkmp"))
        corpus.append({"_id": f"t{number}", "title": f"{word} note", "text": "pad " * 12})
        corpus.append({"_id": f"b{number}", "title": "other note", "text": f"{word} " * 4 + "pad " * 8})
        queries.append({"_id": f"q{number}", "text": word})
        qrels += f"q{number}\tt{number}\t1\n"
    return _write(tmp_path, corpus, queries, qrels)


@pytest.mark.slow
def test_the_sweep_learns_from_one_half_and_gains_on_the_other(tmp_path: Path) -> None:
    found = sweep(read_collections(str(_labelled(tmp_path))), Config(ranking={"title": 1.0}))
    assert found.tuned_queries == found.held_out_queries == 12
    assert found.is_worth_it and found.held_out_after > found.held_out_before and found.changes


@pytest.mark.slow
def test_the_sweep_leaves_alone_what_is_best_already(tmp_path: Path) -> None:
    folder = _labelled(tmp_path)
    (folder / "qrels.tsv").write_text("".join(f"q{number}\tb{number}\t1\n" for number in range(24)), encoding="utf-8")
    found = sweep(read_collections(str(folder)), Config(ranking={"title": 0.0}))
    assert found.settings == {} and not found.is_worth_it


def test_too_few_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="too few"):
        sweep(read_collections(str(_animals(tmp_path))), Config())


def test_the_interval_of_a_steady_gain_is_above_nought_and_that_of_chance_is_not() -> None:
    low, high = interval([0.1, 0.2] * 20)
    assert 0.1 < low < 0.15 < high < 0.2
    low, high = interval([0.3, -0.3] * 20)
    assert low < 0 < high


@pytest.mark.slow
def test_the_sweep_prints_what_to_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["eval", "sweep", str(_labelled(tmp_path))]) == 0
    printed = capsys.readouterr().out
    assert "held out" in printed and ("ranking:" in printed or "No setting" in printed)
