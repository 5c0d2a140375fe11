"""Cut a file into passages: the pieces that are indexed, ranked and shown.

    split_passages("# Setup\\n\\nRun it.\\n", "a.md")   [Passage(key="…", heading="Setup", start_line=1, …)]

    text ── sections ──────── groups ──────────────── passages
            a heading or a    small neighbours are    what is too large is cut
            definition each   put together            where blank lines or lines end

The passages of a file, joined, are the file. A key is made from content alone, so an edit changes the keys
of the passages it touched; for that, no cut may depend on a distance to the top of the file. Sections end
where the author ended them; groups and cuts end where a checksum of the nearby text says so ("content-defined
chunking", Muthitacharoen, Chen and Mazières, SOSP 2001), and so fall into step again soon after an edit.

Sections are found by patterns, not parsers; of Python, only what is outside its long strings. What is directly
above a definition (comments, decorators, attributes, annotations) begins its section. A wrong section costs a passage
that ends in an odd place, never a lost character. benchmarks/README.md has them measured against parsers.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from zlib import crc32

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.expressions import expression
from ctxrank.indexer.text.languages import Language, language_of
from ctxrank.indexer.text.tables import compiled

MAX_CHARS = 2400  # about 600 tokens: a passage is shown whole, and a block has to hold several
TARGET_CHARS = 1200  # what small sections are put together to, and about the mean of the cut pieces
MIN_CHARS = 400  # below this a passage is too little to be ranked by its words
CUT_WINDOW = (600, 1800)  # where a piece of an oversized section may end; its middle is TARGET_CHARS
_USUAL_INDENT = 4
DEEPEST_INDENT = 8  # of a definition that begins a section, in columns: the member of a member
CUT_CONTEXT = 64  # characters before a cut that decide about it: most of a line
GROUP_ENDS_ONE_IN = 3  # beyond MIN_CHARS, one heading in so many begins a new group

NAME_CHARS = 100  # a longer heading or name is cut, because every passage below it repeats it
PATH_DEPTH = 8  # deeper than any heading that Markdown has; bounds what a hostile reStructuredText costs


class Passage(NamedTuple):
    """A piece of a file. Lines count from 1, and `end_line` is the last one the text has a part of.

    `heading` is the path of Markdown headings (`Setup > Install`) or of definitions
    (`class Store > def open`); sections put together show the first and the last (`def a … def c`).
    """

    key: str
    heading: str
    start_line: int
    end_line: int
    text: str


class _TextSection(NamedTuple):
    """The text from `start` to `end`; `path` is the names from the outermost to its own, empty for none."""

    path: tuple[str, ...]
    start: int
    end: int


class _Opening(NamedTuple):
    """A place where a section begins, before its end is known. Smaller levels are further out."""

    start: int
    level: int
    name: str


def split_passages(text: str, path: str, first_line: int = 1) -> list[Passage]:
    """The passages of a file in order; the extension of `path` decides how it is cut. Blank text has none."""
    if not text or text.isspace():
        return []
    passages: list[Passage] = []
    seen: dict[str, int] = {}
    line = first_line
    language = language_of(path)
    openings = _OPENINGS.get(language.kind)
    # Every pattern begins with a newline, which the search jumps to; so the first line needs one too.
    sections = _nest(text, openings(f"\n{text}", language)) if openings else [_TextSection((), 0, len(text))]
    for heading, start, end in _pieces(text, sections, _cut_code if language.is_code else _cut):
        piece = text[start:end]
        newlines = piece.count("\n")
        last_line = line + newlines - piece.endswith("\n")
        # A key is 16 hex digits of the content; the second passage with the same ends in `.2`, and so on.
        digest = content_digest(heading, piece)
        seen[digest] = count = seen.get(digest, 0) + 1
        key = digest if count == 1 else f"{digest}.{count}"
        passages.append(Passage._make((key, heading, line, last_line, piece)))
        line += newlines
    return passages


def front_matter_end(text: str) -> int:
    """Where the YAML between two lines of `---` at the very top ends, behind the second; 0 if there is none."""
    if not text.startswith("---"):
        return 0
    found = re.match(r"---[ \t\r]*\n(?:[^\n]*\n)*?(?:---|\.\.\.)[ \t\r]*(?:\n|\Z)", text)
    return 0 if found is None else found.end()


def content_digest(heading: str, text: str) -> str:
    """What a passage's key begins with: heading and text suffice to check whether a key is theirs."""
    return hashlib.sha256(f"{heading}\0{text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _pieces(
    text: str, sections: list[_TextSection], cut_at: Callable[[str, int, int], int]
) -> Iterator[tuple[str, int, int]]:
    """Heading, start and end of every passage."""
    for first, last in _groups(text, sections):
        head, tail = sections[first], sections[last]
        heading = " > ".join(head.path)
        if len(head.path) == len(tail.path) and head.path != tail.path:  # siblings
            heading = f"{heading} … {tail.path[-1]}"
        start, end = head.start, tail.end
        while start < end:
            cut = cut_at(text, start, end)
            yield heading, start, cut
            start = cut


