"""Measure the redaction: python benchmarks/secrets/measure.py --data FOLDER [--out DIR] [--hostile]

FOLDER holds credential-formats/rules.json, errors/*.jsonl and, for prose, ir/*/corpus.jsonl. Source lines are those
of the Python that runs this. Vectors and labelled values are made while it runs and are stored nowhere.
Writes secrets.json and secrets.txt to benchmarks/results, or where --out says.
"""

import argparse
import json
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tests"))

import click
import machine
from hostile import SIZE, hostile_texts, texts_for
from labels import labelled
from other_detectors import Redactor, public_formats, shown_rules, stored_rules
from vectors import Vector, read_formats, vectors

from ctxrank.indexer.redaction.engine import find_rule, redact
from ctxrank.indexer.redaction.rules import FORMAT_RULES, RULES

_HERE = Path(__file__).resolve().parent
_VECTORS_EACH = 8
_LABELLED = 3800
_LABEL_SEED = 1
_MOST_LINES = 30_000
_WORDS = re.compile(r"passw|secret|token|api_?key|pwd|credential|passphrase|private_?key|access_?key", re.IGNORECASE)
_ORDINARY_CHARS = 2_000_000


def main() -> None:
    """Measure, print the tables, keep the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", metavar="FOLDER", type=Path, required=True)
    parser.add_argument("--out", metavar="DIR", type=Path, default=_HERE.parent / "results")
    parser.add_argument("--hostile", action="store_true", help="also the texts that are made to be slow (minutes)")
    options = parser.parse_args()
    formats = read_formats(options.data / "credential-formats" / "rules.json")
    made = [vectors(form, _VECTORS_EACH) for form in formats]
    errors = [json.loads(line)["text"] for path in sorted(options.data.glob("errors/*.jsonl")) for line in _lines(path)]
    lines = _source_lines()
    detectors: dict[str, Redactor] = {
        "the seed's 5 regexes": shown_rules(),
        "the predecessor's 16": stored_rules(),
        "the 221 formats, one by one": public_formats(formats),
        "ctxrank": _ours,
    }
    rows = {name: _quality(detector, made, errors, lines) for name, detector in detectors.items()}
    speed = _speed(options.data, errors, lines, [one.text for group in made for one in group], detectors)
    hostile = _hostile() if options.hostile else {}
    result = {
        "facts": machine.facts(),
        "formats": len(formats),
        "error_texts": len(errors),
        "source_lines": len(lines),
        "quality": rows,
        "missed": _missed(made),
        "speed": speed,
        "rules_alone": (alone := _rules_alone()),
        "hostile": hostile,
    }
    table = _table(rows, speed, hostile) + f"\nslowest rules alone (≤ 10 ms each): {json.dumps(alone)}\n"
    print(table)
    (options.out / "secrets.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (options.out / "secrets.txt").write_text(table, encoding="utf-8")


def _ours(text: str) -> str:
    return redact(text).text


def _quality(detector: Redactor, made: list[list[Vector]], errors: list[str], lines: list[str]) -> dict[str, float]:
    """Recall is the mean of the formats' own; damage is a share of texts that changed."""
    recalls = [statistics.fmean(one.secret not in detector(one.text) for one in group) for group in made]
    values = labelled(_LABELLED, _LABEL_SEED)
    return {
        "format_recall": statistics.fmean(recalls),
        "formats_seen": statistics.fmean(recall > 0 for recall in recalls),
        "labelled_removed": statistics.fmean(one.value not in detector(one.text) for one in values),
        "errors_damaged": statistics.fmean(detector(text) != text for text in errors),
        "lines_damaged": statistics.fmean(detector(line) != line for line in lines),
    }


def _missed(made: list[list[Vector]]) -> dict[str, int]:
    """How many vectors of a format stayed, where any did."""
    missed: defaultdict[str, int] = defaultdict(int)
    for group in made:
        for one in group:
            missed[one.format_id] += one.secret in _ours(one.text)
    return {name: count for name, count in missed.items() if count}


