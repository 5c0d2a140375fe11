"""Tables beside the code: one row an entry, columns between tabs, and lines of comment that begin with #; and JSON."""

import os
from collections.abc import Iterator

from ctxrank.indexer.light_typing import Any


def rows(module_file: str, name: str) -> Iterator[list[str]]:
    """The rows of a table that lies beside a module, each as its columns."""
    for line in _lines(module_file, name):
        yield line.split("\t")


def words_of(module_file: str, name: str) -> frozenset[str]:
    """The words of a table of words, one a row, that lies beside a module."""
    return frozenset(_lines(module_file, name))


def json_of(module_file: str, name: str) -> Any:
    """The value of a file of JSON that lies beside a module."""
    import json  # noqa: PLC0415  start-up: a query reads none

    return json.loads(_read(module_file, f"{name}.json"))


def _lines(module_file: str, name: str) -> list[str]:
    return [line for line in _read(module_file, f"{name}.tsv").split("\n")[:-1] if not line.startswith("#")]


def _read(module_file: str, name: str) -> str:
    with open(os.path.join(os.path.dirname(module_file), name), encoding="utf-8") as file:
        return file.read()