def _groups(text: str, sections: list[_TextSection]) -> Iterator[tuple[int, int]]:
    """First and last index of the runs of small sections that become one passage."""
    first = 0
    for index in range(1, len(sections)):
        head, section = sections[first], sections[index]
        if (
            section.end - head.start > TARGET_CHARS
            or not _belongs(sections, first, index)
            or (section.start - head.start >= MIN_CHARS and _ends_group(text, section))
        ):
            yield first, index - 1
            first = index
    yield first, len(sections) - 1


def _belongs(sections: list[_TextSection], first: int, index: int) -> bool:
    """Whether a section may join the group of the first: it is below that, or both are leaves of one parent."""
    head, path = sections[first].path, sections[index].path
    if not head:  # what comes before the first heading has no place in the tree
        return False
    if len(path) > len(head):
        return path[: len(head)] == head
    return path[:-1] == head[:-1] and _is_leaf(sections, first) and _is_leaf(sections, index)


def _is_leaf(sections: list[_TextSection], index: int) -> bool:
    return index + 1 == len(sections) or len(sections[index + 1].path) <= len(sections[index].path)


def _ends_group(text: str, section: _TextSection) -> bool:
    """Whether the first characters of a section say that a group ends before it."""
    opening = text[section.start : min(section.end, section.start + CUT_CONTEXT)]
    return crc32(opening.encode("utf-8", "surrogatepass")) % GROUP_ENDS_ONE_IN == 0


def _cut(text: str, start: int, end: int) -> int:
    """Where the passage that begins at `start` ends: after a blank line, else a line, else anywhere."""
    if end - start <= MAX_CHARS:
        return end
    low, high = start + CUT_WINDOW[0], start + CUT_WINDOW[1]
    for separator in ("\n\n", "\n"):
        if cut := _best_cut(text, separator, low, high):
            return cut
    # A very long line is near. What is before it goes first, then the line in the largest pieces.
    for separator, floor in (("\n", start), (" ", low)):
        if cut := text.rfind(separator, floor, start + MAX_CHARS) + 1:
            return cut
    return start + MAX_CHARS


def _best_cut(text: str, separator: str, low: int, high: int) -> int:
    """The end of the separator whose preceding text has the smallest checksum; 0 if there is none.

    A minimum over a window, not a checksum below a limit: it always finds one, and moving the window a
    little mostly finds the same one.
    """
    best, least = 0, 1 << 32
    found = text.find(separator, low, high)
    while found >= 0:
        checksum = crc32(text[found - CUT_CONTEXT : found].encode("utf-8", "surrogatepass"))
        if checksum < least:
            best, least = found + len(separator), checksum
        found = text.find(separator, found + len(separator), high)
    return best


def _cut_code(text: str, start: int, end: int) -> int:
    """The same in code: before the line that is indented least, and of several such after a blank one.

    A line directly below a comment or a decorator belongs to it.
    """
    if start + MAX_CHARS >= end:
        return end
    low, high = start + CUT_WINDOW[0], start + CUT_WINDOW[1]
    seen_to = min(high + 100, end)  # it looks ahead
    piece, code = text[start:seen_to], compiled("_code")
    # What is above its first line is not in the piece.
    if code is None or not piece.isascii() or "\n" not in piece[: CUT_WINDOW[0]]:
        return best_code_cut(text, start, low, high, seen_to) or _cut(text, start, end)
    best = code.code_cut(piece, 0, *CUT_WINDOW, len(piece))
    return start + best if best else _cut(text, start, end)


