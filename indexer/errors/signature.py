"""What an error is known by: codes, type, the message with its variable parts masked, and the calls it came through.

    sign(error_units("TypeError: unsupported operand type(s) for +: 'int' and 'str'")[0]).headline
        ->  "unsupported operand type for <v> and <v>"

Two fingerprints: the template (codes, type, masked message) and the instance (the template with what was masked: "No
module named X" needs the X). NORMALISER_VERSION is stored with each signature; a newer normaliser signs the stored unit
again.
"""

import functools
import itertools
from collections.abc import Iterator

from ctxrank.indexer.errors.masks import lasting, level, masked
from ctxrank.indexer.errors.missing import STOPWORDS, missing_name
from ctxrank.indexer.errors.parse.frames import Frame, file_of, last_part, own_frames
from ctxrank.indexer.errors.parse.reasons import tells
from ctxrank.indexer.errors.parse.tables import Expressions, listed, rows, words
from ctxrank.indexer.errors.parse.units import ErrorUnit
from ctxrank.indexer.errors.shell_wordings import in_one_wording
from ctxrank.indexer.errors.vocabulary import is_ordinary
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.digests import sha256_of

# Grows by one when the same output would give another signature; what is stored is then signed again.
NORMALISER_VERSION = 25
_MAX_DETAIL_WORDS = 40
_MAX_NOTES = 8
_LEAST_NOTE = 2  # ordinary words; "try this" is said of anything
_MAX_TERMS = 48
_FRAMES_KEPT = 8
_MOST_PASSED_ON = 6
_LEAST_PASSED_ON = 4  # words
_MARGIN = " |\u2502\u2514\u250c\u2500^*>"

NEGATIONS = listed("negations")
_SAID = Expressions("signature")
_GROUPS = words("groups_of_diagnostics")
_LANGUAGES = dict(rows("languages"))
_SHARED_NOTATIONS = frozenset(("cc", "tsc", "rust"))


# Raised by the language itself, at any line: the message says what went wrong there, not what is wrong.
RAISED_ANYWHERE = words("raised_anywhere")


class Signature(NamedTuple):
    """One error, normalised. Everything the matcher compares is in here, and nothing else is."""

    normaliser: int
    family: str
    language: str
    error_type: str
    codes: tuple[str, ...]  # what names the diagnostic
    conditions: tuple[str, ...]  # what names a condition: ENOENT, HTTP 404
    headline: str
    values: tuple[str, ...]  # what was masked in the headline, in order
    frames: tuple[Frame, ...]  # of the project, outermost first
    details: tuple[str, ...]  # words of notes and labels below the headline, masked
    notes: tuple[str, ...]  # the notes and labels that say what is wrong, masked, each a sentence
    template: str
    instance: str
    message: str  # as it came
    missing: str = ""  # the name of what is missing, where the message says so
    outcome: str = ""  # a fingerprint of all that was said at this place, where there is one: 8 is not 9
    reasons: tuple[str, ...] = ()  # what the report says beside the message, as it came
    file: str = ""  # the name of the one that it speaks of
    raised_in: str = ""  # the place in others' code that raised it, where one did
    text: str = ""  # the lines that it was read from
    report: str = ""  # those and what else was printed

    @property
    def words(self) -> tuple[str, ...]:
        """The headline's words and placeholders."""
        return tuple(self.headline.split())

    @property
    def given_reason(self) -> str:
        """A fingerprint of the reasons without what changes from run to run; '' where there are none."""
        return fingerprint(*map(lasting, self.reasons)) if self.reasons else ""

    @property
    def is_traced(self) -> bool:
        """Whether calls of the project say where it happened."""
        return bool(self.frames) and self.family in ("trace", "test")


