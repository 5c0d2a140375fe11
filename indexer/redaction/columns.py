r"""Values under a heading that says what they are: a table of commas, semicolons, tabs or Markdown, and an INSERT.

user,password            INSERT INTO users (name, password) VALUES
anna,…                       ('anna', '…');
"""

from collections.abc import Iterator

from ctxrank.indexer.redaction.guards import Secret, compiled, is_stand_in
from ctxrank.indexer.redaction.named_values import NAME_AT_END, is_likely

_REACH = 2000  # characters from the beginning of a heading to a name in it
_MOST_ROWS = 1000
# What is behind a name that may head a column: more names up to the end of the line, or to a tuple behind theirs; and
# what is before a name that heads the last.
_HEADED = (
    r"[\w-]{1,40}+\\?+[\"'`*]{0,2}+[ \t]{0,40}(?P<sign>[,;|\t]|(?=[)\r\n]))"
    r"(?=[\w .*\\\"'`,;|\t-]{0,2000}+(?:\r?\n[^\n]{0,2000}?[,;|\t]|\)\s{0,9}(?:,|(?i:values))\s{0,9}\())"
)
_BEFORE = r"(?s).*([,;|\t])"
_CELL = r"[ ]*+(?:\\?([\"'`])(?P<quoted>[^\"'`\n\\]{0,300}+)\\?\1|(?P<bare>[^,;|\t\"'`()\n\r]{0,300}+))[ ]*+"
_PLAIN_NAME = r"(?![\d.]+\Z)[\w .*-]{1,40}"
_NEXT_LINE = r"[ \t]*\r?\n(?:[|: \t-]{3,300}+\n)?"
_NEXT_TUPLE = r"\)\s{0,9}(?:,|(?i:values))\s{0,9}\("


def find_in_columns(text: str, places: list[int]) -> Iterator[Secret]:
    """The values of columns that a secret's name heads, given where names may be, in order."""
    done = 0
    for place in places:
        headed = compiled(_HEADED).match(text, place) if place >= done else None
        if headed is None:
            continue
        start = max(text.rfind(sign, max(0, place - _REACH), place) for sign in "\n(") + 1
        before = compiled(_BEFORE).match(text, start, place)
        sign = headed["sign"] or (before[1] if before else "")
        names, done = _cells(text, start, sign)
        if len(names) < 2 or not all(compiled(_PLAIN_NAME).fullmatch(text, *name) for name in names):
            continue
        between = compiled(_NEXT_TUPLE if text.startswith(")", done) else _NEXT_LINE)
        wanted: list[int] | None = None
        for _ in range(_MOST_ROWS):
            next_row = between.match(text, done)
            cells, done = _cells(text, next_row.end(), sign) if next_row else ([], done)
            if len(cells) != len(names):
                break
            if wanted is None:  # a heading alone is no table
                wanted = [number for number, name in enumerate(names) if _is_name(text, *name)]
            for start, end in (cells[number] for number in wanted):
                value = text[start:end]
                if " " not in value and not is_stand_in(text, start) and is_likely(value):
                    yield Secret(start, end, "[REDACTED]", "named-secret")


def _cells(text: str, at: int, sign: str) -> tuple[list[tuple[int, int]], int]:
    """Where the cells of a row are, without their quotes and blanks, and where the last one ends."""
    cells: list[tuple[int, int]] = []
    at += sign == "|" and text.startswith(sign, at)
    while sign and (cell := compiled(_CELL).match(text, at)):
        group = "bare" if cell["quoted"] is None else "quoted"
        cells.append((cell.start(group), cell.start(group) + len(cell[group].rstrip())))
        at = cell.end() + 1
        if not text.startswith(sign, cell.end()) or text[at : at + 1] in ("", "\r", "\n"):
            return cells, at if text.startswith(sign, cell.end()) else at - 1
    return cells, at


def _is_name(text: str, start: int, end: int) -> bool:
    name = compiled(NAME_AT_END).search(text, start, end)
    return name is not None and not name["weak"] and name["tail"][-2:].lower() != "id"
