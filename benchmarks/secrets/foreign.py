"""Measure the redaction on labels of others: python benchmarks/secrets/foreign.py SET=CHECKOUT … [--missed FILE]

    python benchmarks/secrets/foreign.py trufflehog=~/trufflehog credsweeper=~/CredSweeper gitleaks=~/gitleaks

SET is one of the three public rule sets, CHECKOUT a copy of its repository. Their tests hold texts and say what is to
be found in them; these are read by a program, and nothing of them is kept here. A value counts as removed if it
stands nowhere in the redacted text (`all copies`), or less often than before (`a copy`).
"""

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from go_literals import tables

from ctxrank.indexer.redaction.engine import redact

_LEAST_PART = 4


class Label(NamedTuple):
    """A text, a value in it that is to go, and where it is from."""

    source: str
    text: str
    value: str


def trufflehog(folder: Path) -> Iterator[Label]:
    """What the tests of its detectors want found. What is wanted as one but stands apart (an id and a key that are
    joined) counts by its part that is harder to guess."""
    for path in sorted(folder.glob("pkg/detectors/**/*_test.go")):
        if path.name.endswith("_integration_test.go"):
            continue
        source = str(path.relative_to(folder))
        for case in tables(path.read_text(encoding="utf-8", errors="replace")):
            for wanted in dict.fromkeys(case.wanted):
                value = wanted if wanted in case.text else _hardest_part(wanted, case.text)
                if value:
                    yield Label(source, case.text, value)


def _hardest_part(wanted: str, text: str) -> str:
    """Of a string joined from parts of the text, the part with the most bits; '' if it is not joined from such."""
    parts: list[str] = []
    rest = wanted
    while rest:
        size = len(rest)
        while size >= _LEAST_PART and rest[:size] not in text:
            size -= 1
        if size >= _LEAST_PART:
            parts.append(rest[:size])
            rest = rest[size:]
        else:
            rest = rest[1:]  # a sign between the parts
    whole = sum(map(len, parts))
    return max(parts, key=_bits) if parts and whole >= len(wanted) - 2 * len(parts) else ""


def _bits(text: str) -> float:
    counts = Counter(text).values()
    return -sum(count * math.log2(count / len(text)) for count in counts)


SETS: dict[str, Callable[[Path], Iterator[Label]]] = {"trufflehog": trufflehog}


def main() -> None:
    """Print a row for each set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sets", nargs="+", metavar="SET=CHECKOUT")
    parser.add_argument("--missed", type=Path, metavar="FILE", help="write what was missed, one a line")
    options = parser.parse_args()
    missed: list[Label] = []
    print("| set | texts | values | all copies | a copy | texts without a miss |\n|---|---|---|---|---|---|")
    for given in options.sets:
        name, _, folder = given.partition("=")
        labels = list(dict.fromkeys(SETS[name](Path(folder).expanduser())))
        clean = {text: redact(text).text for text in dict.fromkeys(label.text for label in labels)}
        left = [label for label in labels if label.value in clean[label.text]]
        lessened = sum(clean[one.text].count(one.value) < one.text.count(one.value) for one in labels)
        missed += left
        print(
            f"| {name} | {len(clean)} | {len(labels)} | {1 - len(left) / len(labels):.3f}"
            f" | {lessened / len(labels):.3f} | {1 - len({label.text for label in left}) / len(clean):.3f} |"
        )
    if options.missed:
        lines = [f"{one.source}\t{one.value!r}\t{clean_line(one)!r}\n" for one in missed]
        options.missed.write_text("".join(lines), encoding="utf-8")


def clean_line(label: Label) -> str:
    """What stands around the value."""
    at = label.text.find(label.value)
    return label.text[max(0, at - 160) : at + len(label.value) + 60]


if __name__ == "__main__":
    main()
