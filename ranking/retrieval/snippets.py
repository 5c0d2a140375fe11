"""Snippets: the part of a text where most of the query's words are together.

    prose   the **database** is **locked** because the WAL switch …      one line, what matched between marks
    code    41  def claim(job):                                          up to three lines as they are, without marks
            42      with connection:
            43          return job.owner

The index holds no text: snippets are cut from the primary database's. A `**` of the text itself stays, so marks are
told apart by their places: `Snippet.marks` in the snippet, `SnippetLine.marks` in whole lines. Only Markdown's bold is
shown plain in prose.
"""

from _bisect import bisect_left
from collections.abc import Mapping, Sequence
from os.path import splitext

from ctxrank.indexer.engine import Engine
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.identifiers import Match as FoundMatch
from ctxrank.indexer.text.lines import printable

WINDOW_TOKENS = 32
SHOWN_LINES = 3
MAX_LINE_CHARS = 200  # of a longer line, what is around its first match
MARK = "**"
ELLIPSIS = "…"
Span = tuple[int, int]  # in characters, the end outside

_MAX_SEARCHED_CHARS = 20_000
_BEFORE_CHARS = 60
# What no mark of Markdown's bold stands beside, on its outside and on its inside. In ASCII: no space parts a CJK word
# from its marks.
_NOT_OUTSIDE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_*/")
_NOT_INSIDE = frozenset(" \t\n\r\f\v")
# Files that are read as paragraphs; a file without an extension is prose, unless it is one that tools read.
_PROSE = frozenset({"", ".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".asciidoc", ".org"})
_CODE_NAMES = frozenset({"makefile", "dockerfile", "justfile", "rakefile", "gemfile", "vagrantfile"})


class SnippetLine(NamedTuple):
    """A line of a file, counted from 1, and where the query's words are in its text."""

    number: int
    text: str
    marks: tuple[Span, ...]


class Snippet(NamedTuple):
    """What is shown of a text.

    `marks` are the words of `text` that matched, each with the marks around it; code has none. `match_line` is the
    line of the best match, and `lines` are that line and those around it. `terms` are those that the text holds.
    """

    text: str
    marks: tuple[Span, ...]
    match_line: int
    lines: tuple[SnippetLine, ...]
    terms: frozenset[str]


class Match(NamedTuple):
    """A piece of the text that the query asked for."""

    position: int  # in tokens
    start: int  # in characters
    end: int
    term: str


class MatchedText(NamedTuple):
    """A text, where its tokens start and end, one after the other, and what matched in it."""

    text: str
    spans: Sequence[int]
    matches: list[Match]
    values: Mapping[str, float]  # of terms
    is_in_bytes: bool = False  # the spans are; matches never are


_Cut = tuple[tuple[str, tuple[Span, ...]], int, tuple[SnippetLine, ...], frozenset[str], str]


class _Part(NamedTuple):
    """What is shown: of prose a window, and in any case the best line, among these lines."""

    by_lines: bool
    start: int
    end: int
    best: int
    lines: list[Span]
    first: int  # of the lines


NOTHING = Snippet(text="", marks=(), match_line=0, lines=(), terms=frozenset())


def is_code(path: str) -> bool:
    """Whether a file's lines mean something: code, configuration, data; not prose."""
    name = path[path.rfind("/") + 1 :].lower()
    return splitext(name)[1] not in _PROSE or name in _CODE_NAMES


def snippet(engine: Engine, text: str, values: dict[str, float], path: str, start: int, named: list[int]) -> Snippet:
    """The best part of a text; its beginning where nothing in it matches.

    `values` are what the query's words are in the index, and how much each is worth. The text begins at the line
    `start` of the file at `path`; of its lines the first that the query `named` is the best, whatever it holds.
    """
    text = text[:_MAX_SEARCHED_CHARS].replace("\r\n", "\n")
    for line in named:
        if start <= line <= start + text.count("\n"):
            above = max(line - start - 1, 0)
            around = "\n".join(text.split("\n")[above : line - start + 2])
            return snippet(engine, around, values, path, start + above, [])._replace(match_line=line)
    shown, covered = _cut(engine, text, values, path, start)
    if printable(covered) != covered:  # rare: what is shown has control characters
        shown, _ = _cut(engine, shown_text(text), values, path, start)
    return shown


def _cut(engine: Engine, text: str, values: dict[str, float], path: str, first_line: int) -> tuple[Snippet, str]:
    """The same of a text as it is, and the part of it that is shown."""
    encoded = text.encode("utf-8", "replace")
    _, spans, found = engine.find_words(encoded, values, with_parts=True)
    (shown, marks), match_line, lines, terms, covered = cut(encoded, spans, found, values, is_code(path), first_line)
    return Snippet._make((shown, marks, match_line, tuple(map(SnippetLine._make, lines)), terms)), covered


def pure_cut(
    raw: bytes, spans: Sequence[int], found: list[FoundMatch], values: dict[str, float], by_lines: bool, first_line: int
) -> _Cut:
    """The best part of a text in UTF-8, by the places of its words.

    What is shown of it and the marks, the line of the best match, lines, terms, and the part of the text that all these
    are of. `_snippets.c` does the same where it was compiled.
    """
    matches = list(map(Match._make, found)) if raw.isascii() else _in_characters(raw, found)
    read = MatchedText(raw.decode(), spans, matches, values, not raw.isascii())
    part = _part(read, by_lines)
    shown, marks, match_line, lines, terms = _snippet(read, part, first_line)
    covered = read.text[min(part.start, part.lines[0][0]) : max(part.end, part.lines[-1][1])]
    return (shown, marks), match_line, lines, terms, covered


def cut_snippet(read: MatchedText, *, path: str, first_line: int) -> Snippet:
    """The best part of a text that is as `shown_text` leaves it."""
    return _snippet(read, _part(read, is_code(path)), first_line)


def terms_in(engine: Engine, text: str, values: dict[str, float]) -> frozenset[str]:
    """Which of the query's terms a text holds."""
    _, _, found = engine.find_words(text.encode("utf-8", "replace"), values, with_parts=True)
    return frozenset([term for *_, term in found])


def shown_text(text: str) -> str:
    """The text without what a terminal would obey; each of its lines stays one line."""
    text = text[:_MAX_SEARCHED_CHARS]
    shown = printable(text)
    if shown.count("\n") == text.count("\n"):
        return shown
    return "\n".join(printable(line.rstrip("\r")).replace("\n", " ") for line in text.split("\n"))


def marked(text: str, marks: tuple[Span, ...], mark: str, before: str = "", after: str = "") -> str:
    """The text with this before and after what is marked, in place of the marks."""
    pieces: list[str] = []
    at = 0
    for start, end in marks:
        pieces += [text[at:start], before, text[start + len(mark) : end - len(mark)], after]
        at = end
    return "".join([*pieces, text[at:]])


def _in_characters(encoded: bytes, matches: list[tuple[int, int, int, str]]) -> list[Match]:
    """The same matches with their places in characters instead of bytes."""
    counted: list[Match] = []
    at = characters = 0
    for position, start, end, term in matches:
        if start < at:  # of the parts of one CJK word
            at = characters = 0
        characters += len(encoded[at:start].decode())
        at = start
        counted.append(Match._make((position, characters, characters + len(encoded[start:end].decode()), term)))
    return counted


def _part(read: MatchedText, by_lines: bool) -> _Part:
    start, end = (0, len(read.text)) if by_lines else _window(read)
    body = read.text.removesuffix("\n")  # a last newline begins no line
    shown = _best_line(read, start, end)
    best = body.count("\n", 0, shown)
    first = max(0, min(best - 1, body.count("\n") + 1 - SHOWN_LINES))
    for _ in range(best - first):
        shown = body.rfind("\n", 0, shown - 1) + 1
    lines: list[Span] = []  # without their newlines
    while len(lines) < SHOWN_LINES and shown <= len(body):
        line_end = _line_end(body, shown)
        lines.append((shown, line_end))
        shown = line_end + 1
    if by_lines:
        start, end = lines[best - first]
    return _Part._make((by_lines, start, end, best, lines, first))


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _snippet(read: MatchedText, part: _Part, first_line: int) -> Snippet:
    lines = _lines(read, part, first_line)
    terms = frozenset([match[3] for match in read.matches])
    if part.by_lines:
        shown, marks = "\n".join([line.text for line in lines]), tuple[Span, ...]()
    else:
        shown, marks = _on_one_line(read, part.start, part.end)
    return Snippet._make((shown, marks, first_line + part.best, lines, terms))


def _window(read: MatchedText) -> Span:
    """The window with the most distinct terms, then the most matches, then the first."""
    length, matches = len(read.spans) // 2, read.matches
    if not length:
        return 0, min(len(read.text), MAX_LINE_CHARS)
    first = 0
    if matches:
        # A little of what comes before, so that the first marked word has a context.
        first = max(0, min(_best_position(matches) - WINDOW_TOKENS // 5, length - WINDOW_TOKENS))
    last = min(first + WINDOW_TOKENS, length) - 1
    start, end = read.spans[2 * first], read.spans[2 * last + 1]
    if read.is_in_bytes:
        encoded = read.text.encode("utf-8", "replace")
        start, end = len(encoded[:start].decode()), len(encoded[:end].decode())
    return 0 if first == 0 else start, len(read.text) if last >= length - 1 else end


def _best_position(matches: list[Match]) -> int:
    """The position of the first match of the best window."""
    best, best_key = matches[0].position, (0, 0)
    counts: dict[str, int] = {}  # of the terms in the window that begins at each match
    end = 0
    for at, (position, _, _, term) in enumerate(matches):
        while end < len(matches) and end < at + WINDOW_TOKENS and matches[end].position < position + WINDOW_TOKENS:
            counts[matches[end].term] = counts.get(matches[end].term, 0) + 1
            end += 1
        key = (len(counts), end - at)
        if key > best_key:
            best, best_key = position, key
        counts[term] -= 1
        if not counts[term]:
            del counts[term]
    return best


def _best_line(read: MatchedText, start: int, end: int) -> int:
    """Where the line of this part begins whose distinct terms are worth most, then with most matches, then the first.

    Without matches that is the first line that is not blank.
    """
    text = read.text
    terms: dict[int, set[str]] = {}  # by where their line begins
    counts: dict[int, int] = {}
    for _, from_, to, term in read.matches:
        if from_ < start or to > end:
            continue
        line = text.rfind("\n", 0, from_) + 1
        terms.setdefault(line, set()).add(term)
        counts[line] = counts.get(line, 0) + 1
    if not terms:
        return text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1 if text.strip() else 0
    worth = {at: sum(sorted([read.values[term] for term in held])) for at, held in terms.items()}
    return max(terms, key=lambda at: (worth[at], counts[at], -at))


def _lines(read: MatchedText, part: _Part, first_line: int) -> tuple[SnippetLine, ...]:
    """The best line between its neighbours, without blank lines at either end."""
    lines: list[SnippetLine] = []
    for number, (start, end) in enumerate(part.lines, start=first_line + part.first):
        inside = [(from_ - start, to - start) for _, from_, to, _ in read.matches if start <= from_ and to <= end]
        lines.append(_shortened(SnippetLine._make((number, read.text[start:end].rstrip(), tuple(_merged(inside))))))
    while lines and not lines[0].text.strip():
        del lines[0]
    while lines and not lines[-1].text.strip():
        del lines[-1]
    return tuple(lines)


def _shortened(line: SnippetLine) -> SnippetLine:
    if len(line.text) <= MAX_LINE_CHARS:
        return line
    at = line.marks[0][0] if line.marks else 0
    start = max(0, min(at - _BEFORE_CHARS, len(line.text) - MAX_LINE_CHARS))
    end = start + MAX_LINE_CHARS
    before, after = ELLIPSIS if start else "", ELLIPSIS if end < len(line.text) else ""
    shift = len(before) - start
    marks = tuple((one + shift, other + shift) for one, other in line.marks if start <= one and other <= end)
    return SnippetLine(line.number, f"{before}{line.text[start:end]}{after}", marks)


def _merged(spans: list[Span]) -> list[Span]:
    """Spans in order; those that touch are one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _on_one_line(read: MatchedText, start: int, end: int) -> tuple[str, tuple[Span, ...]]:
    """A part of prose on one line with its marks, and where these are."""
    text = read.text
    has_asterisk = text.find("*", max(start - 1, 0), end + 1) >= 0
    # No bold goes over the end of a line.
    hidden = _bold_delimiters(text, text.rfind("\n", 0, start) + 1, _line_end(text, end)) if has_asterisk else []
    shown = f"{ELLIPSIS} " if start else ""
    is_begun = False  # white space at the beginning goes
    marks: list[Span] = []
    at = start
    for from_, to in _merged([(from_, to) for _, from_, to, _ in read.matches if start <= from_ and to <= end]):
        piece = _collapsed(_without(text, at, from_, hidden))
        shown += piece if is_begun else piece.lstrip()
        is_begun = True
        word = _without(text, from_, to, hidden)
        beside = [at for at in (from_ - 1, to) if text[at : at + 1] == "*" and at not in hidden] if has_asterisk else []
        if beside:  # a mark would be taken for the text's
            shown += word
        else:
            marks.append((len(shown), len(shown) + len(word) + 2 * len(MARK)))
            shown += f"{MARK}{word}{MARK}"
        at = to
    piece = _collapsed(_without(text, at, end, hidden)).rstrip()
    shown += piece if is_begun else piece.lstrip()
    return f"{shown} {ELLIPSIS}" if end < len(text) else shown, tuple(marks)


def _bold_delimiters(text: str, first: int, last: int) -> list[int]:
    """The places of the asterisks of Markdown's bold in whole lines of a text, ascending."""
    places: list[int] = []
    start = text.find(MARK, first, last)
    while start >= 0:
        end = -1 if text[start - 1 : start] in _NOT_OUTSIDE else _closing_mark(text, start + len(MARK))
        if end >= 0:
            places += (start, start + 1, end, end + 1)
        start = text.find(MARK, start + 1 if end < 0 else end + len(MARK), last)
    return places


def _closing_mark(text: str, start: int) -> int:
    """The place of the mark that ends what is bold from `start` on; -1 for none.

    Nothing of it is an asterisk or a line's end, but its first and its last character may be asterisks.
    """
    if text[start : start + 1] in _NOT_INSIDE:
        return -1
    asterisk = text.find("*", start + 1)
    if asterisk < 0 or "\n" in text[start:asterisk]:
        return -1
    for end in (asterisk + 1, asterisk):
        is_mark = text.startswith(MARK, end) and text[end - 1] not in _NOT_INSIDE
        if is_mark and text[end + len(MARK) : end + len(MARK) + 1] not in _NOT_OUTSIDE:
            return end
    return -1


def _without(text: str, start: int, end: int, hidden: list[int]) -> str:
    """A part of the text without the characters at these places."""
    if not hidden:
        return text[start:end]
    pieces: list[str] = []
    for at in hidden[bisect_left(hidden, start) : bisect_left(hidden, end)]:
        pieces.append(text[start:at])
        start = at + 1
    return "".join((*pieces, text[start:end])) if pieces else text[start:end]


def _collapsed(piece: str) -> str:
    """White space as single spaces, also at the ends."""
    words = " ".join(piece.split())
    if not words:
        return piece[:1] and " "
    return f"{' ' if piece[0].isspace() else ''}{words}{' ' if piece[-1].isspace() else ''}"


try:
    from ctxrank.ranking.retrieval import _snippets

    cut = _snippets.cut
except ImportError:  # not compiled here
    cut = pure_cut
