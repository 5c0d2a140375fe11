"""Put the kept results into README.md, between its two markers: python benchmarks/report.py"""

import json
import os
from typing import Any

from figures import short

_HOME = os.path.dirname(os.path.abspath(__file__))
_BEGIN, _END = "<!-- results -->", "<!-- end of results -->"
_ORDER = ("whole_process", "in_process", "commands", "crowd", "indexing", "rescan", "memory", "relevance", "history")


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
    return "\n".join(parts)


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
