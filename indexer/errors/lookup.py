"""Signatures of known errors in the store: written beside their pattern, found by fingerprint or by rare terms.

    put(change, pattern_id, "default", signature)
    same(connection, Whose("default"), "template", signature.template)
    similar(connection, Whose("default", now_us(), "python"), terms_of(signature))

A lookup reads a few short posting lists and the rows of the best, never the whole table: the cost does not grow with
the store once its lists are longer than MAX_POSTINGS.
"""

import math
from collections.abc import Iterable, Iterator

import apsw

from ctxrank.indexer.errors.parse.frames import Frame
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.patterns import IS_ALIVE
from ctxrank.indexer.errors.signature import NORMALISER_VERSION, Signature, sign, terms_of
from ctxrank.indexer.light_typing import Literal, NamedTuple
from ctxrank.indexer.records.sessions import DEFAULT_PROJECT
from ctxrank.indexer.store.connection import require_value
from ctxrank.indexer.store.ids import IS_VOUCHED
from ctxrank.indexer.store.store import Change, Store
from ctxrank.indexer.text.digests import blake2b
from ctxrank.indexer.text.light_json import dumps, loads

# A term held by more patterns than this tells them apart too little to be read.
MAX_POSTINGS = 256
_MAX_READ = 800  # pattern numbers read for one question
_SIGNED_AT_ONCE = 500  # about a second
MAX_SAME = 64  # patterns of one fingerprint that are compared
CANDIDATES = 12
LEAST_TOLD = 3  # errors of a tool from which what it says is known
_KEPT_FEATURES = tuple(
    "codes conditions values frames details notes message missing outcome reasons file raised_in".split()
)


class Whose(NamedTuple):
    """Whose patterns count: those of a project, and unless `own_only` those that were saved without one.

    With `now` the living ones; with `lang` none of another language.
    """

    project: str
    now: int | None = None
    lang: str | None = None
    own_only: bool = False

    @property
    def projects(self) -> tuple[str, ...]:
        """The project, then the one of what names none."""
        return (self.project,) if self.own_only or self.project == DEFAULT_PROJECT else (self.project, DEFAULT_PROJECT)


class KnownError(NamedTuple):
    """A stored pattern with its signature and its record."""

    pattern_id: int
    signature: Signature
    confirmations: int
    refutations: int
    state: str
    last_seen: int
    solution: str
    is_vouched: bool = True  # its fix is that of a store that is believed here, or was confirmed or saved here
    varying: tuple[str, ...] = ()  # values of it in whose place a confirmed match had another


