"""The tables of linked artifacts, as the core asks about them: see indexer/owners.py."""

import os

from ctxrank.extensions.links.artifact import VERSION
from ctxrank.indexer.declarations import (
    Column,
    Kind,
    Meaning,
    Table,
    digests,
    json_value,
    line,
    lists,
    names,
    numbers,
    path,
    reference,
    text,
    times,
    words,
)
from ctxrank.indexer.owners import Owner

_FILE = numbers("size_bytes", "mtime_ns", "inode")

_LINKED = Kind(
    "linked",
    Table(
        "linked_artifacts",
        (
            *numbers("id"), reference("tree_id", "linked_trees"), path("path"), *_FILE, *digests("sha256"),
            *numbers("ruleset"), *times("read_at"), *names("name"), *words("type"), line("title"),
            *names("status", "superseded_by"), json_value("links", ours=True), json_value("globs", ours=True),
            json_value("problems"),
        ),
        counted_as="linked",
    ),
    parts=(
        Table(
            "linked_texts",
            (
                reference("linked_id", "linked_artifacts", is_owner=True), text("meta"), text("summary"),
                text("full"), *lists("tokens"), *names("token_counter"),
            ),
            key="linked_id", counted_as="linked",
        ),
    ),
    is_file=True, is_exported=False, named_by="name", links="links",
)  # fmt: skip

OWNER = Owner(
    "links",
    version=VERSION,
    folder=os.path.dirname(__file__),
    kinds=(_LINKED,),
    tables=(
        Table(
            "linked_trees",
            (*numbers("id"), path("path", absolute=True), Column("scan_state", Meaning.LIST, is_memory=True)),
        ),
        Table(
            "annotated_files",
            (*numbers("id"), reference("tree_id", "linked_trees"), path("path"), *_FILE, *times("read_at")),
            counted_as="annotated",
        ),
        Table(
            "annotations",
            (
                reference("file_id", "annotated_files", is_owner=True),
                *numbers("line"),
                *words("tag"),
                *names("name", "part"),
            ),
            key="",
        ),
    ),
    is_read_again=True,
)
