"""Reading one linked artifact from its text.

Reading forgives: a status that is unknown, a field of the wrong kind or a broken frontmatter is a problem with a
line, and what can be read of the artifact stays.
"""

import re

from ctxrank.extensions.links.artifact import FOLDER, ID, IDENTITY_ID, LINK_KINDS, TYPES, Link, LinkedArtifact
from ctxrank.extensions.links.globs import MAX_PATTERN_CHARS, MAX_PATTERNS
from ctxrank.indexer.light_typing import is_dict, is_list
from ctxrank.indexer.text.frontmatter import Problem, read_frontmatter
from ctxrank.indexer.text.lines import one_line

_TYPE_OF_PLACE = {
    "system/specs/": "spec",
    "system/norms/": "norm",
    "system/rationale/": "decision",
    "work/tasks/": "task",
}
_TYPE_OF_PREFIX = {"SPEC-": "spec", "DEC-": "decision", "NORM-": "norm", "TASK-": "task"}
_TYPE_WORDS = {**{name: name for name in TYPES}, "rationale": "decision", "specification": "spec"}
_STATUSES: dict[str, tuple[str, ...]] = {
    "spec": ("draft", "current", "deprecated"),
    "decision": ("proposed", "accepted", "deprecated", "superseded"),
    "task": ("open", "in_progress", "done"),
    "norm": ("draft", "current", "deprecated"),
    "identity": (),
}
_STATUS_WORDS = {
    "spec": {"approved": "current", "implemented": "current"},
    "norm": {"approved": "current", "active": "current"},
    "task": {"created": "open", "active": "in_progress", "completed": "done"},
}


def parse_artifact(path: str, text: str) -> LinkedArtifact:
    """An artifact from its redacted text; `path` is relative to the folder that holds `.contextia`. Never raises."""
    matter = read_frontmatter(text)
    reader = _Reader(matter.values, matter.lines)
    place = path.removeprefix(f"{FOLDER}/")
    is_identity = place == "system/identity.md"
    problems = list(matter.problems)
    if is_identity and not matter.values:
        problems = []  # the one artifact that needs no frontmatter
    id_ = reader.text("id") or (IDENTITY_ID if is_identity else "")
    type_ = "identity" if is_identity else _type_of(place, reader.text("type"), id_)
    if not type_:
        return LinkedArtifact(path)  # a README, say: no artifact
    if id_ and not re.fullmatch(ID, id_):
        if not is_identity:
            message = f"id '{id_}' is not of the form SPEC-NAME-001"
            problems.append(Problem("missing-required-field", reader.line("id"), message))
        id_ = IDENTITY_ID if is_identity else ""
    heading = next((line for line in matter.body.split("\n")[:40] if line.startswith("# ")), "")
    title = reader.text("title") or one_line(heading[2:]) or (id_ if is_identity else "")
    status = _status(type_, reader, problems)
    if not is_identity and not any(problem.rule == "malformed-frontmatter" for problem in problems):
        given = {"id": "id" in matter.values, "title": reader.text("title")}
        if type_ in ("spec", "task"):
            given["status"] = status
        lacking = (name for name, value in given.items() if not value)
        problems += (Problem("missing-required-field", 1, f"'{name}' is missing") for name in lacking)
    successor = re.search(ID, reader.text("superseded_by"))
    globs = (type_ == "norm" and reader.items("scope")) or reader.items("paths")
    if len(globs) > MAX_PATTERNS:
        message = f"the patterns from here on are left out: there may be {MAX_PATTERNS:,}"
        problems.append(Problem("malformed-frontmatter", globs[MAX_PATTERNS][1], message))
        del globs[MAX_PATTERNS:]
    for glob, line in globs:
        if len(glob) > MAX_PATTERN_CHARS:
            message = f"a pattern of {len(glob):,} characters is left out: it may have {MAX_PATTERN_CHARS:,}"
            problems.append(Problem("malformed-frontmatter", line, message))
    return LinkedArtifact(
        path,
        id_,
        type_,
        title,
        status,
        successor[0] if successor else "",
        _links(reader),
        tuple(glob for glob, _ in globs if len(glob) <= MAX_PATTERN_CHARS),
        reader.fields(status),
        matter.body,
        tuple(problems),
    )


