"""Put the kept results into README.md, between its two markers: python benchmarks/report.py"""

import json
import os
from typing import Any

from figures import short

_HOME = os.path.dirname(os.path.abspath(__file__))
_BEGIN, _END = "<!-- results -->", "<!-- end of results -->"
_ORDER = (
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
    """Rewrite the part of README.md that shows the results."""
    path = os.path.join(_HOME, "README.md")
    with open(path, encoding="utf-8") as file:
        before, _, rest = file.read().partition(_BEGIN)
    _, _, after = rest.partition(_END)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{_BEGIN}\n\n{results_as_markdown()}\n{_END}{after}")


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
    return "\n".join(parts)


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
