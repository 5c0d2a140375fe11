"""Records behave as typing.NamedTuple does, and contexts as those of contextlib."""

import contextlib
import copy
import functools
import itertools
import pickle
import typing
from collections.abc import Callable, Iterator

import pytest

from ctxrank.indexer import light_typing
from ctxrank.indexer.light_typing import NamedTuple, require_type


class Point(NamedTuple):
    """A place."""

    x: int
    y: int = 0

    @property
    def length(self) -> int:
        return self.x + self.y


class Model(typing.NamedTuple):
    x: int
    y: int = 0


@pytest.mark.parametrize("kind", [Point, Model])
def test_a_record_is_a_tuple_with_names_and_defaults(kind: type[Point]) -> None:
    assert kind(1) == (1, 0) and kind(1, 2) == kind(y=2, x=1)
    assert kind(3, 4).x == 3 and kind(3, 4)._asdict() == {"x": 3, "y": 4}
    assert kind(1)._replace(y=9) == (1, 9) and kind._make([5, 6]) == (5, 6)
    assert kind._fields == ("x", "y") and kind._field_defaults == {"y": 0}


def test_a_record_keeps_its_docstring_and_its_properties() -> None:
    assert Point.__doc__ == "A place." and Point(2, 3).length == 5
    assert repr(Point(1, 2)) == "Point(x=1, y=2)"


@pytest.mark.parametrize("kind", [Point, Model])
def test_wrong_values_are_refused(kind: type[Point]) -> None:
    for arguments, named in (((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"z": 2})):
        with pytest.raises(TypeError):
            kind(*arguments, **named)
    with pytest.raises((TypeError, ValueError)):
        kind(1)._replace(z=1)  # type: ignore[call-arg]  # the wrong name is the point
    with pytest.raises(AttributeError):
        kind(1).x = 2  # type: ignore[misc]  # so is the assignment


def test_each_way_of_giving_values_is_taken_or_refused_as_by_the_model() -> None:
    names = ("x", "y", "z")
    for count, chosen in itertools.product(range(4), itertools.product((False, True), repeat=3)):
        named = {name: place for place, name in enumerate(itertools.compress(names, chosen), start=10)}
        made: list[tuple[int, ...] | None] = []
        for kind in (Point, Model):
            try:
                made.append(tuple(kind(*range(count), **named)))
            except TypeError:
                made.append(None)
        assert made[0] == made[1], (count, named)


def test_what_is_refused_is_said() -> None:
    more: dict[str, int] = {"z": 2, "y": 3}
    with pytest.raises(TypeError, match=r"^Point takes x, y; it was given 3 values and no names$"):
        Point(*range(3))
    with pytest.raises(TypeError, match=r"^Point takes x, y; it was given 1 values and z, y$"):
        Point(1, **more)


def test_a_record_can_be_copied_hashed_and_matched() -> None:
    assert pickle.loads(pickle.dumps(Point(1, 2))) == Point(1, 2) and copy.copy(Point(1)) == Point(1)
    assert {Point(1, 2): "a"}[Point(1, 2)] == "a"
    match Point(7, 8):
        case Point(x, y):
            assert (x, y) == (7, 8)


@pytest.mark.parametrize("cache", [light_typing.cache, functools.cache], ids=["light", "functools"])
def test_a_cached_function_is_asked_once(cache: Callable[[Callable[[], object]], Callable[[], object]]) -> None:
    asked: list[object] = []

    def nothing() -> None:
        """Its docstring."""
        asked.append(None)

    cached = cache(nothing)
    assert cached() is cached() is None and asked == [None]
    assert (cached.__name__, cached.__doc__) == ("nothing", "Its docstring.")


@pytest.mark.parametrize("make", [light_typing.contextmanager, contextlib.contextmanager], ids=["light", "contextlib"])
def test_a_context_ends_and_fails_as_that_of_contextlib_does(
    make: Callable[[Callable[[str], Iterator[str]]], Callable[[str], contextlib.AbstractContextManager[str]]],
) -> None:
    done: list[str] = []

    @make
    def context(name: str) -> Iterator[str]:
        """Its docstring."""
        try:
            yield name
        except KeyError:
            done.append("swallowed")
        except ValueError as error:
            raise TypeError("translated") from error
        finally:
            done.append(name)

    @make
    def yields_twice(name: str) -> Iterator[str]:
        with contextlib.suppress(KeyError):
            yield name
        yield name

    assert (context.__name__, context.__doc__) == ("context", "Its docstring.")
    with context("a") as value:
        assert value == "a"
    with context("b"):
        raise KeyError
    with pytest.raises(TypeError, match="translated"), context("c"):
        raise ValueError
    error = OSError("as it was")
    with pytest.raises(OSError, match="as it was") as caught, context("d"):
        raise error
    assert caught.value is error
    with pytest.raises(StopIteration), context("e"):
        raise StopIteration
    with pytest.raises(RuntimeError), yields_twice("f"):
        pass
    with pytest.raises(RuntimeError), yields_twice("g"):
        raise KeyError
    assert done == ["a", "swallowed", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("value", "types", "is_taken"),
    [
        (1, (int,), True), (True, (int,), False), (True, (bool,), True), (True, (int, bool), True), (1, (bool,), False),
        (None, (str, type(None)), True), (None, (str,), False), ("", (str,), True), (True, (str,), False),
    ],
)  # fmt: skip
def test_a_value_has_one_of_the_types_that_are_asked_for_and_true_is_no_number(
    value: object, types: tuple[type, ...], *, is_taken: bool
) -> None:
    if is_taken:
        require_type(value, "it", *types)
        return
    with pytest.raises(TypeError, match=f"it is {types[0].__name__}, not {type(value).__name__}"):
        require_type(value, "it", *types)
