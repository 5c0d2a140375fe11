"""`ctxrank eval`: the ranking as numbers, on a collection with known answers."""

from ctxrank.cli.declare import ENGINE, AnyOf, Command, Path, Whole, argument, by_name, option

_METRICS = {"ndcg_at_10": "number", "recall_at_100": "number", "mrr_at_10": "number"}
_BEFORE_AND_AFTER = {"before": "number", "after": "number"}

_EVAL = Command(
    "eval",
    "ctxrank.extensions.evaluation.actions:evaluate_folder",
    """Print nDCG@10, recall@100, MRR@10 and the latency of a search on DIR; no store is needed.

    \b
    DIR holds corpus.jsonl {"_id", "title", "text"}, queries.jsonl {"_id", "text"} and
    qrels.tsv (query, document, grade). A key "group" in both makes one index a group.

    Queries are asked as they are typed, and once more as plain words. --sweep prints what to put under 'ranking:' in
    .ctxrank/config.yaml, or that nothing is worth changing.

    Example: ctxrank eval relevance/
    """,
    (
        argument("folder", type=Path(), metavar="DIR"),
        option("--sweep", is_flag=True, help="Find settings that rank higher, and test them on held-out queries."),
        option("--seed", type=Whole(), default=0, show_default=True, help="With --sweep: which ones are held out."),
    ),
    answer=AnyOf(
        {
            "engine": ENGINE,
            "queries": "integer",
            "documents": "integer",
            "metrics": _METRICS,
            "plain_metrics": _METRICS,
            "latency_ms": {"p50": "number", "p95": "number"},
        },
        {
            "engine": ENGINE,
            "queries": {"tuned": "integer", "held_out": "integer"},
            "ndcg_at_10": {"tuned": _BEFORE_AND_AFTER, "held_out": _BEFORE_AND_AFTER},
            "interval": ["number"],
            "is_worth_it": "boolean",
            "settings": {"*": "any"},
        },
    ),
)

COMMANDS = by_name(_EVAL)
