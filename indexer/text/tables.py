"""Tables beside the code: one row an entry, columns between tabs, and lines of comment that begin with #."""

import os
from collections.abc import Iterator


def rows(module_file: str, name: str) -> Iterator[list[str]]:
    """The rows of a table that lies beside a module, each as its columns."""
    for line in _lines(module_file, name):
        yield line.split("\t")


def words_of(module_file: str, name: str) -> frozenset[str]:
    """The words of a table of words, one a row, that lies beside a module."""
    return frozenset(_lines(module_file, name))


def _lines(module_file: str, name: str) -> list[str]:
    with open(os.path.join(os.path.dirname(module_file), f"{name}.tsv"), encoding="utf-8") as file:
        return [line for line in file.read().split("\n")[:-1] if not line.startswith("#")]