def _speed(
    data: Path, errors: list[str], lines: list[str], dense: list[str], detectors: dict[str, Redactor]
) -> dict[str, dict[str, float]]:
    """Processor time: megabytes a second on ordinary text, milliseconds a kilobyte where secrets are dense."""
    prose = [json.loads(line)["text"] for path in sorted(data.glob("ir/*/corpus.jsonl"))[:3] for line in _lines(path)]
    texts = {
        "code": "".join(_source_files())[:_ORDINARY_CHARS],
        "prose": "\n".join(prose)[:_ORDINARY_CHARS],
        "error output": "\n".join(errors)[:_ORDINARY_CHARS],
        "lines about secrets": "".join(lines)[:_ORDINARY_CHARS],
    }
    speeds: dict[str, dict[str, float]] = {}
    for name, detector in detectors.items():
        found = {f"{kind}_mb_s": len(text) / 1e6 / _seconds(detector, text) for kind, text in texts.items() if text}
        secrets = "\n".join(dense)[:100_000]
        found["dense_ms_kb"] = _seconds(detector, secrets) * 1000 / (len(secrets) / 1024)
        speeds[name] = found
    return speeds


def _seconds(detector: Redactor, text: str) -> float:
    times: list[float] = []
    for _ in range(3):
        start = time.process_time()
        detector(text)
        times.append(time.process_time() - start)
    return min(times)


def _hostile() -> dict[str, object]:
    """The slowest texts of 100 KB, where nothing was taken out: there the time is a pattern's, not a replacement's."""
    times: list[tuple[float, str]] = []
    for made_of, text in hostile_texts():
        start = time.process_time()
        found = redact(text)
        seconds = time.process_time() - start
        if not found.rules:
            times.append((seconds * 1000, made_of[:60]))
    times.sort(reverse=True)
    return {
        "texts": len(times),
        "characters": SIZE,
        "median_ms": statistics.median(time_ms for time_ms, _ in times),
        "p99_ms": times[len(times) // 100][0],
        "worst": [{"ms": round(time_ms, 1), "made_of": made_of} for time_ms, made_of in times[:10]],
    }


def _rules_alone() -> dict[str, object]:
    """Each rule by itself on texts made from its own pattern; of each its slowest text, the best of three tries."""
    slowest: list[tuple[float, str, str]] = []
    for rule in (*RULES, *FORMAT_RULES):
        times: list[tuple[float, str, str]] = []
        for made_of, text, places in texts_for(rule):
            tries: list[float] = []
            for _ in range(3):
                start = time.process_time()
                for _ in find_rule(rule, text, places):
                    pass
                tries.append(time.process_time() - start)
            times.append((min(tries) * 1000, rule.name, made_of[:60]))
        slowest.append(max(times))
    slowest.sort(reverse=True)
    return {
        "rules": len(slowest),
        "median_ms": statistics.median(time_ms for time_ms, _, _ in slowest),
        "worst": [
            {"ms": round(time_ms, 1), "rule": name, "made_of": made_of} for time_ms, name, made_of in slowest[:10]
        ],
    }


def _source_files() -> Iterator[str]:
    for folder in (Path(json.__file__).parent.parent, Path(click.__file__).parent.parent):
        for path in sorted(folder.rglob("*.py")):
            if "test" not in path.name:
                yield path.read_text(encoding="utf-8", errors="replace")


def _source_lines() -> list[str]:
    lines: dict[str, None] = {}
    for text in _source_files():
        for line in text.splitlines(keepends=True):
            if len(line) < 400 and _WORDS.search(line):
                lines[line] = None
        if len(lines) > _MOST_LINES:
            break
    return list(lines)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


_TARGETS = {
    "format_recall": "≥ .98", "labelled_removed": "≥ .80", "errors_damaged": "≤ .001", "lines_damaged": "≤ .01",
}  # fmt: skip


def _table(rows: dict[str, dict[str, float]], speed: dict[str, dict[str, float]], hostile: dict[str, object]) -> str:
    columns: dict[str, Callable[[str], float]] = {
        **{key: lambda name, key=key: rows[name][key] for key in _TARGETS},  # type: ignore[misc]
        **{key: lambda name, key=key: speed[name][key] for key in next(iter(speed.values()))},  # type: ignore[misc]
    }
    titles = [key.replace("_", " ") for key in columns]
    text = f"| detector | {' | '.join(titles)} |\n|{'---|' * (len(titles) + 1)}\n"
    for name in rows:
        text += f"| {name} | {' | '.join(f'{value(name):.3g}' for value in columns.values())} |\n"
    targets = [
        *_TARGETS.values(),
        *("≥ 25" if key.endswith("mb_s") else "≤ 2" for key in list(columns)[len(_TARGETS) :]),
    ]
    text += f"| target | {' | '.join(targets)} |\n"
    return text + (f"\nhostile: {json.dumps(hostile)}\n" if hostile else "")


if __name__ == "__main__":
    main()
