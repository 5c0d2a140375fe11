"""Public ids: parsing and printing undo each other; this store's own origin is accepted, another one is not here."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.store import documents
from ctxrank.indexer.store.documents import Document
from ctxrank.indexer.store.facets import KINDS
from ctxrank.indexer.store.ids import (
    DocumentRef,
    foreign_id,
    local_ref,
    origin_code,
    origin_name,
    parse_ref,
    public_id,
    without_origin,
)
from ctxrank.indexer.store.origins import known_origins
from ctxrank.indexer.store.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with create_store(str(tmp_path)) as store:
        yield store


def _uuid(store: Store) -> str:
    return str(store.primary.execute("SELECT uuid FROM store").get).replace("-", "")


@given(
    st.sampled_from(KINDS),
    st.integers(0, 10**15 - 1),
    st.just("") | st.text("0123456789abcdef", min_size=8, max_size=32),
)
def test_parsing_undoes_printing(kind: str, number: int, origin: str) -> None:
    ref = DocumentRef(kind, number, origin)
    assert parse_ref(str(ref)) == ref


def test_a_bare_number_is_a_package_unless_another_kind_is_meant() -> None:
    assert parse_ref(" 12 ") == DocumentRef("package", 12) and str(parse_ref("12")) == public_id("package", 12)
    assert parse_ref("3@9F3C27AB", "error") == DocumentRef("error", 3, "9f3c27ab")


@pytest.mark.parametrize(
    "text", ["", "x", "package:", "package:-1", "note:1", "package:1@", "package:1@9f3c27a", "1@xyzxyzxy"]
)
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a document's id"):
        parse_ref(text)


def test_the_store_s_own_origin_is_accepted_and_a_foreign_one_is_not_here(store: Store) -> None:
    own = _uuid(store)
    foreign = f"{'0' if own[0] != '0' else '1'}{own[1:8]}"
    assert (
        local_ref(store.primary, f"error:3@{own[:8]}")
        == local_ref(store.primary, f"error:3@{own}")
        == DocumentRef("error", 3)
    )
    with pytest.raises(NotFoundError, match=f"There is no package:12@{foreign} here"):
        local_ref(store.primary, f"12@{foreign}")


def test_an_origin_s_code_is_its_first_digits_and_the_next_free_one_where_two_begin_alike(store: Store) -> None:
    alike = ["12345678" + end for end in ("-0000-4000-8000-000000000001", "-0000-4000-8000-000000000002")]
    with store.write() as change:
        codes = [origin_code(change.connection, uuid) for uuid in (*alike, alike[0])]
    assert codes == [0x12345678, 0x12345679, 0x12345678]


def test_a_name_that_may_stand_for_an_id_stays_as_it_is(store: Store) -> None:
    assert without_origin(store.primary, "a name @home") == "a name @home"
    assert without_origin(store.primary, "3") == "3"
    assert without_origin(store.primary, f"strategy:3@{_uuid(store)[:8]}") == "strategy:3"


# An f-string with `package:{…}` or `{kind}:{number}` in it, or SQL that joins a kind and a number.
_BUILT_BY_HAND = re.compile(
    rf"""f["'][^"'\n]*(?:\b(?:{"|".join(KINDS)})|\{{[\w.]*kind\}}):\{{ | kind\s*\|\|\s*':'""", re.VERBOSE
)


def _ids_built_by_hand(folder: Path) -> list[str]:
    """Path and line of each place below a folder that puts an id together from its kind and number."""
    return [
        f"{path.relative_to(folder)}:{number}: {line.strip()}"
        for room in ("indexer", "ranking", "cli")
        for path in sorted((folder / room).rglob("*.py"))
        if path != folder / "indexer" / "store" / "ids.py"
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if _BUILT_BY_HAND.search(line)
    ]


def test_only_one_module_puts_an_id_together() -> None:
    found = _ids_built_by_hand(Path(__file__).resolve().parents[3])
    assert not found, "use public_id of indexer/store/ids.py for these ids:\n" + "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        'id_ = f"package:{package.id}"',
        'note = f"superseded by package:{number} today"',
        "yield f'{document.kind}:{document.number}'",
        "SELECT o.kind || ':' || o.record_id FROM documents AS o",
    ],
)
def test_an_id_that_is_put_together_by_hand_is_found(tmp_path: Path, line: str) -> None:
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "show.py").write_text(f"{line}\n", "utf-8")
    assert _ids_built_by_hand(tmp_path) == [f"cli/show.py:1: {line}"]


def test_of_stores_that_nobody_has_decided_on_no_more_than_200_are_named(store: Store) -> None:
    with store.write() as change:
        for number in range(1, 201):
            origin_code(change.connection, f"{number:08x}-0000-4000-8000-000000000000")
        known = origin_code(change.connection, f"{3:08x}-0000-4000-8000-000000000000")
        with pytest.raises(UsageError, match="200 other stores are not decided on"):
            origin_code(change.connection, "ffffffff-0000-4000-8000-000000000000")
        wanted = origin_code(change.connection, "ffffffff-0000-4000-8000-000000000000", is_wanted=True)
        assert (known, wanted, origin_code(change.connection, _uuid_text(store))) == (3, 0xFFFFFFFF, 0)


def test_an_origin_that_two_stores_begin_with_is_none(store: Store) -> None:
    uuids = [f"abcdef01-{number}000-4000-8000-000000000000" for number in (1, 2)]
    with store.write() as change:
        codes = [origin_code(change.connection, uuid) for uuid in uuids]
    with pytest.raises(UsageError, match="Several origins begin with abcdef01"):
        local_ref(store.primary, "3@abcdef01")
    second = local_ref(store.primary, "3@abcdef012")
    assert codes[1] == codes[0] + 1 and second.number < 0
    assert second != local_ref(store.primary, "3@abcdef011") != local_ref(store.primary, "4@abcdef011")


def test_an_origin_is_called_the_same_in_any_thread_while_the_store_is_in_use(store: Store) -> None:
    uuids = [f"abcdef01-{number}000-4000-8000-000000000000" for number in (1, 2)]
    with store.write() as change:
        codes = [origin_code(change.connection, uuid) for uuid in uuids]

    def called(*_: object) -> str:
        with ThreadPoolExecutor(1) as other:
            return other.submit(origin_name, codes[1]).result(30)

    store.primary.create_scalar_function("called", called)
    assert store.primary.execute("SELECT called()").get == "abcdef012"
    assert origin_name(codes[0]) == "abcdef011"


def _uuid_text(store: Store) -> str:
    return str(store.primary.execute("SELECT uuid FROM store").get)


def test_the_records_of_all_origins_are_counted_in_one_pass(store: Store) -> None:
    asked: list[str] = []

    def note(_: object, query: str, __: object) -> bool:
        asked.append(query)
        return True

    with store.write() as change:
        for digit in "ab":
            origin_code(change.connection, f"{digit * 8}-0000-4000-8000-000000000000")
        for number, code in enumerate((0xAAAAAAAA, 0xAAAAAAAA, 0)):
            document = Document("package", foreign_id(code, number) if code else number, "a", "b", 1, 1)
            documents.put(change, document)
    store.primary.exec_trace = note
    found = known_origins(store.primary)
    store.primary.exec_trace = None
    assert [(one.code, one.records) for one in found] == [(0xAAAAAAAA, 2), (0xBBBBBBBB, 0)]
    plan = str(store.primary.execute(f"EXPLAIN QUERY PLAN {asked[0]}").fetchall())
    assert "SCAN documents" in plan and "CORRELATED" not in plan
