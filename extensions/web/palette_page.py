"""What Ctrl+K offers for a few letters: pages, conversations, findings; what the page can do its script adds."""

from contextlib import suppress

from ctxrank.extensions.web.answers import Commands, Json, Parameters
from ctxrank.indexer.exceptions import CtxrankError

_SESSIONS, _CONVERSATIONS, _FINDINGS = 200, 5, 6


def values(ask: Commands, given: Parameters) -> Json:
    """The newest conversations whose title has these letters, and what a search for them finds."""
    typed = given("q")
    sessions = ask("session list", limit=_SESSIONS).fields.get("sessions", [])
    named = [(one["session_id"], ask.called(one["session_id"], one.get("title"))) for one in sessions]
    hits: list[Json] = []
    with suppress(CtxrankError):  # half a filter: kind:pa
        hits = ask("search", query=(typed,), limit=_FINDINGS).fields.get("hits", []) if typed else []
    matching = [(name, title) for name, title in named if typed.casefold() in title.casefold()]
    return {"q": typed, "conversations": matching[:_CONVERSATIONS], "hits": hits}
