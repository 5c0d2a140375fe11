"""`ctxrank status`: how the store and its index are."""

from ctxrank.cli import declare
from ctxrank.cli.call import Call, shown


@declare.command()
def command(call: Call) -> None:
    """Say where the store is, what it holds, and whether its index can answer.

    Example: ctxrank status
    """
    from ctxrank.indexer.care.status import read_status

    with call.open() as store:
        status = read_status(store)
    if call.is_json:
        from ctxrank.cli.output.envelope import emit_json

        emit_json(
            status._asdict(),
            outcome="degraded" if status.index_trouble else "stale" if status.stale else "matched",
            engine="heuristic" if status.index_trouble else "fts5",
        )
        return
    print(f"store     {shown(status.store)}")
    print(f"root      {shown(status.root)}")
    print(f"holds     {', '.join(f'{count} {kind}' for kind, count in status.documents.items()) or 'nothing yet'}")
    if status.artifacts:
        print(f"artifacts {', '.join(f'{count} {state}' for state, count in status.artifacts.items())}")
    if status.index_trouble:
        print(f"index     cannot answer: {status.index_trouble}; heuristics do")
    else:
        print(f"index     {'up to date' if not status.stale else f'lacks {status.stale} changes'}")
    if status.counters:
        print(f"tokens    counted by {', '.join(f'{counter} ({count})' for counter, count in status.counters.items())}")
    older = f"{status.older_ruleset} documents stored under older ones"
    hint = "redacted when shown; 'ctxrank purge --redact' does it for good"
    if status.older_user_rules:
        hint = f"{status.older_user_rules} of them before your own rules were; 'ctxrank purge --redact' redacts them"
    hint = f" ({hint})" if status.older_ruleset else ""
    print(f"redaction rules {status.ruleset}; {older}{hint}")
    for note in status.notes:
        call.note(note)
