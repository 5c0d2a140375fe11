"""Put the kept results between the markers of this README.md and of the one above: python benchmarks/report.py"""

import json
import os
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
    "in_process",
    "commands",
    "crowd",
    "indexing",
    "indexing_scale",
    "rescan",
    "memory",
    "relevance",
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
    lines = [
        "| store | search everywhere | plain FTS5 | tantivy | search in a session | assemble |",
        "|---|---|---|---|---|---|",
    ]
    if real := _kept("real_store"):
        cpu = {one["name"].removesuffix(", p95 of CPU"): one["values"] for one in real["figures"]}
        columns = ("search in everything", "peer: naive FTS5 in everything", "", "search in a session")
        shown = [_both(cpu[name]) if name else "" for name in (*columns, "assemble, delivery marked")]
        lines.append(f"| **real**: {real['notes'][0].partition(';')[0]} | {' | '.join(shown)} |")
    for size in (_kept("scale") or {"sizes": []})["sizes"]:
        names = ("search_ms", "naive_ms", "tantivy_ms", "session_ms", "assemble_ms")
        shown = [_both(size[name]) if name in size else "" for name in names]
        lines.append(f"| generated: {size['documents']:,} documents | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def scale_as_markdown() -> str:
    """The same of generated stores with what else is known of them, and the largest by words and by results."""
    found = _kept("scale")
    if found is None:
        return ""
    lines = [
        _where(found["machine"]), "",
        "| documents | search everywhere | naive FTS5 | tantivy | in a session | assemble, marked | exact | overlap "
        "| memory | index |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for size in found["sizes"]:
        names = ("search_ms", "naive_ms", "tantivy_ms", "session_ms", "assemble_ms")
        shown = " | ".join([_both(size[name]) if name in size else "" for name in names])
        lines.append(
            f"| {size['documents']:,} | {shown} | {size['exact_share']:.0%} | {size['overlap']:.2f} "
            f"| {size['rss_mb']:.0f} MB | {size['index_bytes'] / 1e6:.0f} MB |"
        )
    for name, kind in (("by_words", "words"), ("by_limit", "results")):
        figures = found["largest"][name]
        lines += ["", f"| {kind} | {' | '.join(figures)} |", f"|---|{'---|' * len(figures)}"]
        lines.append(f"| ms | {' | '.join(map(_both, figures.values()))} |")
    return "\n".join(lines) + "\n"


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
    """One table for each results file that is there."""
    parts: list[str] = []
    for name in _ORDER:
        path = os.path.join(_HOME, "results", f"{name}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                parts.append(_table(json.load(file)))
    for name, table in (("errors-held-out", _errors), ("links", _links), ("secrets", _secrets)):
        path = os.path.join(_HOME, "results", f"{name}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                parts.append(table(json.load(file)))
    tortured = [found for part in _PARTS if (found := _kept(part, _TORTURE))]
    return "\n".join([*parts, _torture(tortured)] if tortured else parts)


def _torture(results: list[dict[str, Any]]) -> str:
    """What the long harness did, and what it counted."""
    lines = ["### torture", "", "`make torture`; what each part does: `tests/torture/README.md`.", ""]
    lines += ["| part | counted | run |", "|---|---|---|"]
    for one in results:
        counts = [
            f"{name.replace('_', ' ')} {len(value) if is_list(value) else value:,}"
            for name, value in one["outcome"].items()
            if isinstance(value, int | float) or is_list(value)
        ]
        on = one["machine"]
        lines.append(f"| {one['part']} | {', '.join(counts)} | {on['date']}, commit {on['commit']} |")
    return "\n".join(lines) + "\n"


def _errors(result: dict[str, Any]) -> str:
    """Known errors: each scheme on the message templates and on the root causes, with the tools' codes and without."""
    lines = [
        "### errors", "", f"`benchmarks/errors/run.py --data DIR`, held-out groups, {_where(result['machine'])}", "",
        "| scheme | texts | source | precision | recall | answered of unknown | calibration error | questions |",
        "|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for one in result["recognition"]:
        if one["source"] in ("templates pooled", "pytb"):
            texts = "as printed" if one["texts"] == "text" else "codes removed"
            source = "tracebacks" if one["source"] == "pytb" else "messages"
            lines.append(
                f"| {one['scheme']} | {texts} | {source} | {one['precision']:.3f} | {one['recall']:.3f} "
                f"| {one['false_positives']:.3f} | {one['calibration_error']:.3f} | {one['questions']} |"
            )
    lines += ["", "| lookup among | p50 | p95 | p95 of CPU | limit of p95 |", "|---|---|---|---|---|"]
    for one in result.get("latency", []):
        if "patterns" in one:
            lines.append(
                f"| {one['patterns']:,} patterns | {one['p50_ms']:.1f} ms | {one['p95_ms']:.1f} ms "
                f"| {one['cpu_p95_ms']:.1f} ms | {one['limit_ms']:g} ms |"
            )
    return "\n".join(lines) + "\n"


def _links(result: dict[str, Any]) -> str:
    """Forgotten links: each scheme's recall in each world, where nothing was deleted."""
    schemes = list(dict.fromkeys(one["scheme"] for one in result["figures"]))
    rows: dict[tuple[str, str, int], dict[str, float]] = {}
    for one in result["figures"]:
        if not one["deleted"]:
            rows.setdefault((one["world"], one["wording"], one["budget"]), {})[one["scheme"]] = one["recall"]
    lines = [
        "### links", "", f"Recall of what a task requires, {_where(result['machine'])}", "",
        f"| world | wording | budget | {' | '.join(schemes)} |", f"|---|---|---|{'---|' * len(schemes)}",
    ]  # fmt: skip
    for (world, wording, budget), recalls in rows.items():
        shown = " | ".join(f"{recalls[scheme]:.3f}" if scheme in recalls else "" for scheme in schemes)
        lines.append(f"| {world} | {wording} | {budget} | {shown} |")
    return "\n".join(lines) + "\n"


def _secrets(result: dict[str, Any]) -> str:
    """Redaction: what each set of rules finds and damages."""
    lines = [
        "### secrets", "", f"`benchmarks/secrets/measure.py --data DIR`, {_where(result['facts'])}", "",
        "| rules | format recall | labelled removed | errors damaged | lines damaged |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for name, one in result["quality"].items():
        lines.append(
            f"| {name} | {one['format_recall']:.3f} | {one['labelled_removed']:.3f} | {one['errors_damaged']:.4f} "
            f"| {one['lines_damaged']:.4f} |"
        )
    return "\n".join(lines) + "\n"


def _where(on: dict[str, Any]) -> str:
    return f"{on['date']}, commit {on['commit']}, {on['cpus']} CPUs ({on['cpu']}), load {on['load'][0]:g} at the start."


def _table(result: dict[str, Any]) -> str:
    on = result["machine"]
    lines = [
        f"### {result['benchmark']}",
        "",
        f"`{result['command']}`, {on['date']}, commit {on['commit']}, {on['cpus']} CPUs ({on['cpu']}), "
        f"load {on['load'][0]:g} at the start, {on['python']}, apsw {on['apsw']}.",
        "",
        *result["notes"],
        "",
        "| figure | value | target | | min | max | runs |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in result["figures"]:
        sign = "≥" if one["is_minimum"] else "≤"
        target = "" if one["limit"] is None else f"{sign} {one['limit']:g} {one['unit']}"
        verdict = {True: "met", False: "**missed**", None: ""}[one["is_met"]]
        values = one["values"]
        lines.append(
            f"| {one['name']} | {short(one['value'])} {one['unit']} | {target} | {verdict} "
            f"| {short(min(values))} | {short(max(values))} | {len(values)} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
