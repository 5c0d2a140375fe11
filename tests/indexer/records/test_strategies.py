"""Strategies: what is refused, how the same insight is known again and counted, and what is drawn from reasoning."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from builders import found, make_store, open_again, search_ids, start_child
from tables import each_row

from ctxrank.indexer.exceptions import CtxrankError, NotFoundError, UsageError
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.records.sessions import NewSession, create_session
from ctxrank.indexer.records.strategies import (
    TOPICS,
    NewStrategy,
    SavedStrategy,
    StoredStrategy,
    add_helpfulness,
    extract_strategies,
    list_strategies,
    save_strategy,
    strategy_name,
)
from ctxrank.indexer.store.store import Store

SECRET = "ghp" + "_" + "a1B2" * 9
NEW = NewStrategy("shop", "methodology", "Write the failing zebra first.")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_store(tmp_path) as opened:
        yield opened


def keep(store: Store, **values: Any) -> SavedStrategy:
    """Save a strategy; values are fields of a NewStrategy."""
    return save_strategy(store, NEW._replace(**values))


def think(store: Store, phase: str, content: str, **values: Any) -> None:
    """Save reasoning of a developer in group G of session S; values are fields of a NewReasoning."""
    new = NewReasoning("S", "G", "developer", phase, content)._replace(**values)
    save_reasoning(store, new, create_session=True)


def insights(store: Store, **filters: Any) -> list[str]:
    return [strategy.insight for strategy in list_strategies(store.primary, **filters)]


@each_row(
    "wrong, named, allowed",
    [
        ({"topic": "luck"}, "'luck'", TOPICS),
        ({"project": "  "}, "needs a project", ("shop",)),
        ({"insight": " \n"}, "insight is empty", ("what worked",)),
        ({"project": "two\nlines"}, "'two\\nlines'", ("one line",)),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(
    store: Store, wrong: dict[str, Any], named: str, allowed: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as refused:
        keep(store, **wrong)
    assert named in refused.value.message
    assert all(value in refused.value.hint for value in allowed)
    assert list_strategies(store.primary) == []


def test_a_name_is_made_from_project_topic_and_insight_alone(store: Store) -> None:
    digest = hashlib.sha256(b"Write the failing zebra first.").hexdigest()[:16]
    assert strategy_name("shop", "methodology", NEW.insight) == f"shop_methodology_{digest}"
    assert keep(store, insight=f"\n{NEW.insight}  ", topic=" Methodology").name == f"shop_methodology_{digest}"


def test_what_is_known_is_counted_and_what_is_new_begins_at_one(store: Store) -> None:
    first, again, other = keep(store), keep(store), keep(store, project="bank")
    assert first == SavedStrategy(1, first.name, "shop", "methodology", 1, is_new=True)
    assert again == first._replace(helpfulness=2, is_new=False)
    assert (other.id, other.helpfulness, other.is_new) == (2, 1, True)


def test_a_name_of_ones_own_is_counted_and_keeps_what_it_says(store: Store) -> None:
    keep(store, name="tdd")
    assert keep(store, name="tdd", insight="Something else.").helpfulness == 2
    assert insights(store) == [NEW.insight]


def test_counting_says_that_it_was_seen_now(store: Store) -> None:
    keep(store)
    store.primary.execute("UPDATE strategies SET last_seen = 1, created_at = 1")
    keep(store)
    (strategy,) = list_strategies(store.primary)
    assert strategy.last_seen > strategy.created_at == 1


def test_an_insight_is_kept_whole_and_its_end_is_found(store: Store) -> None:
    insight = "café " * 20_000 + "walrus"
    keep(store, insight=insight)
    assert insights(store) == [insight]
    assert search_ids(store, "walrus") == ["strategy:1"]


def test_a_strategy_is_found_the_moment_it_is_saved_and_still_when_it_was_counted(store: Store) -> None:
    for _ in range(2):
        keep(store)
        (hit,) = found(store, "zebra", type="methodology").hits
        assert (hit.id, hit.title, hit.session) == ("strategy:1", "methodology strategy", None)


def test_a_secret_in_an_insight_is_neither_stored_nor_part_of_the_name(store: Store) -> None:
    saved = keep(store, insight=f"Rotate {SECRET} weekly.")
    (strategy,) = list_strategies(store.primary)
    assert SECRET not in strategy.insight
    assert saved.name == strategy_name("shop", "methodology", strategy.insight)
    assert SECRET not in store.primary.execute("SELECT group_concat(title || body) FROM documents").get


def test_the_most_helpful_come_first_then_what_was_seen_last_then_the_newest(store: Store) -> None:
    for insight in ("one", "two", "three", "four"):
        keep(store, insight=insight)
    store.primary.execute("UPDATE strategies SET last_seen = 5")
    store.primary.execute("UPDATE strategies SET last_seen = 6 WHERE insight = 'one'")
    store.primary.execute("UPDATE strategies SET helpfulness = 9 WHERE insight = 'two'")
    assert insights(store) == ["two", "one", "four", "three"]
    assert insights(store, limit=1) == ["two"]


def test_a_filter_keeps_what_names_no_language_or_framework(store: Store) -> None:
    keep(store, insight="all")
    keep(store, insight="py", lang="python", framework="")
    keep(store, insight="dj", lang="python", framework="django")
    keep(store, insight="go", lang="go", topic="general")
    assert sorted(insights(store, lang="python")) == ["all", "dj", "py"]
    assert sorted(insights(store, framework="flask")) == ["all", "go", "py"]
    assert insights(store, topic=" General ") == ["go"]
    assert insights(store, project="bank") == insights(store, topic="luck") == []


def test_what_works_in_a_second_language_fits_all(store: Store) -> None:
    keep(store, lang="python")
    keep(store)
    assert insights(store, lang="go") == []
    keep(store, lang="go")
    assert insights(store, lang="go") == insights(store, lang="rust") == [NEW.insight]


_SAVES_TWENTY = """
import sys
from pathlib import Path
from builders import make_store
from ctxrank.indexer.records.strategies import NewStrategy, save_strategy