def content_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a template that carry meaning."""
    return tuple(word for word in words if word[0] != "<" and word not in STOPWORDS)


@functools.lru_cache(maxsize=64)
def told_by(one: Signature) -> dict[tuple[str, ...], str]:
    """The lines beside a message that may say what is wrong, by their templates; no calls, advice or progress.

    Where the message stands behind a place, others that do are errors of their own.
    """
    lines = one.report.split("\n")
    is_listed = any(one.message in line and _SAID["listed"].match(line) for line in lines)
    beside = (line for at, line in enumerate(lines) if tells(lines, at) and (one.message or "\n") not in line)
    others = (line.strip(_MARGIN) for line in beside if not (is_listed and _SAID["listed"].match(line)))
    told = {masked(line).words: line for line in others}
    return {words: told[words] for words in told if len(_ordinary(words)) >= _LEAST_NOTE}


def sign(unit: ErrorUnit) -> Signature:
    """The signature of one error; a pure function of the unit."""
    message = without_suggestion(unit.message)
    message = in_one_wording(message) if unit.family in ("tool", "compiler", "text") else message
    template = masked(message)
    # The name of the lint that the notes give.
    given = (match[match.lastindex or 0] for match in filter(None, map(_SAID["lint"].search, unit.detail)))
    lints = (name for name in given if name not in ("warnings", "clippy::all") and not name.endswith("::_"))
    all_codes = (*unit.codes, *itertools.islice(lints, 1))
    named = (_code_name(code) for code in all_codes if _is_diagnostic(code))
    codes = tuple(dict.fromkeys(code for code in named if code not in _GROUPS))
    conditions = tuple(dict.fromkeys(code for code in unit.codes if not _is_diagnostic(code)))
    frames = own_frames(unit.frames)[-_FRAMES_KEPT:]
    identity = (unit.error_type, *codes, template.text)
    instance = (*identity, "\x1e", *template.values)
    if not any(word[0] != "<" for word in template.words) or not template.values:
        # A message that says nothing particular is the same error only at the same place.
        instance = (*instance, "\x1e", frames[-1].place if frames else "")
    # The language the error speaks about, by tool or by file; '' where neither tells.
    file = file_of(unit.place) or (unit.frames[-1].file if unit.frames else "")
    of_file = _LANGUAGES.get(f".{file.rpartition('.')[2].lower()}", "")
    # Compilers of many languages announce an error as another one's does.
    is_shared = unit.tool in _SHARED_NOTATIONS and "." in file and (of_file or not codes)
    language = of_file if is_shared else _LANGUAGES.get(unit.tool) or of_file
    return Signature(
        NORMALISER_VERSION,
        unit.family,
        language,
        unit.error_type,
        codes,
        conditions,
        template.text,
        template.values,
        frames,
        _details(unit),
        _notes(unit),
        fingerprint(*identity),
        fingerprint(*instance),
        unit.message,
        missing_name(message, unit.error_type, of_code=_is_of_code(unit, frames)),
        _outcome(unit, frames, template.text),
        unit.reasons,
        last_part(file),
        "" if not unit.frames or unit.frames[-1].is_ours else unit.frames[-1].place,
        unit.text,
        unit.report,
    )


def without_suggestion(message: str) -> str:
    """A message without what it guesses was meant: a newer interpreter says more of the same failure."""
    message = _SAID["arguments"].sub(r"\2: \4", message)
    return _SAID["suggestion"].sub("", message) or message


def as_passed_on(known: Signature, asked: Signature) -> Signature:
    """A stored error as it is said where a new one is: of what passes a message on, one puts more before it.

    "failed to set up x: port is in use" is "port is in use". It is itself where the rest is not the same in words.
    """
    if known.message == asked.message:  # whose report it stands in is another tool's
        known = known._replace(language=asked.language)
    are_told = (known.error_type, asked.error_type), (known.codes, asked.codes)
    if known.headline == asked.headline or any(one and other and one != other for one, other in are_told):
        return known
    for inner, stored in _both_passed_on(asked.message, known.message):
        outer = f"{asked.message.replace(inner, '')} {known.message.replace(stored, '')}"
        if NEGATIONS.isdisjoint(masked(_SAID["unable"].sub("", outer)).words):
            message = asked.message.replace(inner, stored)
            said = masked(message)
            return known._replace(headline=said.text, values=said.values, message=message, language=asked.language)
    return known


def _both_passed_on(asked: str, known: str) -> Iterator[tuple[str, str]]:
    """What a new and a stored message pass on in the same words: all of one, or what names something in both."""
    of_known = {masked(said).words: said for said in reversed((known, *passed_on(known)))}
    for inner in (asked, *passed_on(asked)):
        words, values = masked(inner)
        stored = of_known.get(words, "") if words else ""
        names_something = values and len(content_of(words)) >= _LEAST_PASSED_ON
        if stored and (inner is asked or stored is known or names_something):
            yield inner, stored


def passed_on(message: str) -> Iterator[str]:
    """What a message passes on: what stands behind its first colon, behind the second, and so on, or in quotes."""
    for found in itertools.islice(_SAID["passed on"].finditer(message), _MOST_PASSED_ON):
        yield found["quoted"] or message[found.end() :]
        yield from passed_on(found["quoted"] or "")


def terms_of(signature: Signature) -> tuple[str, ...]:
    """What a similar error is looked up by: codes, type, places, words; each kind under a letter of its own."""
    terms = [f"c:{code}" for code in signature.codes]
    terms += [f"k:{frame.code}" for frame in signature.frames[-2:] if frame.code]
    terms += [f"f:{frame.place}" for frame in signature.frames[-3:]]
    terms += [f"w:{word}" for word in content_of(signature.words)]
    terms += pairs_of(signature.words)
    terms += [f"d:{word}" for word in signature.details]
    beside = (*passed_on(signature.message), *signature.reasons)
    terms += [f"w:{word}" for line in beside for word in _ordinary(masked(line).words)]
    return tuple(dict.fromkeys(terms))[:_MAX_TERMS]


def pairs_of(words: tuple[str, ...]) -> list[str]:
    """The terms that two words of a template make, one behind the other."""
    return [f"p:{one} {two}" for one, two in itertools.pairwise(words) if one[0] != "<" and two[0] != "<"]


def fingerprint(*parts: str) -> str:
    """Half a sha256 of the parts, in hex: long enough to never collide by chance."""
    return sha256_of("\x1f".join(parts).encode("utf-8", "replace"))[:32]


def _outcome(unit: ErrorUnit, frames: tuple[Frame, ...], template: str) -> str:
    """What was said at a place of the code.

    A test always asks for the same, so that other values are another error; what a program is given varies, and its
    message counts without values.
    """
    if not frames or unit.family not in ("trace", "test"):
        return ""
    if unit.family != "test" and not any(map(_SAID["test"].search, (frames[0].file, frames[0].function))):
        return fingerprint(template)
    return fingerprint(*map(lasting, (unit.message, *unit.detail) if unit.family == "test" else (unit.message,)))


def _is_of_code(unit: ErrorUnit, frames: tuple[Frame, ...]) -> bool:
    """Whether a name in the message is one of the program's own: a compiler says it, or the language itself."""
    if unit.family == "compiler":
        return bool(unit.tool or unit.place or unit.codes)
    is_raised = not unit.error_type or unit.error_type in RAISED_ANYWHERE
    return unit.family == "test" or (unit.family == "trace" and is_raised and any(frame.is_ours for frame in frames))


