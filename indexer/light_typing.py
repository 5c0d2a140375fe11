"""What `typing`, `contextlib` and `functools` give, without loading them: they take a third, a twentieth and a tenth
of a bare start.

`TYPE_CHECKING` and `cast` are the same as there; `Any` and `Literal` are for type checkers, which see those of
`typing`; `is_dict`, `is_list` and `is_tuple` are for what JSON and YAML give. `NamedTuple` is `typing.NamedTuple`, made
some twenty times faster when the class statement runs.

A query imports about fifty record types, and `typing.NamedTuple` takes 0.1 to 0.3 ms for each (it checks every
annotation and evaluates source text): together more than a bare interpreter's start. Type checkers see
`typing.NamedTuple` itself; at run time this class builds the same thing: a tuple with names, defaults,
`_fields`, `_replace`, `_asdict` and `_make`. Docstrings, properties and methods of the class are kept.

    class Point(NamedTuple):
        x: int
        y: int = 0

`contextmanager` is `contextlib.contextmanager`, for generators that are used in a `with` statement and in no other way.
`cache` is `functools.cache`, for functions without arguments.
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from contextlib import contextmanager as contextmanager
    from functools import cache as cache
    from typing import Any as Any
    from typing import Literal as Literal
    from typing import NamedTuple as NamedTuple
    from typing import cast as cast

    from typing_extensions import TypeIs
else:
    from _collections import _tuplegetter

    class _Annotation:
        """What stands in annotations and is read by type checkers alone."""

        __slots__ = ()

        def __getitem__(self, _: object) -> "_Annotation":
            return self

        def __or__(self, _: object) -> "_Annotation":
            return self

        __ror__ = __or__

    Any = Literal = _Annotation()

    def cast(_type, value):
        """The value itself; a type checker takes it to have the given type."""
        return value

    class _RecordType(type):
        """Turns annotated names into the places of a tuple."""

        def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict) -> type:
            if not bases:
                return super().__new__(mcs, name, (tuple,), namespace)
            fields = tuple(namespace.get("__annotations__", ()))
            defaults = {field: namespace[field] for field in fields if field in namespace}
            for place, field in enumerate(fields):
                namespace[field] = _tuplegetter(place, "")
            last = tuple(defaults.values())
            namespace.update(_fields=fields, _field_defaults=defaults, _last=last, __match_args__=fields, __slots__=())
            return super().__new__(mcs, name, bases, namespace)

    class NamedTuple(metaclass=_RecordType):
        """The base of all records."""

        __slots__ = ()
        _fields: tuple[str, ...] = ()
        _field_defaults: dict = {}  # noqa: RUF012  # one for each class, made by the metaclass
        _last: tuple = ()  # the defaults alone

        def __new__(cls, *values: object, **named: object) -> object:
            fields = cls._fields
            missing = len(fields) - len(values)
            if not named and 0 <= missing <= len(cls._last):
                return tuple.__new__(cls, values + cls._last[-missing:] if missing else values)
            filled = {**cls._field_defaults, **named}
            # By counting, half of the time that sets of names take: a name that is none is one too many.
            is_all = len(filled) == max(missing, len(cls._last)) and missing >= 0
            if is_all and named.keys().isdisjoint(fields[: len(values)]):
                try:
                    return tuple.__new__(cls, (*values, *[filled[field] for field in fields[len(values) :]]))
                except KeyError:
                    pass  # in the place of another
            given = f"{len(values)} values and {', '.join(named) or 'no names'}"
            raise TypeError(f"{cls.__name__} takes {', '.join(fields)}; it was given {given}")

        # The values are not counted: what is made of rows by the hundred is made so, in a third of the time.
        _make = classmethod(tuple.__new__)

        def _replace(self, **named: object) -> object:
            values = [*self]
            for name, value in named.items():
                values[self._fields.index(name)] = value
            return tuple.__new__(type(self), values)

        def _asdict(self) -> dict:
            return dict(zip(self._fields, self, strict=True))

        def __getnewargs__(self) -> tuple:
            return tuple(self)

        def __repr__(self) -> str:
            inner = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({inner})"

    class _Context:
        """A generator that yields once, as a context."""

        __slots__ = ("_steps",)

        def __init__(self, steps: object) -> None:
            self._steps = steps

        def __enter__(self) -> object:
            return next(self._steps)

        def __exit__(self, _type: object, error: BaseException | None, trace: object) -> bool:
            if error is None:
                try:
                    next(self._steps)
                except StopIteration:
                    return False
                raise RuntimeError("the generator of a context yielded twice")
            try:
                self._steps.throw(error)
            except StopIteration as ended:
                return ended is not error
            except BaseException as raised:
                if raised is not error and not (isinstance(error, StopIteration) and raised.__cause__ is error):
                    raise  # of the generator itself; Python turns a StopIteration that passes one into a RuntimeError
                error.__traceback__ = trace  # without the generator's own lines
                return False
            raise RuntimeError("the generator of a context went on after an error")

    def contextmanager(steps_of: object) -> object:
        """A function that gives contexts, from one that gives a generator."""

        def begin(*args: object, **named: object) -> _Context:
            return _Context(steps_of(*args, **named))

        begin.__name__, begin.__doc__ = steps_of.__name__, steps_of.__doc__
        return begin

    def cache(make: object) -> object:
        """A function that gives the same value at every call: what `make` gives at the first."""
        made: list = []

        def first() -> object:
            if not made:
                made.append(make())
            return made[0]

        first.__name__, first.__doc__ = make.__name__, make.__doc__
        return first


def is_dict(value: object) -> "TypeIs[dict[object, object]]":
    """`isinstance(value, dict)`, after which keys and values are objects to a type checker, and not unknown."""
    return isinstance(value, dict)


def object_of(value: object) -> dict[str, object]:
    """A value that is an object of JSON; empty for anything else."""
    return {str(key): item for key, item in value.items()} if is_dict(value) else {}


def is_list(value: object) -> "TypeIs[list[object]]":
    """`isinstance(value, list)`, after which the items are objects to a type checker, and not unknown."""
    return isinstance(value, list)


def require_type(value: object, name: str, *types: type) -> None:
    """Raises TypeError for a value of another type, by its name; True is no number."""
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        wanted = " or ".join("None" if type_ is type(None) else type_.__name__ for type_ in types)
        raise TypeError(f"{name} is {wanted}, not {type(value).__name__}")


def is_tuple(value: object) -> "TypeIs[tuple[object, ...]]":
    """`isinstance(value, tuple)`, after which the items are objects to a type checker, and not unknown."""
    return isinstance(value, tuple)
