"""Blocks of the fixture store, as reviewed: what is in each, at which detail and price, and what is left out, why.

`pytest --rewrite-golden` writes `golden/blocks.txt` again: the diff is what gets reviewed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import copy_store

from ctxrank.indexer.clock import parse_time
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.assemble import assemble
from ctxrank.ranking.context.assembly.shapes import AssembleRequest, Assembly

_GOLDEN = Path(__file__).parent / "golden" / "blocks.txt"
_TASK = "workers stop with a locked database when the token is refreshed"
_REQUESTS: list[tuple[str, str, str | None, dict[str, Any]]] = [
    ("shop-2026-10", "developer", "QUEUE", {}),
    *(
        ("shop-2026-10", agent, "QUEUE", {"task": _TASK})
        for agent in ("developer", "qa_expert", "tech_lead", "investigator")
    ),
    *(
        ("shop-2026-10", "developer", "AUTH", {"task": task})
        for task in (
            "store the access token in a cookie",
            "migrate the prices of the checkout",
            "paint the fence green",
            "token",
        )
    ),
    *(
        ("shop-2026-11", "developer", group, {"task": "passkey for the logout failures"})
        for group in ("AUTH", "CHECKOUT", None)
    ),
    *(
        ("shop-2026-10", "tech_lead", "QUEUE", {"task": _TASK, "budget": budget})
        for budget in (60, 150, 300, 600, 1200, 2500)
    ),
    *(
        ("shop-2026-10", "developer", "QUEUE", {"task": _TASK, "current_tokens": tokens})
        for tokens in (
            100_000,
            130_000,
            150_000,
            165_000,
            190_000,
        )
    ),
    *(
        ("shop-2026-10", "developer", "QUEUE", {"task": _TASK, "detail": detail})
        for detail in ("summary", "passage", "full")
    ),
    *(("shop-2026-10", "developer", "QUEUE", {"task": _TASK, "reach": reach}) for reach in ("session", "project")),
    *(
        ("shop-2026-10", "qa_expert", "QUEUE", {"reasoning_level": level, "include_reasoning": True})
        for level in ("minimal", "full")
    ),
    ("shop-2026-10", "developer", "QUEUE", {"task": _TASK, "limit": 1}),
    ("shop-2026-10", "developer", "QUEUE", {"limit": 0}),
    (
        "shop-2026-10",
        "developer",
        "QUEUE",
        {"task": _TASK, "error_output": b"sqlite3.OperationalError: database is locked\n"},
    ),
    ("shop-2026-10", "developer", "QUEUE", {"task": _TASK, "model": "gpt-4o"}),
    ("shop-2026-10", "nobody", "QUEUE", {"iteration": 2}),
    ("shop-2026-10", "developer", "QUEUE", {"task": _TASK, "testing_mode": "disabled", "with_skills": True}),
    ("shop-2026-10", "develoepr", "QUEUE", {"task": "queue"}),
]


@pytest.fixture(scope="module")
def shop(loaded_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(copy_store(loaded_once, tmp_path_factory.mktemp("shop")).primary) as store:
        yield store


def _lines(block: Assembly) -> Iterator[str]:
    yield f"{block.outcome} {block.engine} {block.reason} {block.usage.zone.value} {block.usage.shown_percent}"
    yield f"of {block.usage.remaining}: limit {block.budget.limit}, used {block.used} by {block.counter}"
    yield f"{block.by_class}"
    yield f"{block.available} {block.overflow} {block.hidden} {block.listing} {block.is_complete} {block.state}"
    for one in (*block.packages, *block.files):
        passages = [(passage.heading, len(passage.text)) for passage in one.passages]
        yield f"   {one.path} {one.detail} {one.score:.4f} {one.tokens} {passages}"
    for many in (block.reasoning, block.errors, block.strategies):
        yield from (f"   {str(one)[:160]}" for one in many)
    yield from (f"   left out: {one}" for one in block.omitted)
    yield from (f"   note: {note}" for note in block.notes)
    for entry in block.entries:
        yield f"   {entry.id} {entry.is_included} {entry.detail} {entry.tokens} {entry.reason}"


def _blocks(store: Store) -> Iterator[str]:
    as_of = parse_time("2026-11-20", now=0)
    for at, (session, agent, group, values) in enumerate(_REQUESTS):
        yield f"# {session} {agent} {group} {values}"
        request = AssembleRequest(session, agent, group, as_of=as_of, is_marking=False)._replace(**values)
        block = assemble(store, request, Config())
        yield from _lines(block)
        if at % 8 == 1:
            yield from (f"   | {line}" for line in "".join(block.parts).split("\n"))


def test_blocks_are_those_that_were_reviewed(shop: Store, request: pytest.FixtureRequest) -> None:
    found = list(_blocks(shop))
    if request.config.getoption("--rewrite-golden"):
        _GOLDEN.parent.mkdir(exist_ok=True)
        _GOLDEN.write_text("\n".join([*found, ""]), encoding="utf-8")
    assert [*found, ""] == _GOLDEN.read_text(encoding="utf-8").split("\n")
