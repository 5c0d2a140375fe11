"""A table in one test: every row is tried, and all that fail are listed.

    @each_row("text, parts", [("getUserId", ["get", "user", "id"]), ("HTTPServer", ["http", "server"])])
    def test_a_compound_is_cut_into_its_parts(text: str, parts: list[str]) -> None:
        assert split(text) == parts

It is written like `pytest.mark.parametrize`, which makes a test of each row: the better choice where a row takes long
or needs a fixture of its own. Here the other arguments are fixtures that all rows share. A row may not be skipped: that
would skip those behind it.
"""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import pytest

_LONGEST = 300  # of what is said about a row


def first_quick(rows: Iterable[Any], count: int = 2) -> list[Any]:
    """The rows of a parametrized test: the first are asked by `make test`, all by `make check`."""
    some: list[Any] = [*rows]
    values: list[tuple[Any, ...]] = [row if isinstance(row, tuple) else (row,) for row in some[count:]]
    return some[:count] + [pytest.param(*value, marks=pytest.mark.slow) for value in values]


def each_row(names: str, rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the test with each row for the arguments of these names, and fail at the end with all rows that failed."""
    wanted = names.replace(",", " ").split()
    table = [row if len(wanted) > 1 else (row,) for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        assert set(wanted) <= set(signature.parameters) and table, test.__name__

        @functools.wraps(test)
        def every_row(**fixtures: Any) -> None:
            failures: list[tuple[tuple[Any, ...], BaseException]] = []
            for row in table:
                try:
                    test(**fixtures, **dict(zip(wanted, row, strict=True)))
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                    failures.append((row, error))
            if failures:
                listed = "\n".join(_said(wanted, *failure) for failure in failures)
                raise AssertionError(f"{len(failures)} of {len(table)} rows:\n{listed}") from failures[0][1]

        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in wanted]
        every_row.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return every_row

    return decorate


def _said(names: list[str], row: tuple[Any, ...], error: BaseException) -> str:
    values = ", ".join(f"{name}={_short(repr(value))}" for name, value in zip(names, row, strict=False))
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"* {values}\n  {_short(f'{type(error).__name__}: {error}')} (line {place.lineno} of {place.filename})"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
