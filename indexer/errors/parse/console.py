"""What a command printed, as text that can be looked at: decoded, without colours and progress bars.

    read_failure(b"\\x1b[31merror\\x1b[0m: no such file\\r\\n")  ->  "error: no such file\\n"

Of a long line the beginning and the end are kept; of a long output capture.py does, and units.py looks at no more.
"""

import re

from ctxrank.indexer.errors.parse.log_lines import as_said
from ctxrank.indexer.errors.parse.tables import Expressions
from ctxrank.indexer.text.escapes import without_escapes

MAX_LINE_LENGTH = 2000
_LINE_TAIL = 400
_CUT = " … "

_PRINTED = Expressions("console")


def read_failure(data: bytes) -> str:
    """The text of a command's output, in UTF-8; never fails."""
    return clean(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"))


def clean(text: str) -> str:
    """The text as a terminal would leave it, without colours, with one kind of line end."""
    text = without_escapes(text).replace("\r\n", "\n")
    if "\b" in text:  # a spinner, or the bold type of old manual pages
        text = re.sub(r"[^\n\b]\x08", "", text).replace("\b", "")
    return "\n".join(_without_prefixes([as_said(_clean_line(line)) for line in text.split("\n")]))


def _clean_line(line: str) -> str:
    if "\r" in line:
        # A progress bar writes its line again and again; what stays is the last state that says anything.
        line = next((part for part in reversed(line.split("\r")) if part.strip()), "")
    if not line.isascii():
        line = _PRINTED["spinner"].sub("", line)
    if len(line) > MAX_LINE_LENGTH:
        line = line[: MAX_LINE_LENGTH - _LINE_TAIL] + _CUT + line[-_LINE_TAIL:]
    return _PRINTED["controls"].sub("", line).rstrip()


def _without_prefixes(lines: list[str]) -> list[str]:
    """The lines without a quotation's margin, and the time and the name of who speaks where most have one."""
    margins = [margin.end() for line in lines if (margin := _PRINTED["margin"].match(line))]
    if len(margins) > 1 and len(margins) == sum(bool(line.strip(" \t>|")) for line in lines):
        lines = [line[min(margins) :] for line in lines]
    most = sum(map(bool, lines[:200])) * 2
    for name in ("timestamp", "speaker"):
        found = [match[0] for match in map(_PRINTED[name].match, lines[:200]) if match]
        # A name is that of a speaker where it comes again.
        if found and len(found) * 3 >= most and (name != "speaker" or len(set(found)) * 2 <= len(found)):
            lines = [line[match.end() :] if (match := _PRINTED[name].match(line)) else line for line in lines]
    return lines
