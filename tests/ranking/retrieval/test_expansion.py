"""Words that the index lacks are joined by their nearest terms; what it has is asked as it was typed."""

import random
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import copy_store, found, make_store, open_again, save, search_ids
from memory_engine import MemoryEngine

from ctxrank.indexer.store import documents
from ctxrank.indexer.store.store import Store
from ctxrank.ranking import SearchRequest, search
from ctxrank.ranking.retrieval import plan


@pytest.fixture(scope="module")
def known_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("known")
    with make_store(folder) as made:
        for name, text in (
            ("usage", "getrusage says what a process needs"),
            ("crawl", "def process_spider_output(response): return middleware.configuration"),
            ("camel", "const x = new DownloaderHandler()"),
            ("bank", "Die Datenbank antwortet"),
            ("daten", "viele Daten und lange Texte"),
            ("geld", "Geld von der Bank"),
            ("apart", "a retry policy for every error"),
            ("numbers", "port 8080 of utf8 in 20261122, error 数据库"),
        ):
            save(made, f"{name}.md", text, summary=name)
    return folder


@pytest.fixture
def store(known_once: Path, tmp_path: Path) -> Iterator[Store]:
    copy_store(known_once, tmp_path)
    with make_store(tmp_path) as opened:
        yield opened


def _used(store: Store, query: str) -> dict[str, tuple[str, ...]]:
    return dict(found(store, query, is_syntax=True).corrections)


@pytest.mark.parametrize(
    ("query", "used", "wanted"),
    [
        ("getrusae", {"getrusae": ("getrusage",)}, "package:1"),  # a letter left out
        ("gertusage", {"gertusage": ("getrusage",)}, "package:1"),  # two exchanged
        ("configuratoin", {"configuratoin": ("configuration",)}, "package:2"),  # in an ending that the stem has lost
        ("iddlewar", {"iddlewar": ("middleware",)}, "package:2"),  # a part
        ("ddleware", {"ddleware": ("middleware",)}, "package:2"),  # one whose end the stem has lost
        ("ess_spider_outp", {"ess": ("process",), "outp": ("output",)}, "package:2"),  # a name cut inside its parts
        ("oaderHandl", {"oaderHandl": ("downloaderhandler",)}, "package:3"),
        ("Daten Bank", {"Daten Bank": ("datenbank",)}, "package:4"),  # written apart
        ("retrypolicy", {"retrypolicy": ("retry", "policy")}, "package:7"),  # written together
    ],
)
def test_what_was_typed_is_joined_by_what_the_index_has(
    store: Store, query: str, used: dict[str, tuple[str, ...]], wanted: str
) -> None:
    assert _used(store, query) == used
    assert search_ids(store, query)[:1] == [wanted]


def test_the_cut_beginning_of_a_name_is_found_by_its_stem_in_any_process(tmp_path: Path) -> None:
    """`porary` and its stem `porari` are as long, and which of them came first was a matter of the process."""
    with make_store(tmp_path) as store:
        save(store, "named.md", "def temporary_identifier(): ...\n", summary="One.")
        save(store, "other.md", "NamedTemporaryFile\n", summary="Two.")
        assert _used(store, "porary_identifi")["porary"] == ("temporary",)


@pytest.mark.parametrize(
    ("query", "used"),
    [
        ("polcy", ("policy",)),
        ("bolicy", ("policy",)),  # with another first letter
        ("baten", ("daten",)),
        ("celd", ("geld",)),
        ("gelt", ("geld",)),
        ("gel", ()),
        ("datem", ("daten",)),
        ("datem zebra", ("daten",)),
        ("gelt daten", ()),  # among words that are known, of five letters or more
        ("datem geld", ("daten",)),
    ],
)
def test_how_long_a_word_is_that_another_stands_in_for(store: Store, query: str, used: tuple[str, ...]) -> None:
    assert _used(store, query).get(query.partition(" ")[0], ()) == used


@pytest.mark.parametrize(
    "query",
    [
        "getrusage", "process", "getrusage process", "process_spider_output", "spider_output",  # it is there
        '"getrusae"', "getrusag*", "8081", "utf9", "20261123", "数据厍", "retry policy", "xyz", "a",
    ],
)  # fmt: skip
def test_what_is_there_a_phrase_a_prefix_a_number_and_cjk_are_left_as_they_are(store: Store, query: str) -> None:
    assert _used(store, query) == {}


def test_a_long_text_is_not_corrected(store: Store) -> None:
    words = " ".join(["process"] * plan.MAX_EXPANDED)
    assert _used(store, f"{words} getrusae") == {}


def test_a_word_that_was_found_weighs_more_than_one_that_stands_in(store: Store) -> None:
    save(store, "typo.md", "getrusae", summary="typo")
    save(store, "right.md", "getrusage", summary="right")
    assert _used(store, "getrusae") == {}
    assert search_ids(store, "retri process")[0] in ("package:1", "package:2")


@pytest.mark.parametrize("query", ["asdfqwer", "asdfqwer process", "gerbils", "qwertz process"])
def test_a_guess_that_is_far_is_not_made(store: Store, query: str) -> None:
    save(store, "near.md", "asdf craft crack epid answering rusage gerund quartz", summary="near")
    assert _used(store, query) == {}


def test_of_several_words_with_one_term_the_one_that_was_meant_is_said(store: Store) -> None:
    for name, text in (
        ("a", "The exclusion of a file."),
        ("b", "An exclusively held one."),
        ("c", "Exclusive: a lock."),
    ):
        save(store, f"{name}.md", text, summary=name)
    for typed in ("exclusve", "exclusvie"):
        assert _used(store, typed) == {typed: ("exclusive",)}
    assert _used(store, "exclusoin") == {"exclusoin": ("exclusion",)}