def best_code_cut(text: str, start: int, low: int, high: int, seen_to: int) -> int:
    """The place behind the newline between `low` and `high` that is best cut at, 0 for none."""
    best, least = 0, (DEEPEST_INDENT * 10, True, 0)
    for line in expression("code_line").finditer(text, low, seen_to):
        at = line.start()
        if at >= high:
            break
        indent = len(line[1].expandtabs(4))
        is_first = text[text.rfind("\n", start, at) + 1 : at].strip() == ""
        if (indent, not is_first) > least[:2] or not (is_first or _begins_anew(text, start, at)):
            continue
        checksum = crc32(text[at - CUT_CONTEXT : at].encode("utf-8", "surrogatepass"))
        if (indent, not is_first, checksum) < least:
            best, least = at + 1, (indent, not is_first, checksum)
    return best


def _begins_anew(text: str, start: int, at: int) -> bool:
    """Whether the line that ends at `at` is neither a comment nor a decorator of the next line, nor goes on there."""
    above = text[text.rfind("\n", start, at) + 1 : at].rstrip()
    return not above.lstrip().startswith(_ALL_LEADS) and not above.endswith((",", "(", "\\", "=", "->"))


def _nest(text: str, openings: Iterator[_Opening]) -> list[_TextSection]:
    """Give every opening its path and its end. What precedes the first one has no name."""
    sections: list[_TextSection] = []
    levels: list[int] = []  # of the openings that the last one is in, and its own
    path: tuple[str, ...] = ()
    start = 0
    for begin, level, name in openings:
        if begin > start and not (start == 0 and text[:begin].isspace()):
            sections.append(_TextSection._make((path, start, begin)))
            start = begin
        while levels and (levels[-1] >= level or len(levels) == PATH_DEPTH):
            levels.pop()
        path = (*path[: len(levels)], name)
        levels.append(level)
    sections.append(_TextSection(path, start, len(text)))
    return sections


def markdown_headings(lines: str, _: Language | None = None) -> Iterator[_Opening]:
    """Headings with # and underlined ones, outside code fences and front matter."""
    fence = ""
    for match in expression("markdown_line").finditer(lines, front_matter_end(lines[1:])):
        if mark := match["fence"]:
            if not fence:
                is_inline = mark[0] == "`" and "`" in match["info"]
                fence = "" if is_inline else mark
            elif mark.startswith(fence) and not match["info"].strip():
                fence = ""
        elif fence:
            continue
        elif match["marks"]:
            title = (match["title"] or "").strip().rstrip("#").rstrip()
            yield _Opening(match.start(), len(match["marks"]), title[:NAME_CHARS])
        else:
            level = 1 if match["underline"][0] == "=" else 2
            title_start = lines.rfind("\n", 0, match.start()) + 1
            title = lines[title_start : match.start()]
            # Below a list, a table, a quote or nothing, a row of dashes is a rule and no underline.
            if title and not title[0].isspace() and title[0] not in "-*+|>#=`~":
                yield _Opening(title_start - 1, level, title.strip()[:NAME_CHARS])


def _underlined_headings(lines: str, _: Language) -> Iterator[_Opening]:
    """reStructuredText's titles: underlined at least as long as they are, levels in order of appearance."""
    levels: dict[str, int] = {}
    over = -1  # where an overline began
    for match in expression("underlined_line").finditer(lines):
        title_start = lines.rfind("\n", 0, match.start()) + 1
        title = lines[title_start : match.start()].strip()
        if not title or len(title) > len(match[2]) + 1 or title[0] == title[-1] == match[1]:
            over = match.start()
            continue
        level = levels.setdefault(match[1], len(levels))
        has_overline = over >= 0 and lines.find("\n", over + 1) + 1 == title_start
        yield _Opening(over if has_overline else title_start - 1, level, title[:NAME_CHARS])


def _long_strings(lines: str) -> Iterator[tuple[int, int]]:
    """Where the long strings of Python begin and end; one that is never closed is none."""
    at = 0
    while found := expression("to_long_string").match(lines, at):
        mark = found[1]
        end = lines.find(mark, found.end())
        while end >= 0 and lines[end - 1] == "\\" and lines[end - 2] != "\\":
            end = lines.find(mark, end + 1)
        if end < 0:
            return
        yield found.start(1), end
        at = end + len(mark)


def _python_definitions(lines: str, language: Language) -> Iterator[_Opening]:
    if (code := compiled("_code")) is not None and lines.isascii():
        found: Iterable[tuple[int, str, str]] = code.python_openings(lines[1:])
    else:
        found = openings_in_python(lines)
    for start, indent, name in found:
        yield _Opening._make((_with_lead(lines, start, indent, language.leads), _level(indent), name))


