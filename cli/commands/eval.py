"""`ctxrank eval`: the ranking as numbers, on a collection with known answers."""

from ctxrank.cli.declare import ENGINE, Command, Group, Path, Whole, argument, by_name, option

_METRICS = {"ndcg_at_10": "number", "recall_at_100": "number", "mrr_at_10": "number"}
_BEFORE_AND_AFTER = {"before": "number", "after": "number"}

_MEASURE = Command(
    "measure",
    "ctxrank.cli.actions.upkeep.evaluation:measure",
    """Print nDCG@10, recall@100, MRR@10 and the latency of a search.

    Queries are asked as they are typed, and once more as plain words. Two
    histograms show how quality and latency are spread.

    Example: ctxrank eval relevance/
    """,
    (
        argument("folder", type=Path(), metavar="DIR"),
        option("--plot", type=Path(), metavar="FILE.svg", help="Also write the histograms as a drawing."),
    ),
    answer={
        "engine": ENGINE,
        "queries": "integer",
        "documents": "integer",
        "metrics": _METRICS,
        "plain_metrics": _METRICS,
        "latency_ms": {"p50": "number", "p95": "number"},
    },
)
_SWEEP = Command(
    "sweep",
    "ctxrank.cli.actions.upkeep.evaluation:sweep",
    """Find settings that rank DIR's answers higher, and test them on held-out queries.

    Prints what to put under 'ranking:' in .ctxrank/config.yaml, or that nothing is worth changing.

    Example: ctxrank eval sweep relevance/
    """,
    (
        argument("folder", type=Path(), metavar="DIR"),
        option("--seed", type=Whole(), default=0, show_default=True, help="Which queries are held out."),
    ),
    answer={
        "engine": ENGINE,
        "queries": {"tuned": "integer", "held_out": "integer"},
        "ndcg_at_10": {"tuned": _BEFORE_AND_AFTER, "held_out": _BEFORE_AND_AFTER},
        "interval": ["number"],
        "is_worth_it": "boolean",
        "settings": {"*": "any"},
    },
)
_EVAL = Group(
    "eval",
    """Measure the ranking on a folder in BEIR's form; no store is needed.

    \b
    DIR holds corpus.jsonl {"_id", "title", "text"}, queries.jsonl {"_id", "text"} and
    qrels.tsv (query, document, grade). A key "group" in both makes one index a group.

    Example: ctxrank eval relevance/
    """,
    (_SWEEP,),
    default=_MEASURE,
)

COMMANDS = by_name(_EVAL)
