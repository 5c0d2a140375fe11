"""Public ids: `kind:number`, and `kind:number@origin` for a record that another machine made.

    parse_ref("package:12@9f3c27ab")      DocumentRef("package", 12, "9f3c27ab")
    public_id("package", 12)              "package:12"
    public_id("package", foreign_id(0x9f3c27ab, 12))      "package:12@9f3c27ab"

A record has a key that is the same everywhere: the uuid of the store that made it, its kind, and its number there. The
row id of one that was made here is its number. That of another store's is negative and holds both: −(code · 2³¹ +
number), where the code is the first 32 bits of the uuid. So it never changes and takes no number of ours.

Where two origins share their first 32 bits (`origins` in the schema), one has another code, and both are printed with
as many digits as tell them apart.
"""

import apsw

from ctxrank.indexer.bounds import MAX_UNDECIDED
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import opened_stores, read_map, read_value, require_value
from ctxrank.indexer.store.facets import KINDS

PACKAGE = "package"
ORIGIN_DIGITS = 8
MAX_FOREIGN_NUMBER = (1 << 31) - 1
FIRST_ID = -(1 << 63)  # before every row id
_CODES = 1 << 32
_UUID_DIGITS = 32
_NUMBER_DIGITS = 15
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")
# The title of a session `s`, which its metadata have (records/conversations.py); NULL for none.
SESSION_TITLE = """
    CASE WHEN json_valid(s.metadata) THEN
         CASE json_type(s.metadata, '$.title') WHEN 'text' THEN s.metadata ->> 'title' END END
"""
# SQL: whether a record, by its row id, may be said unasked; what another store made, once that store is accepted.
IS_ACCEPTED = "({0} >= 0 OR (-{0} >> 31) IN (SELECT code FROM origins WHERE state = 'accepted'))"
# SQL: whether the fix of a known error `e` may be called one: that of an accepted store, or confirmed or saved here.
IS_VOUCHED = f"""
    ({IS_ACCEPTED.format("e.id")} OR e.state = 'confirmed'
     OR EXISTS (SELECT 1 FROM imported_rows
                 WHERE source = 'saved' AND kind = 'error' AND source_key = CAST(e.id AS TEXT)))
"""
_DECIDE = "'ctxrank origins accept ID', or 'refuse ID'."
_HINT = "'ctxrank search' and 'ctxrank list packages' show ids."

# Of the stores of this process: what each origin is printed as. Only a foreign id asks for it.
_printed: dict[int, str] = {}


class DocumentRef(NamedTuple):
    """A public id; without an origin the record is one of this store, by its row id."""

    kind: str
    number: int
    origin: str = ""

    def __str__(self) -> str:
        own = public_id(self.kind, self.number)
        return f"{own}@{self.origin}" if self.origin else own


def public_id(kind: str, number: int) -> str:
    """The public id of a record by its row id."""
    return f"{kind}:{numbered(number)}"


def numbered(row_id: int) -> str:
    """The number of a record by its row id, with its origin where another store made it: `12`, `12@9f3c27ab`."""
    if row_id >= 0:
        return str(row_id)
    code, number = origin_and_number(row_id)
    return f"{number}@{origin_name(code)}"


def foreign_id(code: int, number: int) -> int:
    """The row id of a record that another store made under this number."""
    return -(code << 31 | number)


def origin_and_number(row_id: int) -> tuple[int, int]:
    """The code of the store that made a record (0: this one), and the record's number there."""
    return (0, row_id) if row_id >= 0 else (-row_id >> 31, -row_id & MAX_FOREIGN_NUMBER)


def digits_of(uuid: str) -> str:
    """A uuid as origins are compared: 32 hexadecimal digits."""
    return uuid.replace("-", "").lower()


def own_uuid(database: apsw.Connection) -> str:
    """The uuid of this store."""
    return require_value(database, "SELECT uuid FROM store WHERE id = 1", (), str)


def origin_code(writer: apsw.Connection, uuid: str, *, is_wanted: bool = False) -> int:
    """The code of an origin, which is entered where it is new; 0 for this store. `writer` has a transaction open.

    Raises UsageError for a new one that is not wanted while MAX_UNDECIDED others are not decided on.
    """
    own = own_uuid(writer)
    if uuid == own:
        return 0
    found = read_value(writer, "SELECT code FROM origins WHERE uuid = ?", (uuid,), int)
    if found is not None:
        return found
    undecided = require_value(writer, "SELECT count(*) FROM origins WHERE state = 'asked'", (), int)
    if not is_wanted and undecided >= MAX_UNDECIDED:
        raise UsageError(f"{undecided} other stores are not decided on, and it names one more", _DECIDE)
    taken = {_natural_code(own), *read_map(writer, "SELECT code, uuid FROM origins", (), int, str), 0}
    code = _natural_code(uuid)
    while code in taken:
        code = (code + 1) % _CODES
    writer.execute("INSERT INTO origins (code, uuid) VALUES (?, ?)", (code, uuid))
    _printed.clear()
    return code