def openings_in_python(lines: str) -> Iterator[tuple[int, str, str]]:
    """Where the definitions begin that are outside long strings, their indentation, and what they define."""
    strings = _long_strings(lines)
    begin, end = -1, -1  # of the long string that is looked at
    for match in expression("python_line").finditer(lines):
        while end < match.start():
            begin, end = next(strings, (len(lines), len(lines)))
        if begin >= match.start():
            yield match.start(), match[1], f"{match[2]} {match[3]}"


def _level(indent: str) -> int:
    return len(indent.expandtabs(4))


def _brace_definitions(lines: str, language: Language) -> Iterator[_Opening]:
    for match in expression("brace_line").finditer(lines):
        start = match.start()
        if match["keyword"]:
            name = f"{match['keyword']} {match['name']}"
        elif assigned := match["arrow"] or match["assigned"]:
            name = assigned
        else:
            name = f"{match['call']}()"
            if not match["returns"] and lines.startswith("\n{", match.end()):
                above = lines.rfind("\n", 0, start)  # in C, the return type may have a line of its own
                start = above if lines[above + 1 : above + 2].isalpha() else start
            elif language.has_function_keyword or not _is_definition(match):
                continue
        start = _with_lead(lines, start, match["indent"], language.leads)
        yield _Opening(start, _level(match["indent"]), name[:NAME_CHARS])


def _is_definition(match: re.Match[str]) -> bool:
    """Whether a line with a name before a parenthesis defines that name; otherwise it is as likely a call."""
    if match["modifiers"]:
        return True
    rest = match["rest"].rstrip()
    is_shallow = _level(match["indent"]) <= _USUAL_INDENT
    if rest.endswith("{"):
        # A call that takes a function, such as `describe` or `it`, counts as a definition; an object is an argument.
        is_closed = rest.count("(") < rest.count(")")
        return (is_closed or ("." not in match["call"] and not rest.endswith(("({", "[{", ", {")))) and (
            is_shallow or (is_closed and bool(match["returns"]))
        )
    return bool(match["returns"]) and not match["indent"]


_ALL_LEADS = ("//", "/*", "*", "@", "#", "--", "[", "template")
_MOST_LEAD_LINES = 40  # of one decorator or annotation that is written over several lines


def _with_lead(lines: str, start: int, indent: str, leads: tuple[str, ...]) -> int:
    """Move a section's start up over the comments, decorators, attributes and annotations directly above it."""
    while start > 0:
        above = lines.rfind("\n", 0, start)
        end = start - (lines[start - 1] == "\r")
        if lines.startswith(leads, above + 1 + len(indent)) and lines.startswith(indent, above + 1):
            start = above
            continue
        # What ends here may have begun further up.
        if lines.endswith("*/", above, end):
            ended = lines.rfind("*/", 0, end - 2)  # where the comment before this one did: its beginning is behind that
            opening = lines.rfind("/*", max(ended, 0), end - 2)
            begins = lines.rfind("\n", 0, opening) if opening > 0 else -1
            is_lead = "/*" in leads and begins >= 0 and lines[begins + 1 : opening].isspace() + (opening == begins + 1)
        elif lines.endswith((")", "]"), above, end):
            begins = _opening_line(lines, above, indent, leads)
            is_lead = begins >= 0
        else:
            break
        if not is_lead:
            break
        start = begins
    return start


def _opening_line(lines: str, last: int, indent: str, leads: tuple[str, ...]) -> int:
    """Where a decorator, attribute or annotation over several lines begins whose last line is given; -1 for none."""
    for _ in range(_MOST_LEAD_LINES):
        first = lines.rfind("\n", 0, last)
        if first < 0:
            return -1
        line = lines[first + 1 : min(last, first + 300)]
        inner = line.removeprefix(indent)
        if not line.strip() or (indent and inner is line):
            return -1
        if not inner.startswith((" ", "\t", ")", "]", "}")):
            return first if inner.startswith(leads) and inner.startswith(("@", "#[", "[")) else -1
        last = first
    return -1


_OPENINGS: dict[str, Callable[[str, Language], Iterator[_Opening]]] = {
    "markdown": markdown_headings,
    "rst": _underlined_headings,
    "python": _python_definitions,
    "braces": _brace_definitions,
}
