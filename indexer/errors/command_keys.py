"""What a command that may fail is known by, wherever it was run: by `error run` or by an agent's runner."""

import os

from ctxrank.indexer.text.digests import digest_of


def command_key(line: str, cwd: str, root: str, project: str) -> tuple[str, str]:
    """The key of a command, however its line quotes its words, in a folder below the root; and that folder."""
    folder = os.path.relpath(os.path.realpath(cwd), os.path.realpath(root))
    words = " ".join(line.translate(dict.fromkeys(b"'\"\\")).split())
    return digest_of("\x1f".join((words, folder, project)), 16), folder
