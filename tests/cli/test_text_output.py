"""What every answer goes through: JSON for any reader, characters that a terminal lacks, a bar of progress."""

import io
import json
import math
import sys
from typing import Any

import pytest
from tables import each_row

from ctxrank.cli import streams
from ctxrank.cli.call import Call
from ctxrank.cli.output.envelope import as_json, print_json
from ctxrank.cli.output.progress import progress_bar
from ctxrank.indexer.exceptions import DamagedError
from ctxrank.indexer.store.ids import foreign_id, numbered

_THEIRS = foreign_id(12, 0x9F3C27AB)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@each_row(
    "value, text",
    [
        ({"a": [1, None, "ü"]}, '{"a": [1, null, "ü"]}'),
        ({"a": math.inf, "b": [-math.inf], "c": 0.5}, '{"a": null, "b": [null], "c": 0.5}'),
        ([_THEIRS], f'["{numbered(_THEIRS)}"]'),
        ({"a": ({"b": _THEIRS}, 7)}, f'{{"a": [{{"b": "{numbered(_THEIRS)}"}}, 7]}}'),
        (-(1 << 31), "-2147483648"),  # no row of another store is so near to zero
        ({"a": "-1234567890"}, '{"a": "-1234567890"}'),  # a text stays one
        ("\x1b[1m\udcff", r'"\u001b[1m\udcff"'),
    ],
)
def test_an_answer_is_json_that_every_reader_takes(value: Any, text: str) -> None:
    assert as_json(value) == text


def test_a_text_that_was_wiped_is_no_answer() -> None:
    assert "0000" in as_json("\0")
    with pytest.raises(DamagedError, match="a text in it was wiped"):
        as_json({"a": "\0" * 64})


def test_a_person_reads_it_indented_with_a_pair_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"marks": [[1, 2], [30, 4]], "ids": [1, 2, 3]}
    for stream, text in (
        (io.StringIO(), f"{json.dumps(value)}\n"),
        (_Terminal(), '{\n  "marks": [\n    [1, 2],\n    [30, 4]\n  ],\n  "ids": [\n    1,\n    2,\n    3\n  ]\n}\n'),
    ):
        monkeypatch.setattr(sys, "stdout", stream)
        print_json(value)
        assert stream.getvalue() == text


def test_a_character_that_the_terminal_lacks_is_escaped_as_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    bytes_, messages = io.BytesIO(), io.BytesIO()
    before = io.TextIOWrapper(bytes_, "latin-1"), io.TextIOWrapper(messages, "utf-8", "strict")
    monkeypatch.setattr(sys, "stdout", before[0])
    monkeypatch.setattr(sys, "stderr", before[1])
    streams.open_streams()
    sys.stdout.write("é → 𝄞\udcff\n")
    sys.stdout.flush()
    assert bytes_.getvalue() == "é \\u2192 \\ud834\\udd1e\\udcff\n".encode("latin-1")
    assert (sys.stderr.errors, type(sys.stderr)) == ("strict", streams.Messages)


def test_a_bar_goes_on_to_its_end_where_a_person_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, verbosity in ((io.StringIO(), 0), (_Terminal(), -1)):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_bar("importing", Call(verbosity=verbosity)) as advance:
            assert advance is None and stream.getvalue() == ""
    watched = _Terminal()
    monkeypatch.setattr(sys, "stderr", watched)
    with progress_bar("importing", Call()) as advance:
        assert advance is not None
        for done in (1, 3, 4):
            advance(done, 4)
            assert f"{25 * done}%" in watched.getvalue().rpartition("importing")[2]
        advance(0, 0)
