"""`ctxrank eval`: the ranking as numbers, on a collection with known answers."""

import tempfile
from collections.abc import Iterator

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.output.progress import progress_bar
from ctxrank.extensions.evaluation.collection import read_collections
from ctxrank.extensions.evaluation.evaluate import Evaluation, evaluate
from ctxrank.extensions.evaluation.sweep import Sweep
from ctxrank.extensions.evaluation.sweep import sweep as tune
from ctxrank.indexer.exceptions import NoStoreError, UntrustedError
from ctxrank.indexer.opening import create_scratch_store
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.text.lines import one_line

_MEASURES = ("ndcg_at_10", "recall_at_100", "mrr_at_10")
_NAMES = {"ndcg": "nDCG", "recall": "recall", "mrr": "MRR"}
_ENGINE = "fts5"


def evaluate_folder(call: Call, folder: str, sweep: bool, seed: int) -> Reply:
    """Compare the answers to a folder's queries with the known ones; or tune the settings on half of them."""
    config = _config(call)
    collections = read_collections(folder)
    with progress_bar("Trying" if sweep else "Asking", call) as progress:
        if sweep:
            tuned = tune(collections, config, seed, progress)
            return Reply(lambda: _sweep_json(tuned), _sweep_lines(tuned), engine=_ENGINE)
        found = evaluate(collections, config, progress)
    return Reply(lambda: _as_json(found), _lines(found), engine=_ENGINE)


def _as_json(found: Evaluation) -> dict[str, object]:
    return {
        "queries": len(found.queries),
        "documents": found.documents,
        "metrics": {measure: round(found.mean(measure), 6) for measure in _MEASURES},
        "plain_metrics": {measure: round(found.mean(measure, is_plain=True), 6) for measure in _MEASURES},
        "latency_ms": {"p50": round(found.latency_ms(0.5), 3), "p95": round(found.latency_ms(0.95), 3)},
    }


def _lines(found: Evaluation) -> Iterator[str]:
    yield f"{len(found.queries)} queries, {found.documents} documents"
    yield f"  {'':<11} as typed  as plain words"
    for measure in _MEASURES:
        name, _, depth = measure.partition("_at_")
        typed, plain = found.mean(measure), found.mean(measure, is_plain=True)
        yield f"  {f'{_NAMES[name]}@{depth}':<11} {typed:<9.4f} {plain:.4f}"
    yield f"  {'latency':<11} p50 {found.latency_ms(0.5):.1f} ms, p95 {found.latency_ms(0.95):.1f} ms"


def _sweep_json(found: Sweep) -> dict[str, object]:
    return {
        "queries": {"tuned": found.tuned_queries, "held_out": found.held_out_queries},
        "ndcg_at_10": {
            "tuned": {"before": round(found.tuned_before, 6), "after": round(found.tuned_after, 6)},
            "held_out": {"before": round(found.held_out_before, 6), "after": round(found.held_out_after, 6)},
        },
        "interval": [round(found.low, 6), round(found.high, 6)],
        "is_worth_it": found.is_worth_it,
        "settings": dict(found.settings),
    }


def _sweep_lines(found: Sweep) -> Iterator[str]:
    yield f"nDCG@10             before   after   ({found.tried} settings tried)"
    yield f"  {found.tuned_queries:>5} tuned on    {found.tuned_before:.4f}  {found.tuned_after:.4f}"
    yield f"  {found.held_out_queries:>5} held out    {found.held_out_before:.4f}  {found.held_out_after:.4f}"
    yield f"Gain on what was held out: 95 % between {found.low:+.4f} and {found.high:+.4f}"
    if not found.settings:
        yield "No setting was better than those in use."
        return
    if not found.is_worth_it:
        yield "The gain may be chance: keep the settings in use. What was best on the others:"
    yield "\n--- .ctxrank/config.yaml\n+++ .ctxrank/config.yaml\n ranking:"
    for name, (before, after) in found.changes.items():
        yield f"-  {name}: {before:g}\n+  {name}: {after:g}"


def _config(call: Call) -> Config:
    """The settings of the store that this call means, where there is one; else the user's, else the defaults."""
    try:
        with call.open() as store:
            config = load_config(store)
    except (NoStoreError, UntrustedError):
        if call.db is not None:
            raise
        with tempfile.TemporaryDirectory(prefix="ctxrank-eval-") as folder, create_scratch_store(folder) as store:
            config = load_config(store)
    for note in config.notes:
        call.note(one_line(note))
    return config
