"""Composition: a real block keeps its budget, whatever it holds, and names what it leaves out."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import make_store, save
from examples import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ranking_builders import block_for, know_error, learn, think
from tables import each_row

from ctxrank.indexer.store.documents import backfill_counts
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.tokens import cautious_tokens, model_factor
from ctxrank.indexer.text.vocabulary import local_counter
from ctxrank.ranking.context.assembly import limits
from ctxrank.ranking.context.assembly.composition import left_out
from ctxrank.ranking.context.assembly.limits import Budget
from ctxrank.ranking.context.assembly.shapes import Assembly
from ctxrank.ranking.context.budget import Item, Purchase, Step
from ctxrank.ranking.context.prices import Prices

_LEVELS = {"title": 0, "line": 0, "summary": 1, "passage": 2, "full": 3}
_KINDS = {
    "prose": "The connection pool hands out a stale handle when the server restarts; reset it on error. ",
    "code": "def get_user_by_id(self, key: str) -> dict[str, Any]:\n    return self._users.get(key) or {}\n",
    "log": "2026-11-21T22:10:00.123456Z ERROR [worker-17] db.pool: timeout after 30000ms conn=0x7f3a\n",
    "json": '{"id": 42, "name": "walrus", "tags": ["a", "b"], "nested": {"ok": true, "n": null}}\n',
    "chinese": "数据库连接失败，请检查网络设置后重试。我们在迁移过程中发现了一个错误。",
    "japanese": "データベース接続に失敗しました。設定を確認してください。",
    "korean": "데이터베이스 연결에 실패했습니다. 설정을 확인하세요. ",
    "russian": "Не удалось подключиться к базе данных, проверьте настройки сети. ",
    "hash": "d41d8cd98f00b204e9800998ecf8427e da39a3ee5e6b4b0d3255bfef95601890afd80709\n",
    "base64": "aGVsbG8gd29ybGQgdGhpcyBpcyBhIHRlc3Qgb2YgYmFzZTY0IHRleHQ5OTk5\n",
    "table": "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n",
    "capitals": "ORCHESTRATOR MUST NOT SPAWN INVESTIGATOR BEFORE CONSERVATIVE CHECKPOINT\n",
    "emoji": "🚀 deploy done 🎉 tests 🧪 fox 🦊 ",
}  # fmt: skip


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A package of each kind of text, with reasoning, errors and strategies of the same."""
    with make_store(tmp_path_factory.mktemp("rich")) as store:
        for number, (kind, text) in enumerate(_KINDS.items()):
            priority = ("low", "medium", "high", "critical")[number % 4]
            body = f"# About {kind}\n\n" + "\n\n".join(f"## Part {part}\n\nwalrus {text * 12}" for part in range(3))
            save(store, f"research/{kind}.md", body, summary=f"{kind}: {text * 3}", priority=priority)
        for number, (kind, text) in enumerate(_KINDS.items()):
            agent = ("developer", "qa_expert", "senior_software_engineer")[number % 3]
            think(store, agent, ("completion", "risks")[number % 2], f"{kind}: {text * 4}")
            know_error(store, f"{kind} {text}", f"fix {text * 2}")
            learn(store, f"{kind} {text * 2}")
        store.catch_up()
        yield store


@pytest.fixture(scope="module")
def counter() -> Callable[[str], int]:
    found = local_counter()
    if found is None:
        pytest.skip("there is no vocabulary on this machine")
    return found.count


_REQUESTS = st.fixed_dictionaries({
    "task": st.sampled_from(["", "why is the walrus stale", "数据库 walrus conn timeout", "nothing of this"]),
    "limit": st.integers(0, 14),
    "detail": st.sampled_from([None, "summary", "passage", "full"]),
    "model": st.sampled_from(["sonnet", "gpt-4o", "claude-sonnet-4-5"]),
    "current_tokens": st.sampled_from([0, 70_000, 110_000, 130_000]),
    "reasoning_level": st.sampled_from(["minimal", "full"]),
    "include_reasoning": st.booleans(),
    "is_marking": st.just(False),
})  # fmt: skip


