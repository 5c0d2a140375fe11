"""Reading one configuration file: YAML or JSON, by a safe loader, at most 256 KiB and 50 levels deep."""

import errno
import hashlib
import json
import os
from collections.abc import Hashable
from typing import Any

import yaml

from ctxrank.indexer.beneath import read_beneath, read_file
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.text.light_json import is_deep

_MAX_BYTES = 256 * 1024
_TOO_DEEP = "values lie more than 50 levels deep"
_MAX_DEPTH = 50  # settings have four levels; a parser takes seconds for thousands


class _SameKeyError(ValueError):
    """A key that occurs twice in one mapping, of which a parser would drop one."""


class _PlainLoader(yaml.SafeLoader):
    """Without aliases, nine lines of which make a value of a thousand million entries, and without same keys."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed")
        if self._depth > _MAX_DEPTH:
            raise yaml.YAMLError(_TOO_DEEP)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """As YAML does, but for a key that occurs twice."""
        _check_keys([str(self._key(key)) for key, _ in node.value])
        return super().construct_mapping(node, deep=deep)

    def _key(self, node: yaml.Node) -> object:
        # '<<' and '=' have a meaning as keys, and no value of their own.
        if node.tag in ("tag:yaml.org,2002:merge", "tag:yaml.org,2002:value"):
            return node.value
        return self.construct_object(node, deep=True)  # pyright: ignore[reportUnknownMemberType]  its stub is untyped


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object. Raises _SameKeyError."""
    _check_keys([key for key, _ in pairs])
    return dict(pairs)


def _check_keys(keys: list[str]) -> None:
    if len(set(keys)) < len(keys):
        raise _SameKeyError(next(key for key in keys if keys.count(key) > 1))


def read_config_file(path: str, *, within: str | None = None) -> tuple[object, str]:
    """The file's value as plain data, and the SHA-256 of its bytes. Raises UsageError, CtxrankError.

    A file that lies `within` a folder may not be a link that leaves it: what cannot be parsed is quoted in a message,
    and a project's link must not have others' files quoted.
    """
    data = _bytes_of(path, within)
    try:
        is_json = path.endswith(".json")
        value: object = json.loads(data, object_pairs_hook=_object) if is_json else yaml.load(data, _PlainLoader)
        # Dates and other YAML types have no JSON form; a setting has none of them.
        text = json.dumps(value, default=str)
        if is_deep(text, _MAX_DEPTH):
            raise ValueError(_TOO_DEEP)
        plain: object = json.loads(text)
    except _SameKeyError as error:
        raise UsageError(f"{path} has the key {str(error)!a} twice in one mapping.", "Keep one of the two.") from error
    except (ValueError, TypeError, LookupError, AttributeError, yaml.YAMLError, RecursionError) as error:
        # A tag that its value does not fit, `!!bool perhaps`, fails inside the YAML library.
        is_tag = isinstance(error, LookupError | AttributeError)
        reason = "a value does not fit its tag" if is_tag else " ".join(str(error).split())
        raise UsageError(f"{path} cannot be parsed: {reason.rstrip('.')}.", "Correct it, or move it away.") from error
    if value is not None and not isinstance(value, dict):
        raise UsageError(f"{path} does not hold settings.", "Write them as 'key: value' lines.")
    return plain, hashlib.sha256(data).hexdigest()


def _bytes_of(path: str, within: str | None) -> bytes:
    """The bytes of a file that is small enough for settings. Raises UsageError, CtxrankError."""
    try:
        if within is None:
            return read_file(path, _MAX_BYTES)
        return read_beneath(within, os.path.relpath(path, within), _MAX_BYTES, follow_link=True)
    except OSError as error:
        refusals = {
            errno.EXDEV: (f"is a link that leaves {within}", "A project's settings are a file of its own."),
            errno.ENXIO: ("is not a file", "A configuration is a file of a few lines."),
            errno.EFBIG: (f"is larger than {_MAX_BYTES // 1024} KiB", "A configuration is a few lines."),
        }
        if error.errno in refusals:
            why, step = refusals[error.errno]
            raise UsageError(f"{path} {why}.", step) from error
        raise CtxrankError(f"{path} cannot be read: {error.strerror}.", "Check its permissions.") from error
