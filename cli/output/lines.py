"""What several commands print of their records: facts on one line, a text whole or its beginning, how often."""

from collections.abc import Iterator

from ctxrank.indexer.text.lines import one_line, printable, shorten

SHOWN_CHARS = 300  # of a text in a list


def facts(*parts: str | None) -> str:
    """Facts on one line; those that are empty or said already are left out."""
    return one_line(" · ".join(dict.fromkeys(filter(None, parts))))


def place(session: str | None, group: str | None) -> str:
    """Where a record belongs: "shop/AUTH", a session alone, or ''."""
    return "/".join(filter(None, (session, group)))


def indented(text: str) -> Iterator[str]:
    """All lines of a text, indented so that none can look like a line of ours."""
    return (f"   {line}".rstrip() for line in printable(text).strip("\n").split("\n"))


def text_lines(text: str, *, is_full: bool) -> Iterator[str]:
    """The same, or the text's beginning on one line."""
    return indented(text) if is_full else iter((f"   {shorten(one_line(text), SHOWN_CHARS)}",))


def times(count: int) -> str:
    """How often, in words."""
    return "once" if count == 1 else f"{count} times"
