"""What is left of a context when links are forgotten: python benchmarks/links/run_links.py [--quick] [--out DIR]

Deletes 0, 10, 30 and 60 % of the links of a gold and a generated world, says the tasks otherwise, and prints the recall
of the artifacts that each task requires at 2,000, 4,000 and 8,000 tokens, for links alone, BM25 alone, and tiers. Raw
results go to benchmarks/results/links.json. Exit code 1: a requirement is missed.
"""

import argparse
import json
import os
import statistics
import sys
from collections.abc import Iterable
from typing import NamedTuple

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import machine
from link_gold import gold, said_otherwise
from link_schemes import SCHEMES, Outcome, outcomes
from link_world import Shape, World, generated, kept_share, paraphrased, without_links

_HERE = os.path.dirname(os.path.abspath(__file__))
SHARES = (0.0, 0.1, 0.3, 0.6)
BUDGETS = (2000, 4000, 8000)
GOLD_BUDGETS = (600, 1000, 2000)  # the whole gold world has about 4,000 tokens
TOLERANCE = 0.02


class Figure(NamedTuple):
    """One scheme in one setting: means over tasks and seeds; recall of those shown at all, and with their text."""

    world: str
    wording: str
    deleted: float
    budget: int
    scheme: str
    recall: float
    recall_of_text: float
    shown: float
    questions: int


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="[default: 1 2 3]")
    parser.add_argument("--quick", action="store_true", help="a small world: shows that it runs")
    parser.add_argument("--out", metavar="DIR", help="[default: benchmarks/results]")
    options = parser.parse_args(arguments)
    seeds: list[int] = options.seeds[:1] if options.quick else options.seeds
    shares = SHARES[::3] if options.quick else SHARES
    shape = Shape(4, 12, 2) if options.quick else Shape()
    large = generated(shape, seeds[0])
    other = paraphrased(large, seeds[0])
    kept = kept_share(large, other), kept_share(gold(), said_otherwise(gold()))
    print(f"{len(large.artifacts)} artifacts, {len(large.required)} tasks")
    print(f"kept of a task's words: at most {kept[0]:.2f}, in the gold world {kept[1]:.2f}")
    figures: list[Figure] = []
    for world, wording, budgets in (
        (gold(), "own words", GOLD_BUDGETS), (said_otherwise(gold()), "paraphrased", GOLD_BUDGETS),
        (large, "own words", BUDGETS), (other, "paraphrased", BUDGETS),
    ):  # fmt: skip
        figures += measured(world, wording, budgets, seeds, shares)
    missed = list(misses(figures))
    print(table(figures), *(f"missed: {text}" for text in missed), sep="\n")
    keep(options.out, figures, missed, {
        "benchmark": "links", "seeds": seeds, "artifacts": len(large.artifacts), "tasks": len(large.required),
        "kept_words": kept[0], "machine": machine.facts(),
    })  # fmt: skip
    return 1 if missed else 0


def measured(
    world: World, wording: str, budgets: tuple[int, ...], seeds: list[int], shares: tuple[float, ...]
) -> list[Figure]:
    """Every scheme at every budget with every share of links deleted."""
    found: list[Figure] = []
    for share in shares:
        rows = [
            outcome
            for seed in (seeds if share else seeds[:1])  # nothing deleted is the same for every seed
            for outcome in outcomes(without_links(world, share, seed), budgets)
        ]
        for budget in budgets:
            for scheme in SCHEMES:
                some = [row for row in rows if (row.scheme, row.budget) == (scheme, budget)]
                found.append(_figure(world.name, wording, share, some))
            said = "  ".join(
                f"{one.scheme} {one.recall:.3f} ({one.recall_of_text:.3f})" for one in found[-len(SCHEMES) :]
            )
            print(f"{world.name:10}{wording:12}{share:4.0%}{budget:6}  {said}", flush=True)
    return found


def misses(figures: Iterable[Figure]) -> Iterable[str]:
    """Where tiers are below links at 0 %, or below the better of the two by more than TOLERANCE."""
    by_place = {one[:5]: one for one in figures}
    for one in by_place.values():
        if one.scheme != "tiers":
            continue
        links, *by_words = (by_place[(*one[:4], scheme)] for scheme in SCHEMES if scheme != "tiers")
        bm25 = max(by_words, key=lambda other: other.recall)
        where = f"{one.world}, {one.wording}, {one.deleted:.0%} deleted, {one.budget} tokens"
        if one.deleted == 0 and one.recall < links.recall:
            yield f"{where}: tiers {one.recall:.3f}, links {links.recall:.3f}"
        elif one.recall < max(links.recall, bm25.recall) - TOLERANCE:
            yield f"{where}: tiers {one.recall:.3f}, links {links.recall:.3f}, BM25 {bm25.recall:.3f}"


def keep(out: str | None, figures: list[Figure], missed: list[str], facts: dict[str, object]) -> None:
    """Write the figures."""
    results = out or os.path.join(os.path.dirname(_HERE), "results")
    os.makedirs(results, exist_ok=True)
    with open(os.path.join(results, "links.json"), "w", encoding="utf-8") as file:
        rows = [{name: round(value, 4) if isinstance(value, float) else value
                 for name, value in one._asdict().items()} for one in figures]  # fmt: skip
        file.write(json.dumps({**facts, "missed": missed, "figures": rows}, indent=1).replace(",\n   ", ", "))
        file.write("\n")


def table(figures: Iterable[Figure]) -> str:
    """The figures as Markdown, one row for each setting."""
    rows: dict[tuple[object, ...], list[str]] = {}
    for one in figures:
        cell = f"{one.recall:.3f} ({one.recall_of_text:.3f})"
        place = (one.world, one.wording, f"{one.deleted:.0%}", f"{one.budget:,}")
        rows.setdefault(place, []).append(f"**{cell}**" if one.scheme == "tiers" else cell)
    lines = ["| corpus | task in | deleted | tokens |" + "".join(f" {scheme} |" for scheme in SCHEMES)]
    lines.append("|---|---|" + "---:|" * (2 + len(SCHEMES)))
    lines += [f"| {' | '.join(map(str, (*place, *cells)))} |" for place, cells in rows.items()]
    return "\n".join(lines)


def _figure(world: str, wording: str, share: float, rows: list[Outcome]) -> Figure:
    return Figure(
        world, wording, share, rows[0].budget, rows[0].scheme,
        statistics.fmean(row.recall for row in rows), statistics.fmean(row.recall_of_text for row in rows),
        statistics.fmean(row.shown for row in rows), len(rows),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
