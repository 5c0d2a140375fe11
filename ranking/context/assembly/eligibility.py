"""Eligible packages: which ones a request may see, and what is known of each.

* of this session, not superseded, whose scope is global, whose group is the request's, or that the group's
  `context_references` name; a session-wide request sees all groups;
* designated for this agent or for none; the room that is left is filled with those designated for others;
* delivered before only to the same run: its blocks carry the same id, or are of one iteration above 0;
* other groups only with reach `session`, earlier sessions of the project, or of none, only with reach `project`;
* after a receipt only what is new since.

What a store made that is not accepted here is not eligible. What came with the repository and was not used here is
eligible where the task is about it alone (order.py).
"""

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.records.cloned_notes import COMMIT, IS_UNUSED_CLONE
from ctxrank.indexer.records.receipts import ASSEMBLY, delivered_to_run, get_receipt
from ctxrank.indexer.store.connection import read_column
from ctxrank.indexer.store.facets import id_list
from ctxrank.indexer.store.ids import IS_ACCEPTED, PACKAGE, SESSION_TITLE, public_id
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.lines import shell_word
from ctxrank.ranking.context.assembly.shapes import Spawn


class EligiblePackage(NamedTuple):
    """A package that may be shown. `is_for_others`: designated, but not for the agent that asks."""

    id: int
    document_id: int
    session_id: int
    session: str
    group: str | None
    path: str
    priority: str
    type: str
    producer: str
    summary: str
    created_at: int
    ruleset: int
    is_designated: bool
    is_for_others: bool
    is_delivered: bool
    is_own_group: bool  # of the request's group or session; else it is there because the reach was widened
    session_title: str | None
    title: str
    is_unused_clone: bool  # it came with the repository and was not used here
    held_at: int  # when the code that it is about was last as it was; 0: it is about none
    is_gone: bool  # all of that code is gone
    tokens: int  # of its summary, as `counter` has counted them
    counter: str
    artifact: int | None = None  # its file's
    commit: str | None = None  # by which it came with the repository


_QUERY = f"""
    SELECT p.id, d.id, p.session_id, s.name, g.name, p.path, p.priority, p.type, p.producer, p.summary,
           p.created_at, d.ruleset,
           EXISTS (SELECT 1 FROM package_consumers AS c WHERE c.package_id = p.id AND c.agent IN (:agent, :like)),
           EXISTS (SELECT 1 FROM package_consumers AS c WHERE c.package_id = p.id)
           AND NOT EXISTS (SELECT 1 FROM package_consumers AS c
                            WHERE c.package_id = p.id AND c.agent IN (:agent, :like)),
           :is_retry AND EXISTS (SELECT 1 FROM deliveries AS v
                    WHERE v.package_id = p.id AND v.group_id = coalesce(iif(p.session_id = :own, :group, 0), 0)
                      AND v.agent = :agent AND v.iteration = :iteration AND v.delivered_at < :before)
           OR :is_retry AND EXISTS (SELECT 1 FROM package_consumers AS c
                       WHERE c.package_id = p.id AND c.agent = :agent AND c.iteration = :iteration
                         AND c.consumed_at < :before),
           p.session_id = :own
           AND (:group IS NULL OR p.scope = 'global' OR p.group_id = :group OR p.id IN ({{references}})),
           {SESSION_TITLE},
           d.title, {IS_UNUSED_CLONE},
           coalesce((SELECT max(a.held_at) FROM anchors AS a WHERE a.document_id = d.id), 0),
           coalesce((SELECT min(a.state = 'gone') FROM anchors AS a WHERE a.document_id = d.id), 0),
           d.tokens, d.token_counter, p.artifact_id, {COMMIT}
      FROM packages AS p
      JOIN documents AS d ON d.kind = 'package' AND d.record_id = p.id
      JOIN sessions AS s ON s.id = p.session_id
      LEFT JOIN groups AS g ON g.id = p.group_id
     WHERE p.session_id IN (SELECT value FROM json_each(:sessions))
       AND p.superseded_by IS NULL AND {IS_ACCEPTED.format("p.id")}
       AND (:reach <> 'group' OR :group IS NULL OR p.scope = 'global' OR p.group_id = :group
            OR p.id IN ({{references}}))
"""


def eligible_packages(spawn: Spawn) -> list[EligiblePackage]:
    """All packages that the request may see, in no particular order.

    What is designated for the agent that a role is like is the role's, too.
    """
    primary, session, request = spawn.store.primary, spawn.session, spawn.request
    earlier: list[int] = []
    if request.reach == "project":
        query = """
            SELECT id FROM sessions AS s
             WHERE project IN (?, 'default') AND id <> ? AND (created_at, id) < (?, ?)
               AND EXISTS (SELECT 1 FROM packages WHERE session_id = s.id AND superseded_by IS NULL)
             ORDER BY id
        """
        earlier = read_column(primary, query, (spawn.project, session.id, session.created_at, session.id), int)
    group = spawn.group
    values = {
        "own": session.id,
        "sessions": id_list([session.id, *earlier]),
        "group": group.id if group else None,
        "agent": spawn.agent,
        "like": spawn.config.team.like(spawn.agent),
        "iteration": max(request.iteration, 0),
        "before": request.before,
        "reach": request.reach,
        # Without an iteration each call is a run of its own.
        "is_retry": request.run is None and request.iteration > 0,
    }
    given = delivered_to_run(primary, session.id, request.run, request.before) if request.run is not None else ()
    # In SQL, because a session's other groups are most of its packages; of all sessions at once: to prepare it again
    # takes as long as a hundred rows.
    sql = _QUERY.format(references=", ".join(map(str, group.context_references)) if group else "")
    packages = [*map(EligiblePackage._make, primary.execute(sql, values))]
    if spawn.news is not None:
        packages = [one for one in packages if public_id(PACKAGE, one.id) in spawn.news]
    return [one._replace(is_delivered=public_id(PACKAGE, one.id) in given) for one in packages] if given else packages


def news_since(store: Store, receipt_id: int, session: str) -> frozenset[str]:
    """The ids of what was made or changed since the block of a receipt and was not in it.

    Raises NotFoundError for a receipt that is not there, UsageError for one of another session, or of no block.
    """
    receipt = get_receipt(store.primary, receipt_id)
    if receipt.kind != ASSEMBLY or receipt.session != session:
        where = f"of session {receipt.session}" if receipt.kind == ASSEMBLY else "of no session's block"
        raise UsageError(
            f"Receipt {receipt_id} is {where}.",
            f"'ctxrank receipt list --session {shell_word(session)}' shows others.",
        )
    return changed_since(store, receipt.seq) - {entry.id for entry in receipt.entries if entry.is_included}


def changed_since(store: Store, seq: int) -> frozenset[str]:
    """The ids of what was made or changed after a change of the store, or has passages that were."""
    query = """
        SELECT coalesce(o.kind, d.kind), coalesce(o.record_id, d.record_id)
          FROM documents AS d LEFT JOIN documents AS o ON o.id = d.owner_id
         WHERE d.seq > ?
    """
    return frozenset(public_id(kind, number) for kind, number in store.primary.execute(query, (seq,)) if number)
