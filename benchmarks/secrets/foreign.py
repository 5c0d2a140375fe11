"""Measure the redaction on labels of others: python benchmarks/secrets/foreign.py SET=CHECKOUT … [--missed FILE]

    python benchmarks/secrets/foreign.py trufflehog=~/trufflehog credsweeper=~/CredSweeper gitleaks=~/gitleaks

SET is one of the public rule sets below, CHECKOUT a copy of its repository. Their tests hold texts and say what is to
be found in them; these are read by a program, and nothing of them is kept here. A value counts as removed if it
stands nowhere in the redacted text (`all copies`), or less often than before (`a copy`).
"""

import argparse
import json
import math
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tests"))

import yaml
from go_literals import calls, lists, tables
from labels import PLACES
from matching import python_pattern

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


def gitleaks(folder: Path) -> Iterator[Label]:
    """What its rules are tried on: whole texts, and values behind a name, in the places where names stand."""
    rules = tomllib.loads((folder / "config" / "gitleaks.toml").read_text(encoding="utf-8"))["rules"]
    patterns = {rule["id"]: re.compile(python_pattern(rule["regex"])) for rule in rules if "regex" in rule}
    places = [PLACES[name] for name in _PLACES]
    for path in sorted(folder.glob("cmd/generate/config/rules/*.go")):
        source = path.read_text(encoding="utf-8")
        for function in source.split("\nfunc ")[1:]:
            rule = re.search(r'RuleID:\s*"([^"]+)"', function)
            pattern = patterns.get(rule[1]) if rule else None
            whole = "package x\nfunc " + function
            for name in ("GenerateSampleSecrets", "GenerateSampleSecret"):
                for given in calls(whole, name):
                    if len(given) == 2:
                        for place in places:
                            yield Label(path.name, _placed(place, f"{given[0]}_token", given[1]), given[1])
            for text in lists(whole, "tps"):
                match = pattern.search(text) if pattern else None
                if match:
                    secret = next((group for group in match.groups() if group), match[0])
                    yield Label(path.name, text, secret)


_PLACES = ("json", "python", "ini", "env", "yaml", "yaml_quoted", "csharp", "go", "rocket", "xml", "terraform", "dict")


def _placed(place: str, name: str, value: str) -> str:
    pascal = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return place.format(
        value=value,
        name=name,
        camel=pascal[:1].lower() + pascal[1:],
        pascal=pascal,
        upper=name.upper(),
        kebab=name.replace("_", "-"),
        dotted=name.replace("_", "."),
        title=name.title().replace("_", "-"),
    )


def credsweeper(folder: Path) -> Iterator[Label]:
    """What it finds in its samples, each a file: the values that stand in the file as they were found."""
    texts: dict[str, str] = {}
    for found in json.loads((folder / "tests" / "data" / "output.json").read_text(encoding="utf-8")):
        for line in found["line_data_list"]:
            path = line["path"]
            if path not in texts and (folder / path).is_file():
                texts[path] = (folder / path).read_text(encoding="utf-8", errors="replace")
            if path in texts and line["value"] in texts[path] and found["rule"] not in _NO_SECRETS:
                yield Label(f"{path} {found['rule']}", texts[path], line["value"])


# What it reports and what by itself opens nothing: names of users, hosts and buckets, numbers that are used once.
_NO_SECRETS = ("UUID", "Salt", "Nonce", "AWS S3 Bucket", "Firebase Domain", "Tencent WeChat API App ID")


def kingfisher(folder: Path) -> Iterator[Label]:
    """The examples of its rules, and in each the group of the rule's own expression that is hardest to guess."""
    yield from _examples(folder, "data/rules/**/*.y*ml")


def noseyparker(folder: Path) -> Iterator[Label]:
    """The same of the rules that these were once."""
    yield from _examples(folder, "crates/noseyparker/data/default/builtin/rules/*.y*ml")


def _examples(folder: Path, files: str) -> Iterator[Label]:
    for path in sorted(folder.glob(files)):
        for rule in yaml.safe_load(path.read_text(encoding="utf-8"))["rules"]:
            kinds = rule.get("categories", [])
            if rule.get("visible") is False or ("identifier" in kinds and "secret" not in kinds):
                continue  # what opens nothing by itself
            flags, expression = _flags(rule["pattern"])
            try:
                pattern = re.compile(python_pattern(expression), flags)
            except re.error as error:
                print(f"{rule['id']}: {error}", file=sys.stderr)
                continue
            for text in rule["examples"]:
                if match := pattern.search(text):
                    yield Label(
                        rule["id"], text, max([group for group in match.groups() if group] or [match[0]], key=_bits)
                    )


_FLAGS = {"i": re.IGNORECASE, "x": re.VERBOSE, "m": re.MULTILINE, "s": re.DOTALL}


def _flags(expression: str) -> tuple[int, str]:
    """The flags at the beginning of an expression, and the rest of it."""
    flags = 0
    while begin := re.match(r"\s*\(\?([a-z]+)\)", expression):
        for letter in begin[1]:
            flags |= _FLAGS.get(letter, 0)
        expression = expression[begin.end() :]
    return flags, expression


def secretlint(folder: Path) -> Iterator[Label]:
    """What the snapshots of its rules' tests say is found, by where it stands."""
    for path in sorted(folder.glob("packages/@secretlint/secretlint-rule-*/test/snapshots/**/output.json")):
        inputs = sorted(path.parent.glob("input*"))
        text = inputs[0].read_text(encoding="utf-8", errors="replace") if inputs else ""
        for message in json.loads(path.read_text(encoding="utf-8")).get("messages", []):
            start, end = message.get("range", (0, 0))
            if text[start:end]:
                yield Label(str(path.parent.relative_to(folder)), text, text[start:end])


SETS: dict[str, Callable[[Path], Iterator[Label]]] = {
    "gitleaks": gitleaks,
    "credsweeper": credsweeper,
    "trufflehog": trufflehog,
    "kingfisher": kingfisher,
    "noseyparker": noseyparker,
    "secretlint": secretlint,
}


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
