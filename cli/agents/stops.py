"""SubagentStop, Stop and SessionEnd: what an agent said last is kept, its notes, and what a session left behind."""

from ctxrank.cli.agents.new_notes import NoteReader, new_notes
from ctxrank.cli.agents.session import HookCall
from ctxrank.indexer.bounds import MAX_NOTES_BYTES
from ctxrank.indexer.extensions import TRANSCRIPTS, is_in_use, provided
from ctxrank.indexer.records.conversations import note_end


def on_stop(call: HookCall) -> None:
    """Keep the last message and the notes; where a project keeps nothing, nothing."""
    if call.event.text("agent_transcript_path"):
        from ctxrank.cli.agents.arrivals import note_arrival  # noqa: PLC0415  only a spawned agent has one

        note_arrival(call)
    if not call.settings.learn:
        return
    if call.event.text("last_assistant_message").strip():
        from ctxrank.cli.agents.messages import keep_message  # noqa: PLC0415  it brings the redaction rules along

        keep_message(call)
    take_in_notes(call)


def take_in_notes(call: HookCall) -> None:
    """Bring the notes of the project into the store, where it has folders of them."""
    reader = NoteReader(
        call.store,
        call.config,
        call.settings,
        call.event.session,
        call.group,
        call.agent_type or "main",
        call.event.name,
        MAX_NOTES_BYTES,
    )
    if notes := list(new_notes(reader)):
        from ctxrank.cli.agents.notes import take_in  # noqa: PLC0415  start-up: mostly none is new

        take_in(reader, iter(notes))


def on_session_end(call: HookCall) -> None:
    """Say that the session is over, and have the runner's transcript read, where there is a reader of transcripts."""
    if call.settings.learn:
        note_end(call.store, call.event.session)
    if is_in_use("transcripts"):
        provided(TRANSCRIPTS, "import transcripts")(call)
