"""By what a known error is recognised, as a person reads it."""

from pathlib import Path

from builders import make_store

from ctxrank.indexer.errors.listing import recognition_of
from ctxrank.indexer.errors.solutions import NewKnownError, save_error

TRACE = 'Traceback (most recent call last):\n  File "/srv/cart.py", line 3, in total\n    add(1)\nKeyError: {}\n'


def test_places_are_told_by_their_file_and_function(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        number = save_error(store, NewKnownError(TRACE.format("'a'"), "Use get.")).id
        found = recognition_of(store.primary, number)
        assert found is not None and (found.places, found.sightings) == (("cart.py in total",), 0)
        assert recognition_of(store.primary, number + 1) is None
        number = save_error(store, NewKnownError("TypeError: no price\n    at /srv/web/cart.js:3:1\n", "Give one.")).id
        found = recognition_of(store.primary, number)
        assert found is not None and found.places == ("cart.js",)


def test_what_had_another_value_and_was_fixed_alike_is_the_same_error_whose_value_varies(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        known = save_error(store, NewKnownError("error: the lockfile of 'shop' cannot be read", "Upgrade it."))
        other = NewKnownError("error: the lockfile of the till cannot be opened", "Upgrade it.", varying=("shop",))
        assert save_error(store, other._replace(known_id=known.id)).id == known.id
        varying = "SELECT features ->> '$.varying[0]' FROM error_signatures ORDER BY pattern_id"
        assert store.primary.execute(varying).fetchall() == [("shop",)]
        assert save_error(store, other._replace(known_id=known.id, solution="Delete it.")).id != known.id
