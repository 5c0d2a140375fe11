"""Whether the index can answer now: caught up within a bound, sound, or why not."""

import apsw

from ctxrank.indexer.fulltext import index_file
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.store import Store

# An index that lacks more than this share of the feed would hide too much: heuristics are more honest.
_MAX_MISSING_SHARE = 0.2
# A save holds the index for 1 to 5 ms, and one's own may have found it held: so much is worth waiting for.
_WAIT_MS = 25


class Readiness(NamedTuple):
    """The state of the index before a query: usable or in trouble, and how many changes it lacks."""

    trouble: index_file.Trouble
    stale: int

    @property
    def is_usable(self) -> bool:
        """Whether the index may be asked."""
        return self.trouble is index_file.Trouble.NONE


def make_ready(store: Store, *, is_enabled: bool, bound_ms: int) -> Readiness:
    """Let the index catch up and heal for at most about `bound_ms`; never raises because of the index.

    Whatever was committed before this call is in the index afterwards, but for `stale` changes. Where another process
    is applying what is missing, nothing is done or waited for.
    """
    if not is_enabled:
        return Readiness(index_file.Trouble.OFF, 0)
    index = index_file.current_index(store)
    try:
        if index.is_usable and not index.is_sound():
            index.trouble = index_file.Trouble.DAMAGED
        if index.is_usable and _is_current(index):
            return Readiness(index_file.Trouble.NONE, 0)
    except index_file.BROKEN as error:
        index.trouble = index_file.trouble_beside(store.truth, error)
    missing = store.follow(bound_ms, _WAIT_MS)
    index = store.index()
    try:
        if missing and index.is_usable and _hides_too_much(store, index, missing):
            return Readiness(index_file.Trouble.REBUILDING, missing)
    except index_file.BROKEN as error:
        index.trouble = index_file.trouble_of(error)
    return Readiness(index.trouble, missing)


def recover(store: Store, error: Exception, *, bound_ms: int) -> Readiness:
    """After a query failed on the index: note why, then reopen or heal it within the bound."""
    index = store.index()
    if isinstance(error, apsw.SQLError) and _is_whole(index):
        # The query's fault: rebuilding a sound index for it would not help.
        return Readiness(index_file.Trouble.REFUSED, 0)
    index.trouble = index_file.trouble_of(error)
    return make_ready(store, is_enabled=True, bound_ms=bound_ms)


def beyond_healing(readiness: Readiness) -> Readiness:
    """After a fresh index has failed as the one before it did: it is the store that cannot be read."""
    return readiness._replace(trouble=index_file.Trouble.STORE) if readiness.is_usable else readiness


def _is_whole(index: index_file.Index) -> bool:
    try:
        return index.is_usable and index.is_whole()
    except index_file.BROKEN:
        return False


def _is_current(index: index_file.Index) -> bool:
    row = index.connection.execute(
        """
        SELECT i.applied_seq = s.seq
               AND i.history_id = coalesce(
                   (SELECT history_id FROM primary_db.history_checkpoints WHERE seq >= s.seq LIMIT 1), 0)
          FROM main.state AS i, primary_db.store AS s
        """
    ).fetchone()
    return row == (1,)


def _hides_too_much(store: Store, index: index_file.Index, missing: int) -> bool:
    # Counting reads a whole index: 7 ms of CPU for a million. There are at least as many as are indexed and unchanged.
    if missing <= _MAX_MISSING_SHARE * (index.state().documents - missing):
        return False
    return missing > _MAX_MISSING_SHARE * _documents(store)


def _documents(store: Store) -> int:
    row = store.truth.execute("SELECT count(*) FROM documents").fetchone()
    return int(row[0]) if row else 0
