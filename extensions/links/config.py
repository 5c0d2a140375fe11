"""`.contextia/config.yaml`: how severe a finding of `check` is, and where annotations are looked for.

    check:
      severities: {orphan-spec: info, empty-scope: off}
      strict_bidirectional: true
    annotations:
      paths: [src/**, lib/**]

The same keys are taken at the top as well. Unknown keys belong to other programs and are ignored.
"""

import os

from ctxrank.extensions.links.artifact import FOLDER
from ctxrank.extensions.links.tree import ArtifactTree
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list
from ctxrank.indexer.store.setting_checks import choice, entries, switch
from ctxrank.indexer.text.tables import rows

SEVERITIES = ("error", "warning", "info", "off")
RULES = {row[0]: row[1] for row in rows(__file__, "rules")}


class LinkedConfig(NamedTuple):
    """What the file says; `starts` are patterns of files where annotations are looked for (none: everywhere)."""

    severities: dict[str, str]
    is_bidirectional: bool
    starts: tuple[str, ...]


def load_linked_config(tree: ArtifactTree) -> LinkedConfig:
    """The configuration of a tree, or the defaults. Raises UsageError, which names the file and the key."""
    path = os.path.join(tree.folder, FOLDER, "config.yaml")
    values: object = None
    if os.path.lexists(path):
        from ctxrank.indexer.store.config_file import read_config_file  # noqa: PLC0415  loads the YAML parser

        values, _ = read_config_file(path, within=tree.folder)
    top = values if is_dict(values) else {}
    check = top.get("check")
    check = {**top, **(check if is_dict(check) else {})}
    given: object = check.get("severities") or check.get("rules") or dict[str, object]()
    rated = entries(dict.fromkeys(RULES, _severity), "Write them as 'rule: severity' lines.")
    severities = RULES | rated(given, f"{path}: severities")
    is_bidirectional = switch(check.get("strict_bidirectional", False), f"{path}: strict_bidirectional")
    if is_bidirectional:
        severities["one-way-annotation"] = "error"
    starts: object = top.get("annotations")
    if is_dict(starts):
        starts = starts.get("paths")
    starts = [starts] if isinstance(starts, str) else [] if starts is None else starts
    if not is_list(starts) or not all(isinstance(item, str) for item in starts):
        raise UsageError(f"{path}: annotations.paths is '{starts}'.", "Give a list of patterns, such as [src/**].")
    return LinkedConfig(severities, is_bidirectional, tuple(map(str, starts)))


def _severity(value: object, name: str) -> object:
    """One of SEVERITIES; YAML reads a bare `off` as false."""
    return choice(*SEVERITIES)("off" if value is False else str(value).strip().lower(), name)
