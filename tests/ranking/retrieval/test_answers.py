"""Whole answers, as they were reviewed: scores and what they are made of, snippets, lines, notes, suggestions.

The rankings alone are in `test_golden.py`. `pytest --rewrite-golden` writes `golden/answers/answers.txt` again: the
diff is what gets reviewed.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import copy_store, found, write_file

from ctxrank.indexer.clock import parse_time
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.formulas.explanation import Explanation
from ctxrank.ranking.retrieval.hits import Hit, PassageHit, SearchRequest, SearchResult
from ctxrank.ranking.retrieval.search import search

_GOLDEN = Path(__file__).parent / "golden" / "answers" / "answers.txt"
_CHANGED_S = 1_794_000_000  # when the files were written: their age is part of a score
_RETRY = '''"""How a job is tried again."""


class RetryPolicy:
    """Waits longer each time."""

    def next_delay(self, attempt: int, *, jitter: float = 0.1) -> float:
        # Doubling, up to a minute.
        return min(60.0, 2**attempt) * (1 + jitter)


def retry_job(job_id, policy=None):
    """Try a job again after the policy's delay."""
    policy = policy or RetryPolicy()
    return policy.next_delay(job_id)
'''
_FILES = {
    "src/retry_policy.py": _RETRY,
    "tests/test_retry_policy.py": "from retry_policy import RetryPolicy, retry_job\n\n\ndef test_next_delay():\n"
    "    assert RetryPolicy().next_delay(3) > 8\n\n\ndef test_retry_job():\n    assert retry_job(1) > 2\n",
    "src/cart.ts": "import { parseMoney } from './money';\n\n"
    "export function addToCart(cart: Cart, item: Item): Cart {\n"
    "  const price = parseMoney(item.price);\n  return { ...cart, total: cart.total + price };\n}\n",
    "src/money.ts": "export function parseMoney(text: string): number {\n  return Math.round(Number(text) * 100);\n}\n",
    "docs/zahlung.md": "# Zahlungen\n\nDie Rückerstattung der Überweisungen dauert drei Tage.\n\n## Währungen\n\n"
    "Beträge werden in Rappen gespeichert, nicht in Franken.\n",
    "config/queue.yaml": "queue:\n  workers: 4\n  retry_limit: 5\n  backoff: exponential\n",
    "notes/long.md": "# Long notes\n\n"
    + "\n\n".join(
        f"## Part {n}\n\nThe scheduler of part {n} waits {n} seconds, then the worker {'stops' * (n % 3 == 0)}"
        f"{'sleeps' * (n % 3 != 0)}. {'Nothing else happens here. ' * (5 * n)}"
        for n in range(1, 9)
    ),
}
_SEARCHES: list[tuple[str, dict[str, object]]] = [
    *(
        (query, {})
        for query in (
            "database locked",
            "why is the database locked",
            "RetryPolicy",
            "retry_job",
            "next_delay jitter",
            "parseMoney",
            "cart.ts",
            "src/money.ts price",
            "retry policy delay",
            "exponential backoff",
            "token refresh race condition",
            '"access token" cookie',
            "title:token refresh",
            "token -cookie",
            "+token +cookie",
            "tok* refresh",
            "kind:error database",
            "priority:high token",
            "agent:developer queue",
            "path:queue retry",
            "type:research token",
            "datbase lockd",
            "tokn refrsh",
            "Ruckerstattung",
            "rückerstattung überweisung",
            "wahrung",
            "accessToken",
            "where is the delay of a retry computed",
            "how do I add an item to the cart",
            "what happened to the flaky test",
            "sqlite3.OperationalError: database is locked",
            "retry_limit: 5",
            "return min(60.0, 2**attempt)",
            "scheduler waits worker stops part 6",
            "part",
            "the of and",
            "xyzzy",
            "xyzzy token",
            '"no such phrase" token',
            "passkey OR cookie",
            "test_next_delay",
            "worker sleeps",
            "migration plan prices checkout webhook investigation",
        )
    ),
    ("token refresh", {"limit": 2}),
    ("token refresh", {"limit": 0}),
    ("worker", {"is_by_passage": True}),
    ("retry", {"kinds": ("artifact",)}),
    ("token", {"session": "shop-2026-10"}),
    ("queue", {"priority": "critical"}),
    ("token -cookie", {"is_plain": True}),
    ("token", {"has_snippets": False}),
    ("retry", {"has_facets": True}),
    ("scheduler part waits", {"is_folded": True}),
    ("token", {"since": 1_790_000_000_000_000}),
    ("", {"limit": 3}),
    ("token", {"path": "auth"}),
    ("priority:high", {}),
    ("retry", {"agent": ("developer", "qa_expert")}),
]
_DEGRADED = (
    "database locked",
    "retry_job",
    "tokn refresh",
    '"access token"',
    "token -cookie",
    "rückerstattung",
    "part",
)


@pytest.fixture(scope="module")
def shop(loaded_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(copy_store(loaded_once, tmp_path_factory.mktemp("shop")).primary) as store:
        for path, text in _FILES.items():
            os.utime(write_file(store, path, text), (_CHANGED_S, _CHANGED_S))
        index_artifacts(store)
        yield store


def _tree(tree: Explanation, depth: int = 0) -> list[str]:
    own = f"{'  ' * depth}{tree.value:.4f} {tree.meaning}"
    return [own, *(line for part in tree.parts for line in _tree(part, depth + 1))]


def _passage(passage: PassageHit) -> list[str]:
    place = f"{passage.start_line}-{passage.end_line} at {passage.match_line}"
    lines = [f"{line.number}: {line.text!r} {[*map(tuple, line.marks)]}" for line in passage.lines]
    return [f"passage {passage.heading!r} {place} {passage.score:.4f} {passage.snippet!r}", *lines]


def _hit(hit: Hit, place: int) -> list[str]:
    score = "-" if hit.score is None else f"{hit.score:.4f}"
    lines = [f"* {score} {hit.path or hit.title!r} {hit.priority} {hit.superseded_by or ''}".rstrip()]
    if place < 3:
        lines += [f"  {hit.snippet!r} {[*map(tuple, hit.marks)]}", f"  folded {hit.folded}" * bool(hit.folded)]
    if place < 1:
        lines += [f"    {line}" for passage in hit.passages for line in _passage(passage)]
        lines += [f"      {line}" for line in (_tree(hit.explanation) if hit.explanation else [])]
        if hit.shares is not None:
            terms = " ".join(f"{term} {value:.4f}" for term, value in hit.shares.terms)
            lines.append(f"      words {hit.shares.words:.4f}, together {hit.shares.together:.4f}: {terms}")
    return list(filter(None, lines))


def _answer(name: str, result: SearchResult) -> str:
    head = f"{result.outcome} {result.engine} {result.total} {'capped' * result.is_capped}{'exact' * result.is_exact}"
    lines = [f"## {name}", head.strip()]
    for field in ("reason", "suggestions", "notes", "is_relaxed", "corrections", "unknown", "facets"):
        if value := getattr(result, field):
            lines.append(f"{field}: {value}")
    for at, hit in enumerate(result.hits):
        lines += _hit(hit, at)
    return "\n".join([*lines, ""])


def test_whole_answers_are_those_that_were_reviewed(shop: Store, request: pytest.FixtureRequest) -> None:
    as_of = parse_time("2026-11-20", now=0)
    parts = [
        _answer(f"{query} {options or ''}".strip(), found(shop, query, as_of=as_of, is_explained=True, **options))
        for query, options in _SEARCHES
    ]
    config = Config(fts5=False)
    for query in _DEGRADED:
        asked = SearchRequest(query, as_of=as_of, is_explained=True)
        parts.append(_answer(f"{query} (without FTS5)", search(shop, asked, config)))
    answers = "\n".join(parts)
    if request.config.getoption("--rewrite-golden"):
        _GOLDEN.parent.mkdir(exist_ok=True)
        _GOLDEN.write_text(answers, encoding="utf-8")
    assert answers.split("\n") == _GOLDEN.read_text(encoding="utf-8").split("\n")
