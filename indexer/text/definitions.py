"""What a text defines: names of functions, types, constants and, in documents, of headings and anchors.

    defined_names("def open_store(path):\\n    …", "a.py")     Names(code=("open_store",), headings=())
    defined_names("### `open_store()`\\n", "a.md")             Names(code=(), headings=("open_store",))

They are at the end of the column `identifiers`: a line with those of code and one with those of
headings. So the index knows from its own rows which passage defines a name (`fulltext/index_file.py`).

Names are found by patterns, line by line, because a passage may begin anywhere. A call that is taken for a definition
costs a place in a ranking, and one that is missed is ranked as a use.
"""

from collections.abc import Iterable

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.expressions import expression
from ctxrank.indexer.text.languages import language_of
from ctxrank.indexer.text.tables import compiled

MAX_NAMES = 200  # of one text: a table of constants has more, and is not what defines any of them


class Names(NamedTuple):
    """What a text defines, each name once."""

    code: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()


def forms_of(names: Iterable[str]) -> set[str]:
    """Names as they can be asked for: as they are, and in lower case."""
    return {form for name in names for form in (name, name.lower())}


def defined_names(text: str, path: str) -> Names:
    """The names that a text defines which is a file of this path, or a part of one."""
    language = language_of(path)
    if language.kind == "python" and (code := compiled("_code")) is not None and text.isascii():
        return Names(tuple(dict.fromkeys(code.python_names(text)))[:MAX_NAMES])
    lines = f"\n{text}"
    if language.kind == "python":
        return Names(_once(expression("python_names").findall(lines)))
    if language.kind == "braces":
        names = expression("brace_names").findall(lines)
        if not language.has_function_keyword:
            names += expression("function_names").findall(lines)
        return Names(_once(names))
    if language.kind in ("markdown", "rst"):
        return Names((), _once(expression("heading_names").findall(lines)))
    return Names()


def with_names(identifiers: str, names: Names) -> str:
    """The text of the column `identifiers`: the parts of compound words, and below them the names."""
    if not any(names):
        return identifiers
    return "\n".join((identifiers, " ".join(names.code), " ".join(names.headings)))


def names_in(identifiers: str) -> tuple[str, Names]:
    """The parts and the names that such a text holds."""
    parts, _, rest = identifiers.partition("\n")
    code, _, headings = rest.partition("\n")
    return parts, Names._make((tuple(code.split()), tuple(headings.split())))


def _once(found: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map("".join, found)))[:MAX_NAMES]
