"""In which values two messages differ that are not known to vary: another name there is another failure.

    differing(asked, known)     ("jq", not "yq"): the same kind of failure, about another thing

Known to vary are line numbers, addresses, digests, times, sizes, versions, ports, temporary paths, folders, what
differs in digits alone, what somebody typed wrong, what a file is called in names of its own, and names in code: of a
language whose messages are known, and of any where nothing is missing, wrong or not allowed.
"""

import re
from collections.abc import Iterator
from itertools import zip_longest

from ctxrank.indexer.errors.masks import QUOTES, lasting, level, masked, tokens
from ctxrank.indexer.errors.missing import STOPWORDS
from ctxrank.indexer.errors.parse.frames import last_part
from ctxrank.indexer.errors.parse.tables import Expressions, listed
from ctxrank.indexer.errors.shell_wordings import in_one_wording
from ctxrank.indexer.errors.signature import NEGATIONS, Signature, content_of, passed_on, told_by, without_suggestion
from ctxrank.indexer.errors.vocabulary import is_mistyped, is_ordinary
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.ranking.errors.similarity import align, gaps

_VARYING = frozenset(("uuid", "time", "hex", "version", "email", "number"))
_OF_KNOWN_LANGUAGES = listed("languages known")
_CODES = listed("before codes")
_SAID = Expressions("differences")
_PATHS = Expressions("masks")
_UNITS = Expressions("units")
_LEAST_REASON = 2  # words that carry meaning


class Difference(NamedTuple):
    """What the new message says in the place of what the stored one says; '' where it says nothing there."""

    asked: str
    known: str


def differing(asked: Signature, known: Signature) -> tuple[Difference, ...]:
    """The differences that make two failures of these messages, in order; none where only what varies differs."""
    names_vary = asked.language in _OF_KNOWN_LANGUAGES and asked.family in ("compiler", "trace", "test")
    said, stored = _said(asked), _said(known)
    files = _stem(asked, said), _stem(known, stored)
    about = _about(asked.message, files, names_vary=names_vary)
    in_message = tuple(_between(said, stored, about))
    if in_message and _say_where(asked, known, in_message):
        in_message = ()
    says_all = names_vary or asked.missing
    return in_message or (() if says_all else tuple(_between_reasons(asked.reasons, known.reasons, files)))


def is_same_report(asked: Signature, known: Signature) -> bool:
    """Whether two reports are the same line by line, but for numbers, times and folders, of which none is the point."""
    if asked.missing != known.missing:
        return False
    said, stored = ([line.strip() for line in one.report.split("\n") if line.strip()] for one in (asked, known))
    return (
        len(said) == len(stored)
        and all(one == other or _lasting(one) == _lasting(other) for one, other in zip(said, stored, strict=True))
        and not differing(asked, known)
    )


def _lasting(line: str) -> str:
    return _SAID["numbers"].sub("0", lasting(line))


def reworded(asked: Signature, known: Signature) -> tuple[Difference, ...]:
    """The lines of which only one of two reports has each, where they are told in other words in the other.

    Names may differ in each line. Not beside calls, nor of a compiler whose messages are known: it lists many.
    """
    if asked.frames or (asked.codes and asked.language in _OF_KNOWN_LANGUAGES):
        return ()
    said, stored = told_by(asked), told_by(known)
    left = [line for line in stored if line not in said]
    pairs = [(line, max(left, key=lambda one: align(line, one).share)) for line in said if left and line not in stored]
    return tuple(
        Difference(said[line], stored[other])
        for line, other in pairs
        if any(_is_reworded(line[here], other[there]) for here, there in gaps(line, other))
    )


def _is_reworded(here: tuple[str, ...], there: tuple[str, ...]) -> bool:
    """Whether these are other words, and not one name in the place of another."""
    if len(here) == len(there) == 1:
        return not _TYPES.isdisjoint(here + there)
    return len(here) > 1 or len(there) > 1 or bool(content_of(here + there))