with make_store(Path(sys.argv[1]), busy_ms=30_000) as store:
    for _ in range(20):
        save_strategy(store, NewStrategy("shop", "general", "The zebra works."))
"""


@pytest.mark.slow
def test_processes_that_count_at_once_lose_no_count(tmp_path: Path) -> None:
    make_store(tmp_path).close()
    writers = [start_child(_SAVES_TWENTY, tmp_path) for _ in range(4)]
    for writer in writers:
        writer.communicate(timeout=60)
        assert writer.returncode == 0
    with make_store(tmp_path) as store:
        (strategy,) = list_strategies(store.primary)
        assert (strategy.id, strategy.helpfulness) == (1, 80)
        assert search_ids(store, "zebra") == ["strategy:1"]


def test_threads_that_count_at_once_lose_no_count(store: Store) -> None:
    keep(store)

    def count() -> None:
        with open_again(store, busy_ms=30_000) as own:
            for _ in range(10):
                add_helpfulness(own, "1")

    threads = [Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert list_strategies(store.primary)[0].helpfulness == 41


@pytest.mark.parametrize("ref", ["strategy:1", "1", " 1 ", "tdd"])
def test_a_strategy_is_counted_by_its_id_or_its_name(store: Store, ref: str) -> None:
    keep(store, name="tdd")
    assert add_helpfulness(store, ref, 3) == ("tdd", 1, 4)


def test_a_name_that_looks_like_an_id_goes_before_it(store: Store) -> None:
    keep(store, name="tdd")
    keep(store, name="1", insight="other")
    assert add_helpfulness(store, "1").name == "1"
    assert add_helpfulness(store, "strategy:1").name == "tdd"


def test_helpfulness_never_falls_below_0(store: Store) -> None:
    keep(store, name="tdd")
    store.primary.execute("UPDATE strategies SET last_seen = 1")
    assert add_helpfulness(store, "tdd", -100) == ("tdd", 1, 0)
    assert list_strategies(store.primary)[0].last_seen == 1
    assert add_helpfulness(store, "tdd", 2) == ("tdd", 0, 2)
    assert list_strategies(store.primary)[0].last_seen > 1


@each_row("ref", ["2", "strategy:2", "package:1", "nope", "", "9" * 19])
def test_counting_what_is_not_there_says_so(store: Store, ref: str) -> None:
    keep(store)
    with pytest.raises(NotFoundError, match=f"no strategy '{ref}'"):
        add_helpfulness(store, ref)


def test_an_increment_beyond_reason_is_refused(store: Store) -> None:
    keep(store)
    with pytest.raises(UsageError) as refused:
        add_helpfulness(store, "1", 2**70)
    assert "-100 to 100" in refused.value.hint


def test_d09_strategies_are_extracted_from_what_the_author_of_a_success_said_of_it(store: Store) -> None:
    think(store, "approach", "Retry the walrus until it works.", iteration=1)
    think(store, "completion", "The walrus is retried.", iteration=1)
    think(store, "completion", "FAIL: flaky", agent="qa_expert", iteration=1)
    think(store, "approach", "Lock the zebra.", iteration=2)
    think(store, "decisions", "A queue for each heron.", iteration=2)
    think(store, "completion", "The zebra has a lock.", iteration=2)
    think(store, "completion", "FAIL again: flaky", agent="qa_expert", iteration=2)
    think(store, "completion", "Approved.", agent="tech_lead", iteration=2)
    (saved,) = extract_strategies(store, "S", "G", "shop", lang="python", framework="flask")
    assert (saved.topic, saved.helpfulness, saved.is_new) == ("implementation", 1, True)
    assert saved.name == strategy_name("shop", "implementation", "The zebra has a lock.")
    assert insights(store) == ["The zebra has a lock."]
    assert {(s.project, s.lang, s.framework) for s in list_strategies(store.primary)} == {("shop", "python", "flask")}
    assert search_ids(store, "zebra kind:strategy") == ["strategy:1"]


def test_a_role_that_is_like_a_judge_is_no_author_and_any_other_is(store: Store) -> None:
    Path(store.location.folder, "config.yaml").write_text("roles:\n  reviewer: {like: tech_lead}\n", encoding="utf-8")
    think(store, "completion", "The walrus is measured.", agent="researcher")
    think(store, "completion", "Looks good.", agent="reviewer")
    extract_strategies(store, "S", "G", "shop")
    assert insights(store) == ["The walrus is measured."]


def test_d09_a_completion_is_counted_once_and_the_same_words_of_a_later_success_again(store: Store) -> None:
    think(store, "completion", "The zebra is done.")
    think(store, "completion", "The zebra is done.", group="H")
    (first,) = extract_strategies(store, "S", None, "shop")
    (again,) = extract_strategies(store, "S", None, "shop")
    assert first.helpfulness == 1 and again == first._replace(is_new=False, is_counted=False)
    think(store, "completion", "The zebra is done.", group="I")
    (later,) = extract_strategies(store, "S", "I", "shop")
    assert later == first._replace(helpfulness=2, is_new=False)
    assert extract_strategies(store, "S", "I", "shop")[0].helpfulness == 2


def test_d09_only_the_newest_five_groups_are_extracted(store: Store) -> None:
    for number in range(7):
        think(store, "completion", f"completion {number}", group=f"G{number}", created_at=100 - number)
    assert len(extract_strategies(store, "S", None, "shop")) == 5
    assert insights(store) == [f"completion {number}" for number in range(5)]
    assert len(extract_strategies(store, "S", "G6", "shop")) == 1
    assert "completion 6" in insights(store)


def test_d09_extracting_redacts_what_an_older_store_let_through(store: Store) -> None:
    think(store, "completion", "Done.")
    store.primary.execute("UPDATE reasoning SET content = ?", (f"Uses {SECRET} now.",))
    extract_strategies(store, "S", "G", "shop")
    assert SECRET not in insights(store)[0]


def test_d09_without_a_project_the_sessions_own_is_meant(store: Store) -> None:
    with store.write() as change:
        create_session(change, NewSession("S", "bank"))
    think(store, "completion", "Done.")
    assert extract_strategies(store, "S", "G", None)[0].project == "bank"


def test_d09_nothing_to_extract_is_an_empty_list_and_an_unknown_session_an_error(store: Store) -> None:
    think(store, "risks", "The zebra may bite.")
    think(store, "completion", "It bites.", agent="qa_expert")
    assert extract_strategies(store, "S", "G", "shop") == extract_strategies(store, "S", "X", "shop") == []
    with pytest.raises(NotFoundError, match="no session 'T'"):
        extract_strategies(store, "T", "G", "shop")


def test_d09_an_extraction_is_all_or_nothing(store: Store) -> None:
    think(store, "completion", "one", group="G")
    think(store, "completion", "two", group="H")
    store.primary.execute(
        "CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.strategies WHEN NEW.insight = 'two'"
        " BEGIN SELECT raise(ABORT, 'no'); END"
    )
    with pytest.raises(CtxrankError, match="SQLite refused"):
        extract_strategies(store, "S", None, "shop")
    assert list_strategies(store.primary) == []
    assert search_ids(store, "kind:strategy") == []


def test_a_stored_strategy_has_all_that_was_given(store: Store) -> None:
    saved = keep(store, lang=" python ", framework="flask")
    (strategy,) = list_strategies(store.primary)
    assert strategy == StoredStrategy(
        1, saved.name, "shop", "methodology", NEW.insight, 1, "python", "flask",
        strategy.created_at, strategy.created_at,
    )  # fmt: skip


def test_the_list_has_the_most_helpful_first_then_what_was_seen_last_then_what_was_saved_last(store: Store) -> None:
    for insight in ("one", "two", "three", "four"):
        keep(store, insight=insight)
    with store.write() as change:
        for insight, helpfulness, last_seen in (("one", 2, 20), ("two", 2, 20), ("three", 2, 10), ("four", 1, 30)):
            change.connection.execute(
                "UPDATE strategies SET helpfulness = ?, last_seen = ? WHERE insight = ?",
                (helpfulness, last_seen, insight),
            )
    assert insights(store) == ["two", "one", "three", "four"]