@settings(max_examples=examples(60))
@given(_REQUESTS, st.integers(0, 9000))
def test_the_budget_is_hard_by_the_exact_counter_too(
    rich: Store, counter: Callable[[str], int], request_: dict[str, Any], budget: int
) -> None:
    block = block_for(rich, "tech_lead", budget=budget, **request_)
    assert block.used <= budget
    assert counter(block.text) * model_factor(block.model) <= block.used


@settings(max_examples=examples(60))
@given(_REQUESTS, st.integers(0, 5000), st.integers(0, 4000))
def test_a_larger_budget_never_removes_or_lowers_an_item(
    rich: Store, request_: dict[str, Any], budget: int, more: int
) -> None:
    small, large = (block_for(rich, "tech_lead", budget=limit, **request_) for limit in (budget, budget + more))
    assert _items(small).keys() <= _items(large).keys()
    for key, level in _items(small).items():
        assert _items(large)[key] >= level


@settings(max_examples=examples(40))
@given(_REQUESTS, st.integers(0, 5000))
def test_everything_that_is_left_out_is_named_with_a_reason(rich: Store, request_: dict[str, Any], budget: int) -> None:
    block, all_of_it = (block_for(rich, "tech_lead", budget=limit, **request_) for limit in (budget, 10**6))
    assume(block.usage.zone in (limits.NORMAL, limits.SOFT_WARNING, limits.CONSERVATIVE))
    named = {omitted.id: omitted.reason for omitted in block.omitted}
    assert all(named.values())
    for number in range(1, len(_KINDS) + 1):
        assert f"package:{number}" in named.keys() | _items(block).keys()
    for key in _items(all_of_it).keys() - _items(block).keys():
        assert key in named
    for key, level in _items(block).items():
        assert level == _items(all_of_it)[key] or "lowered" in named[key]


def _items(block: Assembly) -> dict[str, float]:
    """Everything in a block, with how much of it: the level, and within passages how many."""
    items = {f"package:{p.id}": _LEVELS[p.detail] + len(p.passages) / 100 for p in block.packages}
    items |= {f"reasoning:{entry.id}": 1.0 for entry in block.reasoning}
    items |= {f"error:{entry.id}": 1.0 for entry in block.errors}
    return items | {f"strategy:{entry.id}": 1.0 for entry in block.strategies}


@pytest.mark.parametrize("budget", [700, 900, 1200])
def test_long_packages_do_not_starve_reasoning_and_errors(rich: Store, budget: int) -> None:
    task = "the pool hands out a stale handle"
    block = block_for(rich, "tech_lead", budget=budget, limit=10, model="gpt-4o", task=task)
    assert block.packages and block.reasoning and block.errors


def test_used_is_the_frame_and_the_sum_of_the_classes(rich: Store) -> None:
    block = block_for(rich, "tech_lead", budget=4000, task="walrus", is_marking=False)
    empty = block_for(rich, "tech_lead", budget=4000, limit=0, is_marking=False)
    assert sum(block.by_class.values()) < block.used
    assert sum(package.tokens for package in block.packages) == block.by_class["packages"]
    assert empty.by_class["packages"] == 0


def test_exact_counts_are_used_where_they_were_taken(rich: Store, counter: Callable[[str], int]) -> None:
    values: dict[str, Any] = {"task": "walrus", "limit": 5, "model": "gpt-4o", "is_marking": False}
    with rich.write() as change:
        change.connection.execute("UPDATE documents SET token_counter = 'estimate'")
    before = block_for(rich, "tech_lead", **values)
    backfill_counts(rich)
    after = block_for(rich, "tech_lead", **values)
    assert (before.counter, after.counter) == ("estimate", "o200k_base")
    assert before.text == after.text
    assert counter(after.text) <= after.used


