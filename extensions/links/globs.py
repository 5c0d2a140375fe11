"""Path patterns: which paths one matches, and whether two could match the same path.

    matches("src/billing/**", "src/billing/api/post.py")        True
    matches("src/**/*.{ts,tsx}", "src/app/cart.tsx")            True
    overlap("src/billing/**", "src/*/invoice.py")               True: src/billing/invoice.py

    *     any characters of one name       **    any folders, or none
    ?     one character                    [ab]  one of these; [!ab] none of these
    {a,b} either                           dir/  everything below; so does the plain name of a folder

So they are in specs, norms and the configuration of linked artifacts. `overlap` looks at the patterns alone: no file
is opened and none need exist. A search's `--path` is more generous: indexer/store/facets.py.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from itertools import islice, takewhile

from ctxrank.indexer.store.facets import without_dots

MAX_PATTERN_CHARS = 1000  # whether two overlap takes as long as the product of their lengths
MAX_PATTERNS = 200  # of an artifact: those of two may each be compared with each
MAX_ALTERNATIVES = 64  # braces multiply; what is beyond matches literally
_WILD = re.compile(r"[*?\[{]")


def matches(glob: str, path: str) -> bool:
    """Whether a pattern covers a path, both relative to the same folder, with `/`."""
    if not path.startswith(fixed_prefix(glob).removesuffix("/")):
        return False
    names = tuple(path.split("/"))
    return any(_covers(tuple(pattern.split("/")), names) for pattern in _patterns(glob))


def overlap(one: str, other: str) -> bool:
    """Whether some path could match both patterns."""
    first, second = fixed_prefix(one), fixed_prefix(other)
    if not (first.startswith(second) or second.startswith(first)):
        return False  # nearly all pairs of a large tree end here
    return any(
        _meet(a.split("/"), b.split("/"), "**", _names_overlap, is_last_needed=True)
        for a in _patterns(one)
        for b in _patterns(other)
    )


@cache
def fixed_prefix(glob: str) -> str:
    """The text that every path of a pattern begins with."""
    normal = _normal(glob)
    wild = _WILD.search(normal)
    return normal[: wild.start()] if wild else normal


class GlobTable:
    """Patterns by what they begin with, so that those that may overlap one are found without asking all."""

    def __init__(self, globs: Iterable[str]) -> None:
        self._by_prefix: dict[str, list[int]] = {}
        for place, glob in enumerate(globs):
            self._by_prefix.setdefault(fixed_prefix(glob), []).append(place)
        self._prefixes = sorted(self._by_prefix)

    def near(self, glob: str) -> Iterator[int]:
        """The places of the patterns that begin as this one does: no other overlaps it."""
        mine = fixed_prefix(glob)
        shorter = [mine[:length] for length in range(len(mine)) if mine[:length] in self._by_prefix]
        start = bisect_left(self._prefixes, mine)
        longer = takewhile(lambda prefix: prefix.startswith(mine), islice(self._prefixes, start, None))
        for prefix in (*shorter, *longer):
            yield from self._by_prefix[prefix]


def covered(glob: str, paths: Sequence[str]) -> Iterator[str]:
    """The paths that a pattern covers; `paths` are in order."""
    prefix = fixed_prefix(glob).removesuffix("/")
    for path in islice(paths, bisect_left(paths, prefix), None):
        if not path.startswith(prefix):
            return
        if matches(glob, path):
            yield path


@cache
def _patterns(glob: str) -> tuple[str, ...]:
    """The pattern without braces and short forms: `a/` is `a/**`, and `a/b` may be a folder too."""
    expanded: list[str] = []
    for pattern in _braces(_normal(glob)):
        if not pattern:
            expanded.append("**")
        elif pattern.endswith("/"):
            expanded.append(f"{pattern}**")
        else:
            expanded.append(pattern)
            if not pattern.endswith("**"):
                expanded.append(f"{pattern}/**")  # a folder of that name: everything in it
    return tuple(dict.fromkeys(expanded))


def _normal(glob: str) -> str:
    return without_dots(glob.strip().replace("\\", "/")).removeprefix("/")


def _braces(pattern: str) -> list[str]:
    """`a{b,c}d` as `abd` and `acd`; unbalanced or too many braces stay as they are."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        text = waiting.pop()
        found = re.search(r"\{([^{}]*,[^{}]*)\}", text)
        if found is None or len(waiting) + len(done) > MAX_ALTERNATIVES:
            done.append(text)
        else:
            waiting += [text[: found.start()] + part + text[found.end() :] for part in reversed(found[1].split(","))]
    return done[: 2 * MAX_ALTERNATIVES]


def _covers(pattern: tuple[str, ...], names: tuple[str, ...]) -> bool:
    """Whether a pattern cut at slashes takes all names of a path: the set holds how many it may have taken."""
    taken = {0}
    for at, segment in enumerate(pattern, start=1):
        if segment != "**":
            taken = {count + 1 for count in taken if count < len(names) and fnmatchcase(names[count], segment)}
        elif at < len(pattern):
            taken = set(range(min(taken), len(names) + 1)) if taken else taken
        else:  # at the end it needs something below
            taken = {len(names)} if taken and min(taken) < len(names) else set[int]()
    return len(names) in taken


@cache
def _names_overlap(one: str, other: str) -> bool:
    """Whether one name could match both; a set in brackets counts as any character."""
    if one == other or "*" in (one, other):
        return True
    if not (_WILD.search(one) or _WILD.search(other)):
        return False
    return _meet(_cells(one), _cells(other), "*", lambda a, b: a == b or "?" in (a, b), is_last_needed=False)


def _meet(
    one: Sequence[str], other: Sequence[str], wild: str, can_meet: Callable[[str, str], bool], *, is_last_needed: bool
) -> bool:
    """Whether something is matched by both, by dynamic programming: reached[j] says that other[:j] can meet one[:i].

    What is wild takes any number of the other's parts; none, unless it is the last one and that is needed.
    """
    ends = (len(one), len(other)) if is_last_needed else (0, 0)
    reached = [True] + [False] * len(other)
    for j, theirs in enumerate(other, start=1):
        reached[j] = reached[j - 1] and theirs == wild and j != ends[1]
    for i, mine in enumerate(one, start=1):
        before, reached = reached, [reached[0] and mine == wild and i != ends[0]] + [False] * len(other)
        for j, theirs in enumerate(other, start=1):
            if wild in (mine, theirs):
                passes_mine = before[j] and (theirs == wild or i != ends[0])
                passes_theirs = reached[j - 1] and (mine == wild or j != ends[1])
                reached[j] = passes_mine or passes_theirs or before[j - 1]
            else:
                reached[j] = before[j - 1] and can_meet(mine, theirs)
    return reached[-1]


def _cells(name: str) -> list[str]:
    return list(re.sub(r"\[[^\]]+\]", "?", re.sub(r"\*+", "*", name)))
