"""SubagentStop, Stop and SessionEnd: what an agent said last is kept, its notes, and what a session left behind."""

import os

from ctxrank.cli.agents.session import HookCall
from ctxrank.indexer.extensions import TRANSCRIPTS, is_installed, provided
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
    root = call.store.location.root
    folders = [folder for folder in call.settings.folders if os.path.isdir(os.path.join(root, folder))]
    if folders:
        from ctxrank.cli.agents.notes import keep_notes  # noqa: PLC0415  most projects have no such folder

        keep_notes(call, folders)


def on_session_end(call: HookCall) -> None:
    """Say that the session is over, and have the runner's transcript read, where there is a reader of transcripts."""
    if call.settings.learn:
        note_end(call.store, call.event.session)
    if is_installed("transcripts"):
        provided(TRANSCRIPTS, "import transcripts")(call)
