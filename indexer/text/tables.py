"""Tables beside the code: one row an entry, columns between tabs, and lines of comment that begin with #."""

import os
from collections.abc import Iterator


def rows(module_file: str, name: str) -> Iterator[list[str]]:
    """The rows of a table that lies beside a module, each as its columns."""
    with open(os.path.join(os.path.dirname(module_file), f"{name}.tsv"), encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                yield line.rstrip("\n").split("\t")