def put(change: Change, pattern_id: int, project: str, signature: Signature) -> None:
    """Write a pattern's signature, of a redacted text, over the one it had, of which what was learned stays."""
    numbers = [number_of(project, term) for term in (*terms_of(signature), tool_term(signature))]
    read = next(map(sign, error_units(signature.report)), signature)  # as it will be signed again
    is_whole = (read.instance, read.frames) == (signature.instance, signature.frames)
    features = {"type": signature.error_type, **{name: getattr(signature, name) for name in _KEPT_FEATURES}}
    query = "DELETE FROM error_signatures WHERE pattern_id = ? RETURNING iif(json_valid(features), features, '{}')"
    for (before,) in list(change.connection.execute(query, (pattern_id,))):
        features |= {name: value for name, value in loads(before).items() if name == "varying"}
    change.connection.execute(
        """
        INSERT INTO error_signatures (pattern_id, normaliser_version, template, instance, family, lang,
                                      headline, features, terms, error_text)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (pattern_id, signature.normaliser, signature.template, signature.instance, signature.family,
         signature.language, signature.headline, dumps(features, ensure_ascii=False), dumps(numbers),
         signature.report if is_whole else signature.text),
    )  # fmt: skip
    change.connection.executemany(
        "INSERT OR IGNORE INTO error_terms (term, pattern_id) VALUES (?, ?)", [(n, pattern_id) for n in numbers]
    )


def put_signature(change: Change, pattern_id: int, project: str, failure: str) -> None:
    """Make a pattern recognisable by a redacted failure; by one of which nothing can be read it is not."""
    if units := error_units(failure):
        put(change, pattern_id, project, sign(units[0]))
    else:
        change.connection.execute("DELETE FROM error_signatures WHERE pattern_id = ?", (pattern_id,))


def let_vary(change: Change, pattern_id: int, values: tuple[str, ...]) -> None:
    """Remember that these values of a pattern vary: a failure with others in their place was fixed by the same."""
    change.connection.execute(
        """
        UPDATE error_signatures
           SET features = json_set(features, '$.varying', json((
                   SELECT json_group_array(DISTINCT value)
                     FROM (SELECT value FROM json_each(features, '$.varying') UNION SELECT value FROM json_each(?)))))
         WHERE pattern_id = ? AND json_valid(features)
        """,
        (dumps(values, ensure_ascii=False), pattern_id),
    )


def tool_term(signature: Signature) -> str:
    """What errors of one tool share, as far as it is known."""
    return f"t:{signature.family}:{signature.language}"


def is_told_often(connection: apsw.Connection, whose: Whose, signature: Signature) -> bool:
    """Whether the store has enough errors of this tool for what it says to be known."""
    numbers = dumps([number_of(project, tool_term(signature)) for project in whose.projects])
    query = """
        SELECT count(*)
          FROM (SELECT 1 FROM json_each(?) AS asked
                 CROSS JOIN error_terms AS t ON t.term = asked.value LIMIT ?)
    """
    has_tool = bool(signature.language)
    return has_tool and require_value(connection, query, (numbers, LEAST_TOLD), int) == LEAST_TOLD


def same(
    connection: apsw.Connection, whose: Whose, of: Literal["template", "instance"], fingerprint: str
) -> list[KnownError]:
    """Patterns with this fingerprint of their template or their instance, the newest first."""
    return list(_known(connection, whose, f"s.{of} = :fingerprint", {"fingerprint": fingerprint}))


def similar(connection: apsw.Connection, whose: Whose, terms: Iterable[str]) -> list[KnownError]:
    """Patterns that share the rarest of these terms, the most shared weight first."""
    numbers = [number_of(project, term) for term in terms for project in whose.projects]
    total = require_value(connection, "SELECT count(*) FROM error_signatures", (), int)
    query = """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM error_terms AS t WHERE t.term = asked.value LIMIT ?)) AS postings,
               asked.value
          FROM json_each(?) AS asked
         ORDER BY postings, asked.value
    """
    shared: dict[int, tuple[float, int, int]] = {}  # weight, when last seen, pattern
    read = 0
    # Postings are counted up to one more than are read.
    for count, number in connection.execute(query, (MAX_POSTINGS + 1, dumps(numbers))):
        if not count:
            continue
        # The first list is read whatever its length: a question of frequent terms alone has an answer too.
        if read and (count > MAX_POSTINGS or read + count > _MAX_READ):
            break
        weight = math.log(1 + total / count)
        # Of a longer list both ends: the newest of our own, and of those of another store, whose ids fall.
        query = """
            SELECT t.pattern_id, e.last_seen
              FROM (SELECT * FROM (SELECT pattern_id FROM error_terms
                                    WHERE term = ?1 AND pattern_id > 0 ORDER BY pattern_id DESC LIMIT ?2)
                     UNION ALL
                    SELECT * FROM (SELECT pattern_id FROM error_terms
                                    WHERE term = ?1 AND pattern_id < 0 ORDER BY pattern_id LIMIT ?2)) AS t
             CROSS JOIN error_patterns AS e ON e.id = t.pattern_id
        """
        for pattern_id, last_seen in connection.execute(query, (number, MAX_POSTINGS)):
            shared[pattern_id] = (shared.get(pattern_id, (0.0,))[0] + weight, last_seen, pattern_id)
            read += 1
    # The newer pattern of two that share as much.
    ranked = [pattern_id for _, _, pattern_id in sorted(shared.values(), reverse=True)]
    found: list[KnownError] = []
    # Some at a time: what does not count must not take the place of what does.
    for start in range(0, len(ranked), CANDIDATES):
        some = dumps(ranked[start : start + CANDIDATES])
        found += _known(connection, whose, "s.pattern_id IN (SELECT value FROM json_each(:some))", {"some": some})
        if len(found) >= CANDIDATES:
            break
    return found[:CANDIDATES]


def sign_older(store: Store) -> int:
    """Bring signatures of an older normaliser up to date, some at a time; returns how many were. Raises LockedError."""
    query = """
        SELECT s.pattern_id, p.project, s.error_text
          FROM error_signatures AS s
          JOIN error_patterns AS p ON p.id = s.pattern_id
         WHERE s.normaliser_version < ?
         LIMIT ?
    """
    if store.primary.execute(query, (NORMALISER_VERSION, 1)).fetchone() is None:
        return 0
    with store.write() as change:
        older = list(change.connection.execute(query, (NORMALISER_VERSION, _SIGNED_AT_ONCE)))
        for pattern_id, project, text in older:
            put_signature(change, pattern_id, project, text)
    return len(older)


def number_of(project: str, term: str) -> int:
    """A term of a project as the number that represents it."""
    digest = blake2b(f"{project}\x00{term}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def _known(connection: apsw.Connection, whose: Whose, condition: str, values: dict[str, str]) -> Iterator[KnownError]:
    # CROSS JOIN keeps the order: signatures first. By project SQLite would read every pattern there is. Which are the
    # newest is found without their texts: a template can have thousands.
    rows = connection.execute(
        f"""
        WITH newest AS MATERIALIZED (
            SELECT s.pattern_id, e.last_seen
              FROM error_signatures AS s
             CROSS JOIN error_patterns AS e ON e.id = s.pattern_id
             WHERE {condition} AND e.project IN (:project, :shared)
               AND (:now IS NULL OR {IS_ALIVE}) AND (:lang IS NULL OR e.lang IS NULL OR lower(e.lang) = lower(:lang))
             ORDER BY e.last_seen DESC, s.pattern_id DESC
             LIMIT {MAX_SAME}
        )
        SELECT s.pattern_id, s.normaliser_version, s.template, s.instance, s.family, s.lang, s.headline, s.features,
               s.error_text, e.confirmations, e.refutations, e.state, e.last_seen, e.solution, {IS_VOUCHED}
          FROM newest
         CROSS JOIN error_signatures AS s ON s.pattern_id = newest.pattern_id
         CROSS JOIN error_patterns AS e ON e.id = newest.pattern_id
         ORDER BY newest.last_seen DESC, newest.pattern_id DESC
        """,
        {**values, "project": whose.project, "shared": whose.projects[-1], "now": whose.now, "lang": whose.lang},
    )
    for pattern_id, normaliser, template, instance, family, language, headline, features, text, *record in rows:
        found = loads(features)
        signature = Signature(
            normaliser, family, language, found["type"], tuple(found["codes"]), tuple(found["conditions"]), headline,
            tuple(found["values"]), tuple(Frame(*frame) for frame in found["frames"]), tuple(found["details"]),
            tuple(found.get("notes", ())), template, instance, found["message"],
            found.get("missing", ""), found.get("outcome", ""), tuple(found.get("reasons", ())), found.get("file", ""),
            found.get("raised_in", ""), text, text,
        )  # fmt: skip
        yield KnownError(pattern_id, signature, *record)._replace(varying=tuple(found.get("varying", ())))
