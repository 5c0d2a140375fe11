"""Whatever the bytes of an input are, the answer is an answer: the seeds that fuzzing found, and hypothesis's own."""

from pathlib import Path

import pytest
from fuzz_targets import TARGETS
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

_CORPUS = Path(__file__).parent / "corpus"
_SEEDS = sorted(path for path in _CORPUS.glob("*/*") if path.is_file())
_FEW = settings(max_examples=25)  # of those that make a store
_SLOW = ("block", "json_lines", "arguments", "hook", "orders", "pushed")


@pytest.mark.slow
@each_row("seed", _SEEDS)
def test_a_seed_is_answered(seed: Path) -> None:
    TARGETS[seed.parent.name](seed.read_bytes())


@each_row("name", TARGETS)
def test_every_target_has_seeds(name: str) -> None:
    assert any(seed.parent.name == name for seed in _SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TARGETS if name not in _SLOW])
def test_any_bytes_are_answered(name: str) -> None:
    @given(st.one_of(st.binary(max_size=300), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
    def answered(data: bytes) -> None:
        TARGETS[name](data)

    answered()


@pytest.mark.slow
@pytest.mark.parametrize("name", _SLOW)
def test_any_bytes_are_answered_where_each_needs_a_store(name: str) -> None:
    @_FEW
    @given(st.one_of(st.binary(max_size=300), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace"))))
    def answered(data: bytes) -> None:
        TARGETS[name](data)

    answered()


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_a_seed_with_some_bytes_changed_is_answered(name: str) -> None:
    seeds = [seed.read_bytes() for seed in _SEEDS if seed.parent.name == name]

    @settings(max_examples=15)
    @given(
        st.integers(0, len(seeds) - 1), st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=8)
    )
    def answered(number: int, changes: list[tuple[int, int]]) -> None:
        changed = bytearray(seeds[number] or b"\0")
        for place, value in changes:
            changed[place % len(changed)] = value
        TARGETS[name](bytes(changed))

    answered()
