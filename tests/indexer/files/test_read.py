"""Reading a file: its text, the hash of its bytes, and the reason where there is no text."""

import codecs
import hashlib
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from tables import each_row

from ctxrank.indexer.bounds import MAX_FILE_BYTES
from ctxrank.indexer.files import read as read_module
from ctxrank.indexer.files.read import FileText, ReadSkip, read_text_file

as_plain_user = pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")


@pytest.fixture
def written(tmp_path: Path) -> Callable[[bytes], str]:
    """Puts bytes into a file and gives its path."""

    def write(data: bytes) -> str:
        (tmp_path / "note.md").write_bytes(data)
        return str(tmp_path / "note.md")

    return write


def read_at(path: str) -> FileText | ReadSkip:
    """What reading one file says."""
    return read_text_file(*os.path.split(path))


def text_of(path: str) -> FileText:
    """What a file says; fails with the reason where it was skipped."""
    answer = read_at(path)
    assert isinstance(answer, FileText), answer
    return answer


def test_the_hash_is_of_the_bytes_and_the_state_is_the_disks(written: Callable[[bytes], str]) -> None:
    path = written(b"one\r\ntwo\r\n")
    found = text_of(path)
    info = os.stat(path)
    assert found.text == "one\ntwo\n"
    assert found.sha256 == hashlib.sha256(b"one\r\ntwo\r\n").hexdigest()
    assert found.stamp[:3] == (10, info.st_mtime_ns, info.st_ino)


def test_every_kind_of_line_end_becomes_one_line_feed(written: Callable[[bytes], str]) -> None:
    assert text_of(written(b"a\nb\r\nc\rd\r\r\ne")).text == "a\nb\nc\nd\n\ne"


@each_row(
    "data, text, encoding",
    [
        (b"", "", "utf-8"),
        ("Größe 漢字 🔶".encode(), "Größe 漢字 🔶", "utf-8"),
        (codecs.BOM_UTF8 + "naïve".encode(), "naïve", "utf-8-sig"),
        ("naïve".encode("utf-16"), "naïve", "utf-16"),
        (codecs.BOM_UTF16_BE + "naïve".encode("utf-16-be"), "naïve", "utf-16"),
        ("naïve".encode("utf-32"), "naïve", "utf-32"),
        (codecs.BOM_UTF32_BE + "naïve".encode("utf-32-be"), "naïve", "utf-32"),
        ("the “naïve” café".encode("cp1252"), "the “naïve” café", "cp1252"),
        ("¿Qué pasó?".encode("latin-1"), "¿Qué pasó?", "cp1252"),
    ],
)
def test_an_encoding_is_recognised(written: Callable[[bytes], str], data: bytes, text: str, encoding: str) -> None:
    found = text_of(written(data))
    assert (found.text, found.encoding) == (text, encoding)


def test_utf8_with_one_broken_character_stays_utf8(written: Callable[[bytes], str]) -> None:
    """A log cut inside a character must not turn every other accent into two strange letters."""
    found = text_of(written("Größe, Länge, Höhe, Tür, übrig".encode() + b"\xc3"))
    assert (found.text, found.encoding) == ("Größe, Länge, Höhe, Tür, übrig\ufffd", "utf-8-replace")


@each_row(
    "data, reason",
    [
        (b"\x7fELF\x02\x01\x01\0\0\0", "binary"),
        (b"text, then a zero\0", "binary"),
        (bytes(range(1, 32)) * 8, "binary"),
        ("a\0b".encode("utf-16"), "binary"),
        ("Привет, как дела".encode("koi8-r"), "encoding not recognised"),
        ("文字コードが違う".encode("shift-jis"), "encoding not recognised"),
        (codecs.BOM_UTF16_LE + b"odd", "encoding not recognised"),
    ],
)
def test_what_is_not_text_is_skipped_with_its_hash(written: Callable[[bytes], str], data: bytes, reason: str) -> None:
    assert read_at(written(data)) == ReadSkip(reason, hashlib.sha256(data).hexdigest())


def test_a_coloured_log_is_text(written: Callable[[bytes], str]) -> None:
    line = b"\x1b[31mFAILED\x1b[0m tests/test_cart.py\n"
    assert text_of(written(line * 50)).encoding == "utf-8"


def test_a_hole_far_behind_the_start_does_not_end_the_text(written: Callable[[bytes], str]) -> None:
    found = text_of(written(b"x" * read_module.SAMPLE_SIZE + b"\0" * 3 + b"\nlast line"))
    assert found.text.endswith("x\ufffd\ufffd\ufffd\nlast line")


def test_what_is_not_there_or_no_file_is_named(tmp_path: Path, written: Callable[[bytes], str]) -> None:
    target = written(b"text")
    os.symlink(target, tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    assert read_at(str(tmp_path / "gone.md")) == ReadSkip("vanished")
    assert read_at(target + "/below") == ReadSkip("vanished")
    assert read_at(str(tmp_path / "link")) == ReadSkip("a link")
    assert read_at(str(tmp_path / "pipe")) == ReadSkip("not a regular file")
    assert read_at(str(tmp_path)) == ReadSkip("not a regular file")


def test_a_socket_is_not_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's address may have about a hundred bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("agent.sock")
        assert read_at("agent.sock") == ReadSkip("not a regular file")


@as_plain_user
def test_a_file_we_may_not_read_is_named(written: Callable[[bytes], str]) -> None:
    path = written(b"text")
    os.chmod(path, 0)
    assert read_at(path) == ReadSkip("permission denied")


def test_a_file_larger_than_the_limit_is_not_taken_into_memory(tmp_path: Path) -> None:
    path = tmp_path / "dump.sql"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    assert read_at(str(path)) == ReadSkip("larger than 16 MiB")


def grow_while_reading(monkeypatch: pytest.MonkeyPatch, path: str, times: int) -> None:
    """Another program appends a line after our first read of each of the next `times` looks at the file."""
    real_read = os.read
    left = times

    def read(descriptor: int, size: int) -> bytes:
        nonlocal left
        chunk = real_read(descriptor, size)
        if not chunk and left:
            left -= 1
            with open(path, "ab") as file:
                file.write(b"more\n")
        return chunk

    monkeypatch.setattr(os, "read", read)


def test_a_file_that_changed_meanwhile_is_read_again(
    written: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(b"first\n")
    grow_while_reading(monkeypatch, path, times=read_module.MAX_TRIES - 1)
    assert text_of(path).text == "first\nmore\nmore\n"


def test_a_file_that_never_rests_is_left_to_the_next_run(
    written: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(b"first\n")
    grow_while_reading(monkeypatch, path, times=read_module.MAX_TRIES)
    assert read_at(path) == ReadSkip("kept changing while it was read")
