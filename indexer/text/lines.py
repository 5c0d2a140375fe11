"""Text that is safe to show: no control characters, no terminal or bidirectional tricks, no fence that it closes."""

import re

_KEPT_CONTROLS = "\n\t"
# A run of zeros that no text has: where one is, pages of the file were wiped, and SQLite cannot know.
WIPED = "\0" * 16
_CONTROLS = {code: None for code in (*range(0x20), 0x7F) if chr(code) not in _KEPT_CONTROLS} | {ord("\r"): "\n"}


def one_line(text: str) -> str:
    """The text on one line: line breaks and runs of white space become one space, controls go."""
    return " ".join(printable(text).split())


def error_title(error_type: str, message: str) -> str:
    """An error on one line; a message that begins with its type is not given it twice."""
    if not error_type or error_type == "Unknown" or message.startswith(error_type):
        return one_line(message) or one_line(error_type)
    return one_line(f"{error_type}: {message}")


def is_one_line(text: str) -> bool:
    """Whether a text is one line as it is, with nothing in it that hides or reorders."""
    return text.isprintable() or (printable(text) == text and "\n" not in text and "\t" not in text)


def printable(text: str) -> str:
    """The text without terminal escapes, control characters (but newline and tab) and bidi overrides."""
    text = text.replace("\r\n", "\n").translate(_CONTROLS)
    if text.isascii():
        return text
    import unicodedata  # noqa: PLC0415  most texts are ASCII

    # Controls, format characters (bidi, zero width), surrogates, private use: every category C.
    hidden = {ord(character): None for character in set(text) if unicodedata.category(character).startswith("C")}
    for character in _KEPT_CONTROLS:
        hidden.pop(ord(character), None)
    return text.translate(hidden) if hidden else text


def fence(text: str) -> str:
    """A Markdown fence that the text cannot close."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall(r"`{3,}", text)), default=0))


def shorten(text: str, limit: int) -> str:
    """The text, or its first `limit` characters cut at a word, with `...` where something is missing."""
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + "..."


def joined(*parts: str) -> str:
    """Parts with one blank line between them; empty ones leave no gap."""
    return "\n".join(part for part in parts if part)


def visible_json(text: str) -> str:
    """The same JSON with everything escaped that a terminal would obey or that is invisible."""
    if text.isascii() and "\x7f" not in text:
        return text  # JSON itself escapes the other controls
    import unicodedata  # noqa: PLC0415  most texts are ASCII

    hidden = {
        ord(character): _json_escape(character)
        for character in set(text)
        if character not in _KEPT_CONTROLS and unicodedata.category(character).startswith("C")
    }
    return text.translate(hidden) if hidden else text


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