def _natural_code(uuid: str) -> int:
    return int(digits_of(uuid)[:ORIGIN_DIGITS], 16)


def origins_of(database: apsw.Connection) -> dict[int, str]:
    """The uuids of all origins by code; 0 is this store."""
    return {0: own_uuid(database)} | read_map(database, "SELECT code, uuid FROM origins", (), int, str)


def origin_name(code: int) -> str:
    """What an origin is printed as: as few digits as tell it from the others of its store, at least eight."""
    if code not in _printed:
        _read_names(code)
    return _printed.get(code, f"{code:08x}")


def is_accepted(database: apsw.Connection, row_id: int) -> bool:
    """Whether a record may be said unasked: it is of this store or of an accepted one."""
    return row_id >= 0 or bool(read_value(database, f"SELECT {IS_ACCEPTED.format(':id')}", {"id": row_id}, int))


def whose(database: apsw.Connection, row_id: int) -> str:
    """Whose record it is: `of anna`, `not accepted`; '' where the id says it all, and for one of this store."""
    query = (
        "SELECT iif(state = 'accepted', iif(who = '', '', 'of ' || who), 'not accepted') FROM origins WHERE code = ?"
    )
    return "" if row_id >= 0 else read_value(database, query, (origin_and_number(row_id)[0],), str) or ""


def _read_names(code: int) -> None:
    for path in reversed(opened_stores):
        try:
            origins = origins_of(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY))  # of this thread
        except Exception:
            continue
        if code in origins:
            every = [digits_of(uuid) for uuid in origins.values()]
            for of, uuid in origins.items():
                digits = digits_of(uuid)
                beginnings = [digits[:length] for length in range(ORIGIN_DIGITS, _UUID_DIGITS)]
                alone = (one for one in beginnings if sum(other.startswith(one) for other in every) == 1)
                _printed[of] = next(alone, digits)
            return


def parse_ref(text: str, bare: str = PACKAGE) -> DocumentRef:
    """`package:12`, `error:3@9f3c27ab`, or `12`, which is of the kind `bare`. Raises UsageError."""
    ref = _read(text, bare)
    if ref is None or ref.kind not in KINDS:
        raise UsageError(
            f"'{text}' is not a document's id.",
            f"An id is kind:number, such as package:12; kinds are {', '.join(KINDS)}. A bare number is a package.",
        )
    return ref


def _read(text: str, bare: str) -> DocumentRef | None:
    """What an id says, whether or not there is such a kind; None for a text that is none."""
    kind, colon, own = text.strip().rpartition(":")
    number, at, origin = own.partition("@")
    is_kind = kind.isascii() and kind.isalpha() and kind.islower() if colon else True
    is_number = number.isdecimal() and len(number) <= _NUMBER_DIGITS
    is_origin = ORIGIN_DIGITS <= len(origin) <= _UUID_DIGITS and _HEXADECIMAL.issuperset(origin) if at else True
    return DocumentRef(kind or bare, int(number), origin.lower()) if is_kind and is_number and is_origin else None


def local_ref(database: apsw.Connection, text: str, bare: str = PACKAGE) -> DocumentRef:
    """The id of a record by its row id here. Raises UsageError, and NotFoundError for an origin that is not known."""
    ref = parse_ref(text, bare)
    if not ref.origin:
        return ref
    found = [code for code, uuid in origins_of(database).items() if digits_of(uuid).startswith(ref.origin)]
    if len(found) > 1:
        raise UsageError(f"Several origins begin with {ref.origin}.", "Give more digits of it.")
    if not found or ref.number > MAX_FOREIGN_NUMBER:
        raise NotFoundError(f"There is no {ref} here.", _HINT)
    code = found[0]
    if not code:
        return DocumentRef(ref.kind, ref.number)
    # An error or a strategy may have been joined with one that was here.
    query = """
        SELECT target_id FROM imported_rows
         WHERE source = 'jsonl:' || (SELECT uuid FROM origins WHERE code = ?) AND kind = ? AND source_key = ?
    """
    joined = read_value(database, query, (code, f"{ref.kind} number", str(ref.number)), int)
    return DocumentRef(ref.kind, joined or foreign_id(code, ref.number))


def without_origin(database: apsw.Connection, text: str) -> str:
    """The same id by its row id here, which may be negative; a text that is no id, which may be a name, as it is.

    Raises NotFoundError for an origin that is not known.
    """
    if "@" not in text or not _read(text, PACKAGE):
        return text
    kind, number, _ = local_ref(database, text)
    return f"{kind}:{number}"
