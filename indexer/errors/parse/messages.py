"""A message that does not say enough by itself, with what the lines around it add.

    in_full("Undefined variable.", ["Error: Undefined variable.", "1 | a { color: $b; }", "  |            ^^"], 0, 3,
            may_be_title=True).text   ->  "Undefined variable: `$b`"

Tools write a title and explain it below, name a place and say below what is wrong there, or mark a piece of code
instead of naming it. Without that, all errors under one title would be one error.
"""

import re

from ctxrank.indexer.errors.parse.notations import MARK, STRUCTURE, STRUCTURE_SIGNS, headline_of
from ctxrank.indexer.errors.parse.summaries import is_summary
from ctxrank.indexer.errors.parse.tables import Expressions
from ctxrank.indexer.light_typing import NamedTuple

# Of languages themselves, which word and mark them differently from version to version.
WORDED_BY_LANGUAGE = frozenset(("SyntaxError", "IndentationError", "TabError"))
_MAX_BELOW = 14  # lines
_MAX_LIST = 2
_MAX_STRUCTURE = 40
_LONGEST_TITLE = 6  # words
_BELOW = Expressions("messages")


class FullMessage(NamedTuple):
    """A message, and the lines that it was read from: `begin` is the first, `end` the one after the last."""

    text: str
    begin: int
    end: int


def in_full(message: str, lines: list[str], start: int, end: int, *, may_be_title: bool) -> FullMessage:
    """The message that line `start` announces; `end` is the line after what belongs to it."""
    if _BELOW["only place"].match(message) and (below := _said_below(lines, start)):
        message, end = below.text, max(end, below.end)
    elif _BELOW["only code"].match(message) and (below := _said_below(lines, start)):
        message, end = f"{message}: {below.text}", max(end, below.end)
    elif _BELOW["only opening"].match(message) and (below := _said_inside(lines, start)):
        message, end = below.text, max(end, below.end)
    if may_be_title and (listed := with_first_of_list(message, lines, start + 1)) != message:
        message, end = listed, max(end, min(start + 1 + _MAX_LIST, len(lines)))
    names_something = len(message.split()) > _LONGEST_TITLE or _BELOW["name"].search(message) is not None
    if not may_be_title or not message or names_something or is_summary(message):
        return FullMessage(message, start, end)
    if sentence := _sentence_below(lines, end):
        return FullMessage(f"{message}: {sentence.text}", start, sentence.end)
    piece = _marked_piece(lines, start, end)
    if piece is None or piece.text in message:
        return FullMessage(message, start, end)
    return FullMessage(f"{message.rstrip('.')}: `{piece.text}`", min(start, piece.begin), max(end, piece.end))


def with_first_of_list(message: str, lines: list[str], below: int) -> str:
    """A message that ends in a colon with the first of what it announces, which stands for all."""
    if not message.endswith(":") or _BELOW["no heading"].search(message) or is_summary(message):
        return message
    items = (line.strip(" -*") for line in lines[below : below + _MAX_LIST])
    return message + next((f" {item}" for item in items if re.search(r"\w", item)), "")


def _said_below(lines: list[str], start: int) -> FullMessage | None:
    """The first line below this one that is no code."""
    for at in range(start + 1, min(start + 1 + _MAX_BELOW, len(lines))):
        if _BELOW["excerpt"].match(lines[at]) is None:
            return FullMessage(re.sub(MARK, "", lines[at]).strip(), start, at + 1)
    return None


def _said_inside(lines: list[str], start: int) -> FullMessage | None:
    """What a structure that is printed below this line says in its message."""
    for at in range(start + 1, min(start + _MAX_STRUCTURE, len(lines))):
        if not any(sign in lines[at] for sign in STRUCTURE_SIGNS):
            continue
        found = headline_of(lines[at])
        if found is not None and found.notation.why == STRUCTURE:
            return FullMessage(found.message, start, at + 1)
    return None


def _sentence_below(lines: list[str], end: int) -> FullMessage | None:
    """The sentence that explains a title, below the code that it is about; None where none names anything."""
    for at in range(end, min(end + _MAX_BELOW, len(lines))):
        line = lines[at]
        if line and not line[0].isspace() and not re.match(r"\d+ ?[|\u2502:]", line):
            is_sentence = _BELOW["sentence"].match(line) is not None and not is_summary(line)
            said = lines[at : at + 2]
            return FullMessage(" ".join(said).split(". ")[0], at, at + len(said)) if is_sentence else None
    return None


def _marked_piece(lines: list[str], start: int, end: int) -> FullMessage | None:
    """The piece of code above the carets below this line, or right above it; of a quotation what it quotes."""
    for at in range(max(start - 1, 1), end):
        if (marked := _BELOW["marked"].match(lines[at])) is not None:
            piece = lines[at - 1][marked.start(1) : marked.end(1)]
            quoted = re.search(r"[`'\"]([^`'\"]+)[`'\"]", piece)
            piece = quoted[1] if quoted else piece.strip()
            return FullMessage(piece, at - 1, at + 1) if piece else None
    return None
