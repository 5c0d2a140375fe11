"""Public ids: `kind:number`, and `kind:number@origin` for a record that another machine made.

    parse_ref("package:12@9f3c27ab")      DocumentRef("package", 12, "9f3c27ab")
    public_id("package", 12)              "package:12"

An origin is the first 8 or more hexadecimal digits of the uuid of the store that made the record.
"""

from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.light_typing import TYPE_CHECKING, NamedTuple
from ctxrank.indexer.store.connection import require_value
from ctxrank.indexer.store.facets import KINDS

if TYPE_CHECKING:
    import apsw

PACKAGE = "package"
ORIGIN_DIGITS = 8
_UUID_DIGITS = 32
_NUMBER_DIGITS = 15
_HEXADECIMAL = frozenset("0123456789abcdefABCDEF")


class DocumentRef(NamedTuple):
    """A public id; without an origin the record is this store's own."""

    kind: str
    number: int
    origin: str = ""

    def __str__(self) -> str:
        own = public_id(self.kind, self.number)
        return f"{own}@{self.origin}" if self.origin else own


def public_id(kind: str, number: int) -> str:
    """The id of a record of this store."""
    return f"{kind}:{number}"


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


def own_ref(database: "apsw.Connection", text: str, bare: str = PACKAGE) -> DocumentRef:
    """The id of a record of this store. Raises UsageError, and NotFoundError for one that another machine made."""
    return as_own(database, parse_ref(text, bare))


def as_own(database: "apsw.Connection", ref: DocumentRef) -> DocumentRef:
    """The id without this store's origin. Raises NotFoundError for the origin of another store."""
    if ref.origin:
        uuid = require_value(database, "SELECT uuid FROM store WHERE id = 1", (), str)
        if not uuid.replace("-", "").lower().startswith(ref.origin):
            raise NotFoundError(f"There is no {ref} here.", "'ctxrank search' and 'ctxrank package list' show ids.")
    return DocumentRef(ref.kind, ref.number)


def without_origin(database: "apsw.Connection", text: str) -> str:
    """The same id without this store's origin; a text that is no id, which may be a name, as it is.

    Raises NotFoundError for the origin of another store.
    """
    return str(own_ref(database, text)) if "@" in text and _read(text, PACKAGE) else text
