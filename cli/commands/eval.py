"""`ctxrank eval`: the ranking as numbers, on a collection with known answers."""

import click

from ctxrank.cli.call import Call, shown
from ctxrank.cli.click_commands import StoreCommand
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxrank.indexer.store.config import Config
    from ctxrank.ranking.evaluation.evaluate import Evaluation
    from ctxrank.ranking.evaluation.sweep import Sweep

_MEASURES = ("ndcg_at_10", "recall_at_100", "mrr_at_10")


class _EvalGroup(click.Group):
    """`eval DIR` measures, `eval sweep DIR` tunes: a first word that is no command is the folder."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] in self.commands:
            return super().resolve_command(ctx, args)
        return None, _measure, args

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Options before the folder belong to the command that measures.
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            args = ["--", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_EvalGroup, subcommand_metavar="DIR | sweep DIR")
def command() -> None:
    """Measure the ranking on a folder in BEIR's form; no store is needed.

    \b
    DIR holds corpus.jsonl {"_id", "title", "text"}, queries.jsonl {"_id", "text"} and
    qrels.tsv (query, document, grade). A key "group" in both makes one index a group.

    Example: ctxrank eval relevance/
    """


@click.command(cls=StoreCommand)
@click.argument("folder", metavar="DIR")
@click.pass_obj
def _measure(call: Call, folder: str) -> None:
    """Print nDCG@10, recall@100, MRR@10 and the latency of a search.

    Example: ctxrank eval relevance/
    """
    from ctxrank.cli.output.progress import progress_bar
    from ctxrank.ranking.evaluation.collection import read_collections
    from ctxrank.ranking.evaluation.evaluate import evaluate

    config = _config(call)
    collections = read_collections(folder)
    with progress_bar("Asking", call) as progress:
        found = evaluate(collections, config, progress)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(_as_json(found))
        return
    print(f"{len(found.queries)} queries, {found.documents} documents")
    for measure in _MEASURES:
        name, _, depth = measure.partition("_at_")
        print(f"  {f'{_NAMES[name]}@{depth}':<11} {found.mean(measure):.4f}")
    print(f"  {'latency':<11} p50 {found.latency_ms(0.5):.1f} ms, p95 {found.latency_ms(0.95):.1f} ms")


_NAMES = {"ndcg": "nDCG", "recall": "recall", "mrr": "MRR"}


def _as_json(found: "Evaluation") -> dict[str, object]:
    return {
        "queries": len(found.queries),
        "documents": found.documents,
        "metrics": {measure: round(found.mean(measure), 6) for measure in _MEASURES},
        "latency_ms": {"p50": round(found.latency_ms(0.5), 3), "p95": round(found.latency_ms(0.95), 3)},
    }


@command.command("sweep", cls=StoreCommand)
@click.argument("folder", metavar="DIR")
@click.option("--seed", default=0, show_default=True, help="Which queries are held out.")
@click.pass_obj
def sweep(call: Call, folder: str, seed: int) -> None:
    """Find settings that rank DIR's answers higher, and prove them on queries that were held out.

    Prints what to put under 'ranking:' in .ctxrank/config.yaml, or that nothing is worth changing.

    Example: ctxrank eval sweep relevance/
    """
    from ctxrank.cli.output.progress import progress_bar
    from ctxrank.ranking.evaluation.collection import read_collections
    from ctxrank.ranking.evaluation.sweep import sweep as tune

    config = _config(call)
    collections = read_collections(folder)
    with progress_bar("Trying", call) as progress:
        found = tune(collections, config, seed, progress)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(_sweep_json(found))
        return
    _print_sweep(found)


def _sweep_json(found: "Sweep") -> dict[str, object]:
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


def _print_sweep(found: "Sweep") -> None:
    print(f"nDCG@10             before   after   ({found.tried} settings tried)")
    print(f"  {found.tuned_queries:>5} tuned on    {found.tuned_before:.4f}  {found.tuned_after:.4f}")
    print(f"  {found.held_out_queries:>5} held out    {found.held_out_before:.4f}  {found.held_out_after:.4f}")
    print(f"Gain on what was held out: 95 % between {found.low:+.4f} and {found.high:+.4f}")
    if not found.settings:
        print("No setting was better than those in use.")
        return
    if not found.is_worth_it:
        print("The gain may be chance: keep the settings in use. What was best on the others:")
    print("\n--- .ctxrank/config.yaml\n+++ .ctxrank/config.yaml\n ranking:")
    for name, (before, after) in found.changes.items():
        print(f"-  {name}: {before:g}\n+  {name}: {after:g}")


def _config(call: Call) -> "Config":
    """The settings of the store that this call means, where there is one; else the user's, else the defaults."""
    import tempfile

    from ctxrank.indexer.exceptions import NoStoreError
    from ctxrank.indexer.opening import create_store
    from ctxrank.indexer.store.config import load_config

    try:
        with call.open() as store:
            config = load_config(store)
    except NoStoreError:
        if call.db is not None:
            raise
        with tempfile.TemporaryDirectory(prefix="ctxrank-eval-") as folder, create_store(folder) as store:
            config = load_config(store)
    for note in config.notes:
        call.note(shown(note))
    return config
