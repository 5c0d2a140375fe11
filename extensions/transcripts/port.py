"""What the core asks of a reader of transcripts (`ctxrank.cli.agents.session.Importer`)."""

from ctxrank.cli.agents.session import HookCall


class TranscriptImporter:
    """Transcripts of Claude Code and Codex."""

    def on_session_end(self, call: HookCall) -> None:
        """Read what the session that ends has left."""
        from ctxrank.extensions.transcripts.importing import on_session_end  # noqa: PLC0415  other events read none

        on_session_end(call)


IMPORTER = TranscriptImporter()
