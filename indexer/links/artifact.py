"""Linked artifacts: tasks, specs, decisions and norms in Markdown that name each other by id.

    .contextia/
      config.yaml              severities of `check`, where annotations are looked for
      system/identity.md       what this project is
      system/specs/            what the code has to do            SPEC-BILLING-001
      system/norms/            how code is written here           NORM-ERROR-001
      system/rationale/        why it is so                       DEC-BILLING-001
      work/tasks/              what is to be done                 TASK-042

One file becomes one LinkedArtifact (linked/reading.py), a row (linked/store.py), and a node
of a graph (linked/graph.py).
"""

from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # the query path reads no frontmatter
    from ctxrank.indexer.links.frontmatter import Problem

FOLDER = ".contextia"
TYPES = ("spec", "decision", "norm", "task", "identity")
LINK_KINDS = ("specs", "decisions", "norms")  # in the order in which links are followed
IDENTITY_ID = "IDENTITY"

ID = r"[A-Z]+(?:-[A-Za-z0-9]+)+"
RETIRED = ("deprecated", "superseded")


class Link(NamedTuple):
    """One reference: the list it stands in (specs, decisions, norms, or '' for a flat list), the id, the line."""

    kind: str
    id: str
    line: int


class LinkedArtifact(NamedTuple):
    """One file as it was read. Texts are redacted; `id` is '' where the file has none that can be used.

    `fields` are the frontmatter's values for showing, in the file's order, each on one line.
    """

    path: str
    id: str
    type: str
    title: str
    status: str
    superseded_by: str
    links: tuple[Link, ...]
    globs: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    body: str
    problems: "tuple[Problem, ...]"
