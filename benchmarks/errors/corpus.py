"""Error texts from real tools, and how they are split: what may be looked at, what is stored, what is asked.

    folder/rustc.jsonl     one JSON object a line: id, group, text, text_nocode; the file's name is the source's

A group holds texts of one cause. Whether a group is for development or held out is decided by a hash of its name
alone, before anybody looks at it. A round then leaves a fifth of the groups unknown, stores one member of every
other group and asks with all the rest.
"""

import hashlib
import json
import os
from collections import defaultdict
from typing import Literal, NamedTuple

HELD_OUT_SHARE = 0.3
UNKNOWN_SHARE = 0.2

Part = Literal["dev", "held-out", "all"]
Field = Literal["text", "text_nocode"]


class Row(NamedTuple):
    """One error text; `text_nocode` is the same without the tool's own codes."""

    id: str
    source: str
    group: str
    text: str
    text_nocode: str


class Round(NamedTuple):
    """One trial: what is stored, and the questions; a question whose group is not stored is unknown."""

    stored: list[Row]
    known: list[Row]
    unknown: list[Row]


def load(folder: str, part: Part) -> list[Row]:
    """The rows of every *.jsonl in the folder that belong to this part."""
    rows: list[Row] = []
    for name in sorted(os.listdir(folder)):
        source, extension = os.path.splitext(name)
        if extension != ".jsonl":
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            for line in file:
                one = json.loads(line)
                if part == "all" or (part == "held-out") == is_held_out(one["group"]):
                    rows.append(Row(str(one["id"]), source, one["group"], one["text"], one["text_nocode"]))
    return rows


def is_held_out(group: str) -> bool:
    """Whether nobody looks at this group before the end."""
    return _share(group) < HELD_OUT_SHARE


def make_round(rows: list[Row], seed: int) -> Round:
    """Which groups stay unknown and which member is stored: by hash of the seed and the name."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    stored: list[Row] = []
    known: list[Row] = []
    unknown: list[Row] = []
    for group, members in groups.items():
        if _share(f"{seed}:unknown:{group}") < UNKNOWN_SHARE:
            unknown += members
            continue
        members = sorted(members, key=lambda row: _share(f"{seed}:stored:{row.id}"))
        stored.append(members[0])
        known += members[1:]
    return Round(stored, known, unknown)


def make_sized_round(rows: list[Row], size: int, others: int, seed: int) -> Round:
    """A round with so many groups stored, and so many texts of other groups asked."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.group].append(row)
    # A group with one member alone can be stored, but not asked for.
    names = sorted(groups, key=lambda name: (len(groups[name]) < 2, _share(f"{seed}:{size}:{name}")))
    # A fifth of the groups stays unknown even where there are fewer than are to be stored.
    chosen = names[: min(size, round(len(names) * (1 - UNKNOWN_SHARE)))]
    left = sorted(
        (row for name in names[len(chosen) :] for row in groups[name]), key=lambda row: _share(f"{seed}:{row.id}")
    )
    stored: list[Row] = []
    known: list[Row] = []
    for name in chosen:
        first, *rest = sorted(groups[name], key=lambda row: _share(f"{seed}:stored:{row.id}"))
        stored.append(first)
        known += rest
    return Round(stored, known, left[:others])


def text_of(row: Row, field: Field) -> str:
    """The text that is stored or asked in this trial."""
    return row.text if field == "text" else row.text_nocode


def _share(name: str) -> float:
    """A number in [0, 1) that depends on the name alone."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:12], 16) / 16**12
