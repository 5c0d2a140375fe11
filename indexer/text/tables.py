"""Tables beside the code: one row an entry, columns between tabs, and lines of comment that begin with #; and JSON."""

import os
from collections.abc import Callable, Iterator

from ctxrank.indexer.light_typing import Any


def rows(module_file: str, name: str, filled: Callable[[str], str] = str) -> Iterator[list[str]]:
    """The rows of a table that lies beside a module, each as its columns; `filled` gives the text that is read."""
    for line in _lines(filled(_read(module_file, f"{name}.tsv"))):
        yield line.split("\t")


def words_of(module_file: str, name: str) -> frozenset[str]:
    """The words of a table of words, one a row, that lies beside a module."""
    return frozenset(_lines(_read(module_file, f"{name}.tsv")))


def json_of(module_file: str, name: str) -> Any:
    """The value of a file of JSON that lies beside a module."""
    import json  # noqa: PLC0415  start-up: a query reads none

    return json.loads(_read(module_file, f"{name}.json"))


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n")[:-1] if not line.startswith("#")]


def _read(module_file: str, name: str) -> str:
    with open(os.path.join(os.path.dirname(module_file), name), encoding="utf-8") as file:
        return file.read()
