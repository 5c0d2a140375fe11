"""Reading one configuration file: YAML or JSON, by a safe loader, at most 256 KiB."""

import hashlib
import json
import os
import stat

import yaml

from ctxrank.indexer.errors import CtxrankError, UsageError

_MAX_BYTES = 256 * 1024


class _PlainLoader(yaml.SafeLoader):
    """Without aliases: nine lines of them make a value of a thousand million entries."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed")
        return super().compose_node(parent, index)


def read_config_file(path: str) -> tuple[object, str]:
    """The file's value as plain data, and the SHA-256 of its bytes. Raises UsageError, CtxrankError."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            raise UsageError(f"{path} is not a file.", "A configuration is a file of a few lines.")
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise CtxrankError(f"{path} cannot be read: {error.strerror}.", "Check its permissions.") from error
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{path} is larger than {_MAX_BYTES // 1024} KiB.", "A configuration is a few lines.")
    try:
        value: object = json.loads(data) if path.endswith(".json") else yaml.load(data, _PlainLoader)
        # Dates and other YAML types have no JSON form; a setting has none of them.
        plain: object = json.loads(json.dumps(value, default=str))
    except (ValueError, TypeError, yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise UsageError(f"{path} cannot be parsed: {reason}", "Correct it, or move it away.") from error
    if value is not None and not isinstance(value, dict):
        raise UsageError(f"{path} does not hold settings.", "Write them as 'key: value' lines.")
    return plain, hashlib.sha256(data).hexdigest()