def test_the_last_document_with_a_word_takes_it_along(store: Store) -> None:
    assert _used(store, "getrusae") == {"getrusae": ("getrusage",)}
    with store.write() as change:
        documents.remove_owned(change, 1)
        documents.remove(change, 1)
    assert (_used(store, "getrusae"), search_ids(store, "getrusae")) == ({}, [])


def test_what_stands_in_is_marked_in_the_snippet(store: Store) -> None:
    (passage, *_) = found(store, "getrusae").hits[0].passages
    assert [line.text[start:end] for line in passage.lines for start, end in line.marks] == ["getrusage"]


@pytest.mark.slow
def test_readers_find_near_words_while_others_write(store: Store) -> None:
    """Each answer is of one snapshot: what it says it searched for is what it found."""
    wrong: list[object] = []
    is_done = threading.Event()

    def read() -> None:
        with open_again(store) as reader:
            while not is_done.is_set():
                result = found(reader, "getrusae")
                if (dict(result.corrections), bool(result.hits)) != ({"getrusae": ("getrusage",)}, True):
                    wrong.append(result)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for number in range(30):
        save(store, f"more-{number}.md", f"getrusage and wordnumber{number}x", summary=f"more {number}")
        store.catch_up()
    is_done.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_filters_and_exclusions_hold_for_what_stands_in(store: Store) -> None:
    assert search_ids(store, "getrusae path:bank.md") == []
    assert search_ids(store, "getrusae -process", is_syntax=True) == []
    assert search_ids(store, "-getrusae process") == search_ids(store, "process")


def test_an_unknown_word_among_known_ones_is_said(store: Store) -> None:
    result = found(store, "process zzyzx")
    assert (result.unknown, result.corrections) == (("zzyzx",), ())
    assert result.hits


def test_the_explanation_names_what_stood_in(store: Store) -> None:
    hit = search(store, SearchRequest("getrusae", is_explained=True)).hits[0]
    assert hit.explanation is not None
    assert any("'getrusage' for 'getrusae'" in line for line in hit.explanation.lines(0))


def test_two_engines_expand_alike(store: Store) -> None:
    memory = MemoryEngine(store)
    for query in (
        "getrusae process",
        "ess_spider_outp",
        "oaderHandl",
        "Daten Bank",
        "retrypolicy",
        "midlewaer iddlewar",
    ):
        one, other = (search(store, SearchRequest(query), engine=engine) for engine in (None, memory))
        assert (one.corrections, one.unknown) == (other.corrections, other.unknown)
        assert [(hit.id, hit.score) for hit in one.hits] == [(hit.id, hit.score) for hit in other.hits]


def test_nothing_stands_in_for_a_word_of_more_than_64_characters(tmp_path: Path) -> None:
    """32 letters twice are 64: written together they are still two words; with one letter more they are not."""
    first, second = "retry" * 6 + "ab", "guard" * 6 + "cd"
    with make_store(tmp_path) as store:
        save(store, "a.md", f"{first} then {second}", summary="a")
        assert found(store, first + second).corrections and search_ids(store, first + second)
        longer = found(store, first + "s" + second)
        assert not (longer.corrections or longer.hits or longer.suggestions)
        assert longer.unknown == ((first + "s" + second)[:63] + "…",)


def test_a_long_word_is_found_as_it_is_and_by_its_written_parts(tmp_path: Path) -> None:
    whole = "ab" * 40
    camel = "InternationalizationConfigurationTransformationAuthenticationMiddleware"
    with make_store(tmp_path) as store:
        save(store, "a.md", f"the {whole} of a file", summary="a")
        save(store, "b.md", "a configuration of some kind", summary="b")
        assert search_ids(store, whole) == ["package:1"]
        assert len(camel) > 64 and search_ids(store, camel) == ["package:2"]


def test_a_long_word_takes_no_memory_with_the_square_of_its_length(store: Store) -> None:
    search(store, SearchRequest("zzyzxq"))  # loads what corrects
    tracemalloc.start()
    found(store, "".join(random.Random(3).choices("abcdefgh", k=4000)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


@pytest.mark.parametrize(
    ("query", "used", "wanted"),
    [
        ("getzipimporter", {"getzipimporter": ("get", "zip", "importer")}, "package:1"),  # without what parts it
        ("StyleE", {"StyleE": ("styleelement",)}, "package:2"),  # one letter of the last part, which the stemmer takes
        ("rowsI", {"rowsI": ("rowsinserted",)}, "package:2"),
        ("getzipstyle", {}, None),  # words of the index, but nowhere one after the other
    ],
)
def test_a_name_is_found_without_what_parts_it_and_with_one_letter_of_its_end(
    tmp_path: Path, query: str, used: dict[str, tuple[str, ...]], wanted: str | None
) -> None:
    with make_store(tmp_path) as store:
        save(store, "zip.py", "def get_zip_importer(path): zip the style, get an importer", summary="zip")
        save(store, "style.js", "const made = new StyleElement(rowsInserted)", summary="style")
        save(store, "words.md", "get a zip, then a style of an importer; rows of elements", summary="words")
        assert _used(store, query) == used
        assert search_ids(store, query)[:1] == ([wanted] if wanted else [])


def test_a_text_that_has_a_run_of_characters_comes_before_one_that_has_its_pairs(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "run.md", "在网页中加载这个模块的脚本文件，然后执行其他代码。" * 3, summary="a")
        save(store, "pairs.md", "加载 载这 这个 加载 载这 这个", summary="b")
        assert search_ids(store, "加载这个") == ["package:1", "package:2"]
