"""A linked artifact: a task, spec, decision or norm in Markdown, and its text at three levels of detail.

    .contextia/
      config.yaml              severities of `check`, where annotations are looked for
      system/identity.md       what this project is
      system/specs/            what the code has to do            SPEC-BILLING-001
      system/norms/            how code is written here           NORM-ERROR-001
      system/rationale/        why it is so                       DEC-BILLING-001
      work/tasks/              what is to be done                 TASK-042

One file becomes one LinkedArtifact (links/reading.py), a row with its texts (links/store.py), and a node
of a graph (links/graph.py). The texts are what is stored, so that a query reads no file:

    meta       its fields, one `key: value` a line
    summary    meta and the first section under the title
    full       meta and everything

Sections of a block begin with `=== SPEC: SPEC-A-001 | … ===`. Nothing from a file may look like that: such a
line gets a backslash before it. A Markdown underline (`=====` alone) is none.
"""

import re

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.text.lines import one_line, printable

if TYPE_CHECKING:  # the query path reads no frontmatter
    from ctxrank.indexer.text.frontmatter import Problem

FOLDER = ".contextia"
VERSION = 1  # of the tables: the number of the last schema_….sql
TYPES = ("spec", "decision", "norm", "task", "identity")
LINK_KINDS = ("specs", "decisions", "norms")  # in the order in which links are followed
IDENTITY_ID = "IDENTITY"

ID = r"[A-Z]+(?:-[A-Za-z0-9]+)+"
RETIRED = ("deprecated", "superseded")

LEVELS = ("meta", "summary", "full")
# The equals sign and what looks like it.
_EQUALS = "=\uff1d\ufe66\u2550\ua78a\u2a75\u2a76\u30a0"
_BREAKS = str.maketrans({"\u2028": "\n", "\u2029": "\n", "\x85": "\n", "\x0b": "\n", "\x0c": "\n"})


class Link(NamedTuple):
    """One reference: the list it is in (specs, decisions, norms, or '' for a flat list), the id, the line."""

    kind: str
    id: str
    line: int


class LinkedArtifact(NamedTuple):
    """One file as it was read; `type` is '' where it is no artifact, `id` where it has none that can be used.

    Texts are redacted. `fields` are the frontmatter's values for showing, in the file's order, each on one line.
    """

    path: str
    id: str = ""
    type: str = ""
    title: str = ""
    status: str = ""
    superseded_by: str = ""
    links: tuple[Link, ...] = ()
    globs: tuple[str, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    body: str = ""
    problems: "tuple[Problem, ...]" = ()


class LevelTexts(NamedTuple):
    """The three texts, each whole; a level without anything to add equals the one before it."""

    meta: str
    summary: str
    full: str

    def of(self, level: str) -> str:
        """The text of one of LEVELS."""
        return self[LEVELS.index(level)]

    @property
    def rest(self) -> str:
        """What `full` adds to `summary`; all but the fields where the first section is not at its beginning."""
        first = self.summary.rstrip("\n")
        shown = first if self.full.startswith(first) else self.meta
        return self.full[len(shown) :].lstrip("\n")


def level_texts(artifact: LinkedArtifact) -> LevelTexts:
    """The texts of an artifact, safe to be part of a block."""
    meta = safe("".join(f"{name}: {value}\n" for name, value in artifact.fields))
    body = _without_title(safe(artifact.body).strip("\n"), artifact.title)
    first = first_section(body)
    return LevelTexts(meta, _joined(meta, first), _joined(meta, body))


def safe(text: str) -> str:
    """Text without control characters, in which no line can be taken for a section's header."""
    text = printable(text.translate(_BREAKS))
    if "===" not in text and text.isascii():
        return text
    return re.sub(rf"(?m)^[ \t]*(?=[{_EQUALS}]{{3}})(?![{_EQUALS}]+[ \t]*$)", lambda found: f"{found[0]}\\", text)


def first_section(body: str) -> str:
    """What comes first under the title: the text before the next heading, or that heading's section.

    The title itself is left out, for the fields say it.
    """
    from ctxrank.indexer.text.passages import markdown_headings  # noqa: PLC0415  only for a file that has changed

    text = f"\n{body}\n"
    headings = [(one.start, one.level) for one in markdown_headings(text)]
    start = 0
    if headings and headings[0][1] == 1 and not text[: headings[0][0]].strip():
        start = text.index("\n", headings.pop(0)[0] + 1)
    end = headings[0][0] if headings else len(text)
    if headings and not text[start:end].strip("\n="):
        start, depth = headings[0]
        end = next((at for at, level in headings[1:] if level <= depth), len(text))
    return text[start:end].lstrip("\n=").rstrip("\n")


def _without_title(body: str, title: str) -> str:
    """The body without a first heading that only repeats the title, which is a field already."""
    first, _, rest = body.partition("\n")
    return rest.lstrip("\n") if first.startswith("# ") and one_line(first[2:]) == title else body


def _joined(meta: str, text: str) -> str:
    if not text.strip():
        return meta
    return f"{meta}\n{text}\n" if meta else f"{text}\n"