def _is_diagnostic(code: str) -> bool:
    return _SAID["diagnostic"].match(code) is not None or (code.islower() and len(code) > 3)


def _code_name(code: str) -> str:
    """One spelling for one code: lints are written with - and with _, with -W and -Werror=."""
    if code[:1].islower() or code.startswith("-"):
        return code.removeprefix("-Werror=").removeprefix("-W").removeprefix("-").replace("-", "_")
    return code


def _details(unit: ErrorUnit) -> tuple[str, ...]:
    """The words of notes, helps and labels, each once, without code and without lints' boilerplate."""
    words: dict[str, None] = {}
    is_rust = unit.family == "compiler" and unit.tool == "rust"
    for line in unit.detail:
        match = _SAID["note"].match(line) or _SAID["label"].match(line)
        is_code = match is None and (is_rust or _SAID["code line"].match(line))
        if not is_code and not _SAID["boilerplate"].search(line):
            words |= dict.fromkeys(_ordinary(masked(match[1] if match else line).words))
    return tuple(words)[:_MAX_DETAIL_WORDS]


def _notes(unit: ErrorUnit) -> tuple[str, ...]:
    """What notes and labels say is wrong, each masked; no advice, and nothing that tells no error from another."""
    notes: dict[str, None] = {}
    for line in unit.detail:
        match = _SAID["note"].match(line) or _SAID["label"].match(line)
        if match is None or any(_SAID[one].search(line) for one in ("boilerplate", "advice")):
            continue
        note = masked(match[1])
        if not _SAID["reference"].search(match[1]) and len(_ordinary(note.words)) >= _LEAST_NOTE:
            notes[note.text] = None
    return tuple(notes)[:_MAX_NOTES]


def _ordinary(words: tuple[str, ...]) -> list[str]:
    """Those that carry meaning and are no names."""
    return [word for word in words if word[0] != "<" and word not in STOPWORDS and is_ordinary(level(word))]
