"""Templates and what they are filled with. Everything that is put into one is text: nothing of a store is markup.

`finalize` takes out of every text what hides or reorders (indexer/text/lines.py); autoescape does the rest. No template
marks anything as safe, and a test sees to it.
"""

import math
import re
from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode

import jinja2
from jinja2.runtime import Undefined
from markupsafe import Markup

from ctxrank.indexer.clock import DAY_US, SECOND_US, format_us, now_us, parse_time
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.freshness import STATE_MARKS
from ctxrank.indexer.text.lines import error_title, printable
from ctxrank.indexer.text.tables import rows
from ctxrank.ranking.retrieval.snippets import MARK, Span, marked

_AGES = (
    (365 * DAY_US, "year"), (30 * DAY_US, "month"), (DAY_US, "day"), (3600 * SECOND_US, "hour"),
    (60 * SECOND_US, "minute"),
)  # fmt: skip

_PATH_CHARS = 40  # of a long path
_HEADLINE_CHARS = 300
_CUT = "\0"  # no text of a store has one
_RANK = re.compile(r"rank (\d+) of limit (\d+)")


class Piece(NamedTuple):
    """A part of a text, and whether it matched."""

    text: str
    is_marked: bool


def environment(called: Callable[..., str]) -> jinja2.Environment:
    """The templates of this folder; `called` is what a session is called."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("ctxrank.extensions.web"), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, finalize=_shown, auto_reload=False,
    )  # fmt: skip
    filters: dict[str, Callable[..., object]] = {
        "ago": ago, "share": share, "count": count, "pieces": pieces, "snippet_pieces": partial(pieces, mark=MARK),
        "clock": clock, "said": said, "ms": milliseconds, "size": size, "plural": plural, "percent": percent,
        "short_path": short_path, "iso": format_us, "headline": headline,
    }  # fmt: skip
    vars(made)["filters"] = {**made.filters, **filters}
    vars(made)["globals"] = {
        **made.globals,
        "address": address,
        "called": called,
        "error_title": error_title,
        "state_marks": STATE_MARKS,
    }  # macros have no context
    return made


def words_of(sort: str) -> dict[str, str]:
    """What the pages call things of a sort, by name: the rows of words.tsv."""
    return {name: said for of, name, said in rows(__file__, "words") if of == sort}


def _shown(value: object) -> object:
    """A value as it goes into a template: nothing for None, and no text that hides or reorders."""
    if isinstance(value, Markup | Undefined):
        return value
    return "" if value is None else printable(value) if isinstance(value, str) else value


def address(path: str, **parameters: object) -> str:
    """A link from any page: the path with those parameters that are set. All lie in one folder, of a secret name."""
    path = path.removeprefix("/") or "./"
    given = {name: str(value) for name, value in parameters.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(given)}" if given else path


def headline(text: str) -> str:
    """The line of a text that says what it is: the first, without pytest's mark; of a Python traceback the last."""
    lines = text.strip().removeprefix("E   ").lstrip().split("\n")
    return lines[-1 if lines[0].startswith("Traceback") else 0][:_HEADLINE_CHARS]


def short_path(path: str) -> str:
    """A path as it fits a line: its end, from a folder on."""
    parts = path.split("/")
    while len(parts) > 1 and sum(map(len, parts)) + len(parts) > _PATH_CHARS:
        parts = parts[1:]
    short = "/".join(parts)
    return short if short == path else f"…/{short}"


def ago(time: str) -> str:
    """How long ago a moment was: 2 days ago."""
    try:
        age = now_us() - parse_time(time, now=now_us())
    except CtxrankError:
        return time
    for unit, name in _AGES:
        if age >= unit:
            return f"{plural(age // unit, name)} ago"
    return "just now"


def clock(time: str) -> str:
    """A moment as a person reads it: 2026-10-08 08:10:00 UTC."""
    try:
        return f"{format_us(parse_time(time, now=now_us()))[:19].replace('T', ' ')} UTC"
    except CtxrankError:
        return time


def said(reason: str, agent: str) -> str:
    """The reason of a receipt in words: 'rank 4 of limit 3' is '4th; developer gets 3'."""
    return _RANK.sub(lambda found: f"{ordinal(int(found[1]))}; {agent} gets {found[2]}", reason)


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def plural(number: int, name: str) -> str:
    """1 day, 2 days, 2 deliveries, 2 fixes."""
    if number == 1 or name == "reasoning":
        return f"{number:,} {name}"
    if name.endswith("ry"):
        return f"{number:,} {name[:-1]}ies"
    return f"{number:,} {name}{'es' if name.endswith('x') else 's'}"


def share(value: float) -> str:
    """A part of 1, as an explanation shows it: .52."""
    return f"{value:.3f}".replace("0.", ".", 1) if value else "0"


def percent(value: float) -> str:
    """A probability in hundredths, never rounded up to certainty."""
    return f"{math.floor(value * 100)} %"


def count(value: float) -> str:
    """A number with its thousands."""
    return f"{int(value):,}"


def milliseconds(value: float) -> str:
    """A duration."""
    return f"{value:.1f} ms" if value < 10 else f"{value:,.0f} ms"


def size(value: float) -> str:
    """Bytes as a person reads them."""
    for unit in ("bytes", "KB", "MB"):
        if value < 1000:
            return f"{value:,.0f} {unit}" if unit == "bytes" or value >= 10 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:,.1f} GB"


def pieces(text: str, marks: tuple[Span, ...], mark: str = "") -> list[Piece]:
    """A text cut at its marked words; `mark` is the sign around each, which is left out."""
    parts = marked(text, marks, mark, _CUT, _CUT).split(_CUT)
    return [Piece(part, bool(at % 2)) for at, part in enumerate(parts) if part]
