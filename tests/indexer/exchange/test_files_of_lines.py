"""The files that lines name: read below the root alone, once, and what was not is said."""

from pathlib import Path

import pytest
from builders import write_file

from ctxrank.indexer.bounds import MAX_HEADER_BYTES
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.exchange.exchange import Exchange
from ctxrank.indexer.exchange.lines import LineReader
from ctxrank.indexer.exchange.origin_removal import find_origin
from ctxrank.indexer.exchange.register import Origin
from ctxrank.indexer.exchange.run import Account, ImportRun
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.ids import origin_code, own_uuid
from ctxrank.indexer.store.store import Store

_UUIDS = [f"abcdef01-{number}000-4000-8000-000000000000" for number in (1, 2)]


def _run(store: Store, code: int = 0, *, is_read: bool = True) -> ImportRun:
    origin = Origin(own_uuid(store.primary), code)
    return ImportRun(store, RedactionMode.PATTERN_ONLY, Account(), origin, is_read=is_read)


def test_a_file_is_read_once_below_the_root_and_what_is_not_is_said(anna: Store) -> None:
    write_file(anna, "docs/a.md", "heron\n")
    write_file(anna, "binary.md", "a\0b\n")
    run = _run(anna)
    root = anna.location.root
    path, prepared = run.find_file("./docs/a.md")
    assert path == "docs/a.md" and prepared is not None and prepared.file.text == "heron\n"
    assert run.find_file("docs/a.md")[1] is prepared and run.held_bytes == 2 * len("heron\n")
    assert run.find_file("docs/gone.md") == ("docs/gone.md", None) and run.account.files_missing == {"docs/gone.md"}
    assert list(run.notes()) == []
    assert run.find_file("binary.md") == ("binary.md", None)
    assert run.find_file("../out.md") == ("../out.md", None)
    said = list(run.notes())
    assert said[0] == f"1 path of no file below {root}: imported without their files."
    assert len(said) == 2 and said[1].startswith("1 files are not indexed: ")
    assert run.find_file("/etc/out.md")[1] is None and next(run.notes()).startswith("2 paths of no file")
    assert run.account.files_indexed == {"docs/a.md"}


def test_a_path_that_holds_a_secret_is_named_without_it(anna: Store) -> None:
    secret = "ghp_" + "a1B2" * 9
    write_file(anna, f"{secret}.md", "heron\n")
    run = _run(anna)
    path, prepared = run.find_file(f"{secret}.md")
    assert prepared is None and secret not in path
    assert list(run.notes()) == [
        "1 files are not indexed: the path holds a secret, or characters that no terminal shows."
    ]


def test_no_file_is_read_for_another_store_or_where_the_root_is_not_known(anna: Store) -> None:
    write_file(anna, "a.md", "heron\n")
    foreign = _run(anna, code=7)
    assert foreign.find_file("a.md") == ("a.md", None) and not foreign.account.files_missing
    own = _run(anna, is_read=False)
    assert own.find_file("./a.md") == ("a.md", None) and own.account.files_missing == {"a.md"}


def test_another_store_is_named_by_eight_digits_or_more(anna: Store) -> None:
    with anna.write() as change:
        codes = [origin_code(change.connection, uuid) for uuid in _UUIDS]
    assert find_origin(anna.primary, "@abcdef01-1") == (codes[0], _UUIDS[0])
    assert find_origin(anna.primary, _UUIDS[1]) == (codes[1], _UUIDS[1])
    for name in ("abcdef01", "abcdef0", ""):
        with pytest.raises(UsageError, match="is not one origin"):
            find_origin(anna.primary, name)
    with pytest.raises(NotFoundError, match="Nothing of 00000000 is here"):
        find_origin(anna.primary, "00000000")
    with pytest.raises(UsageError, match="is this store"):
        find_origin(anna.primary, own_uuid(anna.primary))
    with pytest.raises(UsageError, match="'abcdef0' is no origin"):
        Exchange(anna, _UUIDS[0], ["abcdef01", "abcdef0"])


def test_a_header_has_a_bound(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    for size, said in (
        (MAX_HEADER_BYTES, "is not a header of an export: it is not JSON"),
        (MAX_HEADER_BYTES + 1, "too long"),
    ):
        path.write_bytes(b"x" * size)
        with path.open("rb") as file, pytest.raises(UsageError, match=said):
            LineReader(file).header()