def _say_where(asked: Signature, known: Signature, apart: tuple[Difference, ...]) -> bool:
    """Whether names only say where it happened: the same thing is missing, or the same reason is passed on, in both."""
    is_same = asked.headline == known.headline and asked.missing == known.missing
    if not is_same or any(" " in f"{one.asked}{one.known}" for one in apart):
        return False
    if any(map(str.isalpha, asked.missing)) and any(asked.missing in value for value in asked.values):
        return all(asked.missing not in one.asked for one in apart)
    for said, stored in zip(passed_on(asked.message), passed_on(known.message), strict=False):
        inner = _read(said)
        is_reason = len(content_of(masked(said).words)) >= _LEAST_REASON
        if is_reason and not any(_between(inner, _read(stored), _about(said, ("", "")))):
            return True
    return False


def _stem(signature: Signature, said: "tuple[_Token, ...]") -> str:
    """What the file is called that an error is in, by its place or by a line's in the message."""
    placed = next((one.text for one in said if one.kind == "path" and one.is_place), "")
    if not (signature.file or placed) and (found := _SAID["placed"].search(signature.text)):
        placed = found[0]
    return (signature.file or last_part(placed)).partition(".")[0].lower()


def _between_reasons(asked: tuple[str, ...], known: tuple[str, ...], files: tuple[str, str]) -> Iterator[Difference]:
    """What two reports say otherwise beside their messages, where both say something: the first line that differs.

    A line that only one of them has makes no difference: an output is often cut.
    """
    stored = [_read(line) for line in known]
    apart: list[str] = []
    for line in asked:
        said = _read(line)
        about = _about(line, files)
        same = next((one for one in stored if not any(_between(said, one, about))), None)
        if same is None:
            apart.append(line)
        else:
            stored.remove(same)
    if apart and stored:
        said = _read(apart[0])
        nearest = max(stored, key=lambda one: len({token.bare for token in one} & {token.bare for token in said}))
        yield from _between(said, nearest, _about(apart[0], files))


def bound_elsewhere(asked: Signature, known: Signature, solution: str) -> tuple[Difference, ...]:
    """The other file, where the solution is an edit of the one file that the stored error is in."""
    here, there = asked.file, known.file
    if not here or not there or here == there or set(_SAID["named file"].findall(solution)) != {there}:
        return ()
    return (Difference(here, there),)


def exchanged(solution: str, renamed: tuple[Difference, ...]) -> str:
    """A solution with the new name in the place of the old one; '' where it does not carry the name that differs."""
    if len(renamed) != 1:
        return ""
    asked, known = renamed[0]
    if not known or _SAID["exchangeable"].fullmatch(asked) is None:
        return ""
    written, count = re.subn(rf"(?<![\w.@/-]){re.escape(known)}(?![\w@/-])", asked, solution)
    return written if count else ""


class _About(NamedTuple):
    """What is known of a message as a whole."""

    names_vary: bool  # names in code of a language whose messages are known
    is_absent: bool  # something is missing
    is_of_code: bool = False  # its names are one's own: it speaks of nothing that is not there or not allowed
    files: tuple[str, str] = ("", "")  # what the files are called that the new and the stored error are in


def _about(text: str, files: tuple[str, str], *, names_vary: bool = False) -> _About:
    is_absent = _SAID["absent"].search(text) is not None
    # Outside a file what failed is the point.
    is_of_code = not (is_absent or _UNITS["absence"].search(text)) and (bool(files[0]) or "fail" not in text.lower())
    return _About(names_vary, is_absent, is_of_code, files)


class _Token(NamedTuple):
    kind: str
    text: str
    before: str
    is_place: bool  # a path with a line's number, or before one

    @property
    def bare(self) -> str:
        """The text as it is compared: levelled, or without quotes and what ends a sentence."""
        return level(self.text) if self.kind == "word" else _name(self)


