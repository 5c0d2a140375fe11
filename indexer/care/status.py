"""How a store and its index are, without changing either."""

import apsw

from ctxrank.indexer.engine import INDEX_READ_ERRORS, IndexHealth
from ctxrank.indexer.fulltext.catch_up import lag
from ctxrank.indexer.fulltext.fts5_engine import fts5_of, index_of
from ctxrank.indexer.fulltext.index_file import health_of
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.machine import FILE, switched_off
from ctxrank.indexer.privacy.erase import is_erasing_due
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.config import load_config, says_no_fts5
from ctxrank.indexer.store.connection import read_map
from ctxrank.indexer.store.freshness import ELSEWHERE
from ctxrank.indexer.store.ids import origin_name
from ctxrank.indexer.store.one_process import processes_of
from ctxrank.indexer.store.origins import known_origins
from ctxrank.indexer.store.rules_since import rules_hold_since
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.vocabulary import ENCODING


class Status(NamedTuple):
    """What `status` reports; `index_trouble` is '' for an index that can answer, `stale` the changes it is missing.

    `older_ruleset` counts the documents that were stored under older redaction rules; `older_user_rules` those of
    them that only the user's own rules have not seen. `processes` are those that serve or follow the store, by what
    they do: the process id, and where it answers. `origins` are the other stores whose records are here, with how many.
    """

    store: str
    root: str
    documents: dict[str, int]
    artifacts: dict[str, int]
    counters: dict[str, int]
    index_trouble: str
    stale: int
    ruleset: int
    older_ruleset: int
    older_user_rules: int
    processes: dict[str, str]
    origins: dict[str, int]
    notes: tuple[str, ...]


def read_status(store: Store) -> Status:
    """The store's state. Raises UsageError for a configuration that cannot be read."""
    config = load_config(store)
    index = index_of(store)
    try:
        if index.is_usable and not index.is_sound():
            raise apsw.CorruptError("the sentinel is gone")
        health = index.health
    except INDEX_READ_ERRORS as error:
        health = health_of(error)
    notes = list(config.notes)
    if not config.fts5:
        health = health or IndexHealth.OFF
    if config.fts5 and says_no_fts5(store):
        notes.append(
            "skills_config.json says enable_fts5: false; FTS5 is in this SQLite and is used."
            " 'fts5: off' in config.yaml switches it off."
        )
    if is_erasing_due(store.primary):
        notes.append(
            "A purge is not finished: bytes of what was removed may be in the files. 'ctxrank purge' finishes it."
        )
    if off := switched_off():
        notes.append(f"Switched off on this machine by its administrator ({FILE}): {', '.join(sorted(off))}.")
    since = rules_hold_since(store)
    query = """
        SELECT count(*) FILTER (WHERE ruleset < ?1 OR seq <= ?2), count(*) FILTER (WHERE ruleset >= ?1 AND seq <= ?2)
          FROM documents
    """
    ((older_ruleset, older_user_rules),) = store.primary.execute(query, (RULESET_VERSION, since))
    origins = sorted(known_origins(store.primary), key=lambda one: -one.records)
    return Status(
        store.location.primary,
        store.location.root,
        read_map(store.primary, _KINDS, (), str, int),
        read_map(store.primary, _FILE_STATES, (), str, int),
        read_map(store.primary, _TOKEN_COUNTERS, (), str, int),
        health,
        lag(fts5_of(store), index) if not health else 0,
        RULESET_VERSION,
        older_ruleset,
        older_user_rules,
        processes_of(store.location.folder),
        {origin_name(one.code): one.records for one in origins if one.records},
        tuple(notes),
    )


# In parts, each of which an index answers: grouped as they are, all rows would be read, with their texts.
_KINDS = """
    SELECT kind, count(*) FROM documents WHERE record_id IS NOT NULL GROUP BY kind
     UNION ALL
    SELECT 'passage', count(*) AS passages FROM documents WHERE owner_id IS NOT NULL HAVING passages > 0
     ORDER BY 1
"""
_FILE_STATES = f"""
    SELECT iif(reason = '{ELSEWHERE}', 'elsewhere', state) AS word, count(*) FROM artifacts GROUP BY word ORDER BY word
"""
_TOKEN_COUNTERS = f"""
    SELECT token_counter, count(*) FROM documents WHERE token_counter <> '{ENCODING}' GROUP BY token_counter
     UNION ALL
    SELECT '{ENCODING}', all_documents - others
      FROM (SELECT count(*) AS all_documents FROM documents),
           (SELECT count(*) AS others FROM documents WHERE token_counter <> '{ENCODING}')
     WHERE all_documents > others
     ORDER BY 1
"""
