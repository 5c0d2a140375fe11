"""Vectors of the credential formats, made when they are needed.

A vector is a text in which a format's own expression finds a secret of enough entropy, and that secret.
"""

import json
import math
import random
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from matching import python_pattern, sample

_TRIES = 400


class Format(NamedTuple):
    """A format as gitleaks describes it."""

    id: str
    pattern: str
    entropy: float
    keywords: tuple[str, ...]
    secret_group: int  # 0 where the first group that took part is meant


class Vector(NamedTuple):
    """A text with one secret in it; `format_id` says whose."""

    format_id: str
    text: str
    secret: str


def read_formats(path: Path) -> tuple[Format, ...]:
    """The formats of a `rules.json`, their expressions as Python has them."""
    return tuple(
        Format(
            rule["id"],
            python_pattern(rule["regex"]),
            float(rule.get("entropy", 0)),
            tuple(rule["keywords"]),
            int(rule.get("secretGroup", 0)),
        )
        for rule in json.loads(path.read_text(encoding="utf-8"))["rules"]
    )


def vectors(form: Format, count: int) -> list[Vector]:
    """`count` vectors of one format; the keyword stands in the line above where the form itself lacks it."""
    rng = random.Random(form.id)
    expression = re.compile(form.pattern)
    found: list[Vector] = []
    for _ in range(_TRIES * count):
        text = sample(form.pattern, rng)
        match = expression.search(text)
        if match is None:
            continue
        secret = secret_of(form, match)
        if entropy(secret) < form.entropy:
            continue
        if not any(keyword in text.lower() for keyword in form.keywords):
            text = f"# {form.keywords[0]}\n{text}"
        found.append(Vector(form.id, text, secret))
        if len(found) == count:
            break
    return found


def secret_of(form: Format, match: re.Match[str]) -> str:
    """The secret group, or the first group that took part, or everything."""
    if form.secret_group:
        return str(match[form.secret_group])
    return next((group for group in match.groups() if group), match[0])


def entropy(text: str) -> float:
    """Shannon's, in bits for each character."""
    counts = Counter(text).values()
    return -sum(count / len(text) * math.log2(count / len(text)) for count in counts) if text else 0.0