@pytest.mark.parametrize("model", ["claude", "gpt-4o"])
def test_a_block_of_what_was_saved_and_never_indexed_is_filled(
    model: str, tmp_path: Path, counter: Callable[[str], int]
) -> None:
    chance = random.Random(1)
    words = " ".join(_KINDS.values()).split()
    with make_store(tmp_path) as store:
        for number in range(30):
            lines = (" ".join(chance.choices(words, k=12)) for _ in range(40))
            save(store, f"notes/{number}.md", f"# Walrus {number}\n\n" + "\n".join(lines), summary=f"Walrus {number}")
        for budget in (2000, 5000):
            block = block_for(store, budget=budget, model=model, task="walrus", is_marking=False)
            assert 0.85 * budget <= counter(block.text) * model_factor(model) <= block.used <= budget


def test_what_is_left_buys_a_summary_where_no_passage_fits(tmp_path: Path) -> None:
    chance = random.Random(2)
    words = [word for word in " ".join(_KINDS.values()).split() if word.isalpha()]
    with make_store(tmp_path) as store:
        for number in range(40):
            title, *said = (" ".join(chance.choices(words, k=9)) for _ in range(14))
            summary = f"The walrus {' '.join(said[:5])}"
            save(store, f"notes/{number}.md", "\n".join((f"# {title}\n", *said)), summary=summary)
        task = f"the walrus {' '.join(chance.choices(words, k=6))}"
        shown = [block_for(store, budget=budget, task=task, is_marking=False) for budget in range(1600, 3000, 50)]
    assert any(one.detail == "summary" for block in shown for one in block.packages)


@each_row("kind", list(_KINDS))
def test_a_price_is_not_below_the_exact_count(kind: str, counter: Callable[[str], int]) -> None:
    assert cautious_tokens(_KINDS[kind] * 6) >= counter(_KINDS[kind] * 6)


def test_mixed_lines_are_not_underpriced(counter: Callable[[str], int]) -> None:
    chance = random.Random(1)
    for _ in range(200):
        lines = [chance.choice(list(_KINDS.values()))[: chance.randrange(5, 90)] for _ in range(6)]
        assert Prices(1.0).of(*lines) >= counter("\n".join(lines))


def test_a_budget_too_small_for_anything_gives_nothing_but_names_all(rich: Store) -> None:
    block = block_for(rich, budget=0, limit=3)
    assert (block.text, block.used, block.packages) == ("", 0, ())
    assert len([omitted for omitted in block.omitted if omitted.id.startswith("package")]) == len(_KINDS)
    assert block_for(rich, budget=20).text == "## Context for developer\n"


def test_a_block_without_room_for_a_package_says_so(rich: Store) -> None:
    blocks = (block_for(rich, budget=limit, limit=1, is_marking=False, model="gpt-4o") for limit in range(60, 200))
    block = next(block for block in blocks if "No package fits" in block.text)
    assert block.packages == () and f"(0/{len(_KINDS)})" in block.text


def _reasons(*left: Step, room: int, barred: int = 0) -> list[str]:
    """Why each of these steps was not taken, of two packages and an entry of reasoning."""
    items = [
        Item("package:1", ("title", "summary"), (10, 60), kind="packages"),
        Item("package:2", ("title", "summary"), (10, 30), kind="packages"),
        Item("reasoning:3", ("300 characters",), (500,), kind="reasoning"),
    ]
    purchase = Purchase((0, -1, -1), (10, 0, 0), 100 - room, left, barred)
    return [one.reason for one in left_out(items, purchase, Budget(100, {}, {"reasoning": 400}))]


def test_a_reason_names_what_limits_the_room_the_turn_or_the_cap_of_a_class() -> None:
    large, small, entry = Step(50, 0, 1), Step(20, 1, 0), Step(500, 2, 0)
    assert _reasons(large, small, room=30) == [
        "lowered: its next detail is over the budget of 100 tokens, of which 30 were left",
        "after package:1 in line, where the budget of 100 tokens ended",
    ]
    assert _reasons(large, small, room=0)[1] == "over the budget of 100 tokens"
    assert _reasons(entry, large, room=30, barred=1)[0] == "over the 400 tokens that reasoning may take"
