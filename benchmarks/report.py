"""Put the kept results between the markers of this README.md and of the one above: python benchmarks/report.py"""

import json
import os
from collections.abc import Iterator
from typing import Any

from figures import short
from timing import percentile

from ctxrank.indexer.light_typing import is_list

_HOME = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(_HOME)
_TORTURE = os.path.join(_ROOT, "tests", "torture", "results")
_PARTS = ("kills", "cuts", "disk", "crowd", "damage")
_ORDER = (
    "real_store",
    "whole_process",
    "commands",
    "crowd",
    "indexing",
    "indexing_scale",
    "rescan",
    "memory",
    "history",
)


def main() -> None:
    """Rewrite the parts of both that show results."""
    pages = {os.path.join(_ROOT, "README.md"): {"speed": speed_as_markdown()}}
    pages[os.path.join(_HOME, "README.md")] = {"results": results_as_markdown(), "scale": scale_as_markdown()}
    for path, parts in pages.items():
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for name, part in parts.items():
            begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
            before, _, rest = text.partition(begin)
            _, _, after = rest.partition(end)
            text = f"{before}{begin}\n\n{part}\n{end}{after}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def speed_as_markdown() -> str:
    """The table of README.md: the real store first, then generated ones by size."""
    rows: list[list[str]] = []
    kinds: list[list[str]] = []
    if real := _kept("real_store"):
        cpu = {one["name"].removesuffix(", p95 of CPU"): one["values"] for one in real["figures"]}
        columns = ("search in everything", "peer: naive FTS5 in everything", "", "search in a session")
        shown = [_both(cpu[name]) if name else "" for name in (*columns, "assemble, delivery marked")]
        rows.append([f"**real**: {real['notes'][0].partition(';')[0]}", *shown])
        for one in real["figures"]:
            if one["unit"] == "x":
                kind = one["name"].removeprefix("search ").removesuffix(" over naive FTS5, CPU")
                names = [f"{name} {kind}" for name in ("search", "by serve", "peer: naive FTS5")]
                both = [_both(cpu[name]) if name in cpu else "" for name in names]
                kinds.append([f"real, {kind}", *both, f"{short(one['value'])}"])
    for size in (_kept("scale") or {"sizes": []})["sizes"]:
        rows.append([f"generated: {size['documents']:,} documents", *_of_size(size)])
    by_kind = _table("what is asked | search | by `serve` | plain FTS5 | times", kinds)
    return (
        _table("store | search everywhere | plain FTS5 | tantivy | search in a session | assemble", rows)
        + f"\n{by_kind}"
    )


def scale_as_markdown() -> str:
    """The same of generated stores with what else is known of them, and the largest by words and by results."""
    found = _kept("scale")
    if found is None:
        return ""
    rows = [
        [
            f"{size['documents']:,}", *_of_size(size), f"{size['overlap']:.2f}", f"{size['rss_mb']:.0f} MB",
            f"{size['index_bytes'] / 1e6:.0f} MB",
        ]
        for size in found["sizes"]
    ]  # fmt: skip
    head = "documents | search everywhere | naive FTS5 | tantivy | in a session | assemble, marked"
    parts = [_where(found["machine"]), "", _table(f"{head} | overlap | memory | index", rows)]
    for name, kind in (("by_words", "words"), ("by_limit", "results")):
        figures = found["largest"][name]
        parts.append(_table(" | ".join([kind, *figures]), [["ms", *map(_both, figures.values())]]))
    return "\n".join(parts)


def _of_size(size: dict[str, Any]) -> list[str]:
    names = ("search_ms", "naive_ms", "tantivy_ms", "session_ms", "assemble_ms")
    return [_both(size[name]) if name in size else "" for name in names]