def _type_of(place: str, declared: str, id_: str) -> str:
    """What a file is: by its folder, else by what it says, else by the first letters of its id."""
    for folder, type_ in _TYPE_OF_PLACE.items():
        if place.startswith(folder):
            return type_
    by_prefix = next((type_ for prefix, type_ in _TYPE_OF_PREFIX.items() if id_.startswith(prefix)), "")
    return _TYPE_WORDS.get(declared.lower(), by_prefix)


def _status(type_: str, reader: "_Reader", problems: list[Problem]) -> str:
    """The status in our words; an unknown one is kept as it is and reported."""
    typed = reader.text("status")
    folded = typed.lower().replace("-", "_").replace(" ", "_")
    status = _STATUS_WORDS.get(type_, {}).get(folded, folded)
    known = _STATUSES[type_]
    if typed and known and status not in known:
        message = f"status '{typed}' is unknown; a {type_} is {', '.join(known)}"
        problems.append(Problem("unknown-status", reader.line("status"), message))
        return typed
    return status


def _links(reader: "_Reader") -> tuple[Link, ...]:
    """`links: {specs: […]}`, `specs: […]` at the top and `links: [ids]`, each id once, in this order."""
    found: dict[str, Link] = {}
    for kind in (*LINK_KINDS, ""):
        for path in (f"links.{kind}", kind) if kind else ("links",):
            for id_, line in reader.items(path):
                found.setdefault(id_, Link(kind, id_, line))
    return tuple(found.values())


class _Reader:
    """The frontmatter's values with their lines, forgiving about one value where a list belongs."""

    def __init__(self, values: dict[str, object], lines: dict[str, int]) -> None:
        self._values = values
        self._lines = lines

    def text(self, name: str) -> str:
        """A value that is text, on one line; '' for none or for another kind."""
        value = self._values.get(name)
        return one_line(value) if isinstance(value, str) else ""

    def line(self, path: str) -> int:
        """The line of a value; 1 where it has none."""
        return self._lines.get(path, 1)

    def items(self, path: str) -> list[tuple[str, int]]:
        """A list's texts with their lines; one text, or several with commas, is a list too."""
        value: object = self._values
        for name in path.split("."):
            value = value.get(name) if is_dict(value) else None
        if isinstance(value, str):
            # A comma inside braces belongs to a pattern.
            texts = re.findall(r"(?:\{[^{}]*\}|[^,])+", value)
            return [(text, self.line(path)) for part in texts if (text := one_line(part))]
        if not is_list(value):
            return []
        parts: list[object] = list(value)
        return [
            (text, self.line(f"{path}.{at}"))
            for at, item in enumerate(parts)
            if isinstance(item, str) and (text := one_line(item))
        ]

    def fields(self, status: str) -> tuple[tuple[str, str], ...]:
        """All values for showing, the status in our words, without those that every header carries."""
        shown: list[tuple[str, str]] = []
        for name, value in self._values.items():
            if name in ("id", "type"):
                continue
            if name == "status":
                shown.append((name, status))
            elif name == "links" and is_dict(value):
                shown += [(one_line(str(kind)), _on_one_line(ids)) for kind, ids in value.items()]
            else:
                shown.append((one_line(name), _on_one_line(value)))
        return tuple((name, text) for name, text in shown if text)


def _on_one_line(value: object) -> str:
    if is_list(value):
        return ", ".join(filter(None, (_on_one_line(item) for item in value)))
    if is_dict(value):
        return "; ".join(f"{one_line(str(key))}: {_on_one_line(item)}" for key, item in value.items())
    return one_line(str(value))
