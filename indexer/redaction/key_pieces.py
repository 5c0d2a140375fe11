r"""Key blocks whose lines are strings or comments of a program: each line goes by itself, and what parts them stays.

"-----BEGIN PRIVATE KEY-----\\n" +
"MIIB…\\n" +                                "PRIVATE_KEY_REDACTED\\n" +
"""

from ctxrank.indexer.redaction.guards import Secret, compiled

ANCHOR = "-----begin"
LABEL, RULE = "PRIVATE_KEY_REDACTED", "private-key"

_BEGIN = r"(?i)-----begin[ a-z0-9_-]{0,60}private key(?: block)?-----"
# A line of a key, at its least; the end; a header as PGP and old PEM have it.
_LINE = r"[A-Za-z0-9+/]{16,}+={0,2}|[A-Za-z0-9+/]{4,15}+={0,2}(?![A-Za-z0-9+/=])"
_BETWEEN = r"(?>(?:[\s\"'`+,.;*#/>|(){}\[\]-]|\\{1,4}(?:[nrt]|(?=[\s\"'`]))){1,60})"
_HEADER = r"(?i)(?:version|comment|proc-type|dek-info|charset|hash):[^\n\\\"']{0,80}+"
_FIRST_LETTERS = 20  # a block has a line of so many letters first
_MOST_LINES = 1000
_MOST_HEADERS = 4


def find_key_pieces(text: str, places: list[int]) -> list[Secret]:
    """The lines of the key blocks that begin at these places, in order."""
    found: list[Secret] = []
    done = 0
    for place in places:
        begin = compiled(_BEGIN).match(text, place) if place >= done else None
        if begin is None:
            continue
        done = begin.end()
        lines: list[tuple[int, int]] = []
        headers = 0
        while len(lines) < _MOST_LINES and (between := compiled(_BETWEEN).match(text, done)):
            if headers < _MOST_HEADERS and (header := compiled(_HEADER).match(text, between.end())):
                headers += 1
                done = header.end()
                continue
            line = compiled(_LINE).match(text, between.end())
            if line is None or line[0].isdigit() or (not lines and len(line[0]) < _FIRST_LETTERS):
                break
            lines.append(line.span())
            done = line.end()
        if len(lines) > 1:
            found += [Secret(start, end, LABEL, RULE) for start, end in lines]
    return found