def _kept(name: str, folder: str = os.path.join(_HOME, "results")) -> dict[str, Any] | None:
    path = os.path.join(folder, f"{name}.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        kept: dict[str, Any] = json.load(file)
    return kept


def _both(values: list[float]) -> str:
    """Median and tail."""
    return f"{percentile(values, 0.5):.1f} / {percentile(values, 0.95):.1f}"


def results_as_markdown() -> str:
    """What has a target, in one table; then relevance, known errors, redaction and the long harness."""
    kept = [found for name in _ORDER if (found := _kept(name))]
    runs = dict.fromkeys(f"{one['machine']['date']} {one['machine']['commit']}" for one in kept)
    rows = [row for one in kept for row in _targets(one)]
    parts = [
        f"Runs: {', '.join(runs)}; {kept[0]['machine']['cpus']} CPUs ({kept[0]['machine']['cpu']}).\n" if kept else "",
        _table("benchmark | figure | value | target | | min | max", rows),
    ]
    for name, table in (("relevance", _relevance), ("errors-held-out", _errors), ("secrets", _secrets)):
        if found := _kept(name):
            parts.append(table(found))
    tortured = [found for part in _PARTS if (found := _kept(part, _TORTURE))]
    return "\n".join([*parts, _torture(tortured)] if tortured else parts)


def _targets(result: dict[str, Any]) -> Iterator[list[str]]:
    """Every figure that missed its target; of those that met the same target, the one that is nearest to it."""
    groups: dict[object, list[dict[str, Any]]] = {}
    for one in result["figures"]:
        if one["limit"] is not None:
            groups.setdefault((one["limit"], one["unit"]) if one["is_met"] else one["name"], []).append(one)
    for group in groups.values():
        worst = max(group, key=lambda one: -one["value"] if one["is_minimum"] else one["value"])
        others = f" (the worst of {len(group)})" if len(group) > 1 else ""
        yield [
            result["benchmark"], worst["name"] + others, f"{short(worst['value'])} {worst['unit']}".rstrip(),
            f"{'≥' if worst['is_minimum'] else '≤'} {worst['limit']:g}", "met" if worst["is_met"] else "**missed**",
            short(min(worst["values"])), short(max(worst["values"])),
        ]  # fmt: skip


def _relevance(result: dict[str, Any]) -> str:
    """nDCG@10 of each collection, and of its peers."""
    values: dict[str, dict[str, float]] = {}
    for one in result["figures"]:
        collection, _, name = one["name"].partition(", ")
        values.setdefault(collection, {})[name] = one["value"]
    engines = ("ctxrank", "peer: naive FTS5", "peer: bm25s", "peer: tantivy")
    rows: list[list[str]] = []
    for collection, of in values.items():
        bounds = [f"{value:+.3f}" for name, value in of.items() if "95 %" in name]
        nearest = next(name for name in of if name.startswith("gain over ")).removeprefix("gain over ").split(",")[0]
        scores = [f"{of[f'{engine}, nDCG@10']:.3f}" for engine in engines]
        rows.append([collection, *scores, f"{of['ctxrank, recall@100']:.3f}", f"{nearest}: {' … '.join(bounds)}"])
    head = "nDCG@10 | ctxrank | naive FTS5 | bm25s | tantivy | recall@100 | gain, 95 %"
    return f"### relevance\n\n{_where(result['machine'])} {result['notes'][0]}\n\n{_table(head, rows)}"


def _torture(results: list[dict[str, Any]]) -> str:
    """What the long harness did, and what it counted."""
    rows: list[list[str]] = []
    for one in results:
        counts = [
            f"{name.replace('_', ' ')} {len(value) if is_list(value) else value:,}"
            for name, value in one["outcome"].items()
            if name != "seed" and (isinstance(value, int | float) or is_list(value))
        ]
        rows.append([one["part"], ", ".join(counts), f"{one['machine']['date']}, commit {one['machine']['commit']}"])
    head = "### torture\n\n`make torture`; what each part does: `tests/torture/README.md`."
    return f"{head}\n\n{_table('part | counted | run', rows)}"


def _errors(result: dict[str, Any]) -> str:
    """Known errors: each scheme on the message templates and on the root causes, with the tools' codes and without."""
    rows = [
        [
            one["scheme"], "as printed" if one["texts"] == "text" else "codes removed",
            "tracebacks" if one["source"] == "pytb" else "messages",
            *(f"{one[name]:.3f}" for name in ("precision", "recall", "false_positives", "calibration_error")),
        ]
        for one in result["recognition"]
        if one["source"] == "templates pooled" or (one["source"] == "pytb" and one["texts"] == "text")
    ]  # fmt: skip
    times = [
        [f"{one['patterns']:,}", *(f"{one[name]:.1f}" for name in ("p50_ms", "p95_ms", "cpu_p95_ms", "limit_ms"))]
        for one in result.get("latency", [])
        if "patterns" in one
    ]
    head = "scheme | texts | source | precision | recall | answered of unknown | calibration error"
    return "\n".join(
        [
            f"### errors\n\n`benchmarks/errors/run.py`, held-out groups, {_where(result['machine'])}\n",
            _table(head, rows), _table("patterns stored | p50 ms | p95 | p95 of CPU | limit of p95", times),
        ]
    )  # fmt: skip


def _secrets(result: dict[str, Any]) -> str:
    """Redaction: what each set of rules finds and damages."""
    columns = ("format_recall", "labelled_removed", "errors_damaged", "lines_damaged")
    rows = [[name, *(f"{one[column]:.4g}" for column in columns)] for name, one in result["quality"].items()]
    head = f"### secrets\n\n`benchmarks/secrets/measure.py`, {_where(result['facts'])}"
    return f"{head}\n\n{_table('rules | format recall | labelled removed | errors damaged | lines damaged', rows)}"


def _where(on: dict[str, Any]) -> str:
    return f"{on['date']}, commit {on['commit']}, load {on['load'][0]:g} at the start."


def _table(head: str, rows: list[list[str]]) -> str:
    lines = [f"| {head} |", "|" + "---|" * (head.count(" |") + 1), *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