def _said(signature: Signature) -> tuple[_Token, ...]:
    return _read(in_one_wording(without_suggestion(signature.message)))


def _read(message: str) -> tuple[_Token, ...]:
    found: list[_Token] = []
    for match in tokens(message):
        before = level(found[-1].text) if found else ""
        is_place = match.lastgroup != "word" and _is_place(match)
        found.append(_Token(str(match.lastgroup), match[0], before, is_place))
    return tuple(found)


def _is_place(found: re.Match[str]) -> bool:
    has_line = _PATHS["line of path"].search(found[0].strip(QUOTES))
    return (has_line or _SAID["position"].match(found.string, found.end())) is not None


def _between(asked: tuple[_Token, ...], known: tuple[_Token, ...], about: _About) -> Iterator[Difference]:
    said, stored = tuple(one.bare for one in asked), tuple(one.bare for one in known)
    for here, there in gaps(said, stored):
        # Side by side; what one side has more stands alone.
        for one, other in zip_longest(filter(_counts, asked[here]), filter(_counts, known[there])):
            if not _varies(one, other, about):
                yield Difference(_name(one), _name(other))


def _name(token: _Token | None) -> str:
    return token.text.strip(QUOTES).rstrip(".,;:") if token else ""


def _counts(token: _Token) -> bool:
    """Whether it is no word that says little."""
    return token.kind != "word" or token.bare in NEGATIONS or token.bare not in STOPWORDS


def _varies(one: _Token | None, other: _Token | None, about: _About) -> bool:
    """Whether a difference in this place is one of those that occur from run to run."""
    if one is None or other is None:
        alone = one or other
        return about.names_vary or (alone is not None and (alone.is_place or alone.before in ("in", "at", "from")))
    is_code = one.before in _CODES and one.kind != "time"
    if one.kind == other.kind and one.kind in _VARYING and not is_code:
        return True
    mine, theirs = one.bare, other.bare
    if not about.is_absent and _SAID["host"].fullmatch(mine) and _SAID["host"].fullmatch(theirs):
        return True
    # Of what is missing the whole name counts: libx264, not libx265.
    is_missing = about.is_absent and one.kind == other.kind == "quoted" and mine[:1].isalpha()
    if not (is_code or is_missing) and _SAID["numbers"].sub("0", mine) == _SAID["numbers"].sub("0", theirs):
        return True
    here, there = about.files
    if here and here in mine.lower() and mine.lower().replace(here, there) == theirs.lower():
        return True  # a class is called as its file
    if _SAID["path"].match(mine) and _SAID["path"].match(theirs):
        return _is_same_path(one, mine, theirs, about)
    if " " in mine and " " in theirs and one.kind == other.kind == "quoted":
        return not any(_between(_read(mine), _read(theirs), about))
    if is_mistyped(one.bare, one.before) and is_mistyped(other.bare, other.before):
        return True
    if "word" in (one.kind, other.kind):
        return about.names_vary and not (is_ordinary(mine) or is_ordinary(theirs))
    return about.names_vary or (about.is_of_code and all(map(_SAID["in code"].fullmatch, (mine, theirs))))


_TYPES = listed("builtin types")


def _is_same_path(one: _Token, mine: str, theirs: str, about: _About) -> bool:
    """Of paths the last part counts, where one may be missing; not where it says in which file, or is passing."""
    if _SAID["temporary"].match(mine) and _SAID["temporary"].match(theirs):
        return True
    if one.is_place:
        return True
    if all(map(_SAID["folder"].fullmatch, (mine, theirs))) and mine.rpartition("/")[0] != theirs.rpartition("/")[0]:
        return True
    last, other = (last_part(_PATHS["line of path"].sub("", path).rstrip("/\\")) for path in (mine, theirs))
    is_file = _SAID["rooted"].match(mine) is not None or _SAID["file"].search(last) is not None
    # What is no file is a name in code: com/example/Main.
    return last == other or (one.kind != "url" and (not about.is_absent if is_file else about.names_vary))
