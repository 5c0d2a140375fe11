"""What a text defines: names of functions, types, constants and, in documents, of headings and anchors.

    defined_names("def open_store(path):\\n    …", "a.py")     Names(code=("open_store",), headings=())
    defined_names("### `open_store()`\\n", "a.md")             Names(code=(), headings=("open_store",))

They are at the end of the column `identifiers`: a line with those of code and one with those of
headings. So the index knows from its own rows which passage defines a name (`fulltext/index_file.py`).

Names are found by patterns, line by line, because a passage may begin anywhere. A call that is taken for a definition
costs a place in a ranking, and one that is missed is ranked as a use.
"""

import re
from collections.abc import Iterable
from functools import cache
from os.path import splitext

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.text.languages import BRACES, FUNCTION_KEYWORD, MARKDOWN, PYTHON

MAX_NAMES = 200  # of one text: a table of constants has more, and is not what defines any of them


class Names(NamedTuple):
    """What a text defines, each name once."""

    code: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()


_NOTHING = Names()


def forms_of(names: Iterable[str]) -> set[str]:
    """Names as they can be asked for: as they are, and in lower case."""
    return {form for name in names for form in (name, name.lower())}


def defined_names(text: str, path: str) -> Names:
    """The names that a text defines which is a file of this path, or a part of one."""
    extension = splitext(path)[1].lower()
    if extension in PYTHON:
        return Names(_once(_python_names().findall(f"\n{text}")))
    if extension in BRACES:
        lines = f"\n{text}"
        names = _brace_names().findall(lines)
        if extension not in FUNCTION_KEYWORD:
            names += _function_names().findall(lines)
        return Names(_once(names))
    if extension in MARKDOWN or extension == ".rst":
        return Names((), _once(_heading_names().findall(f"\n{text}")))
    return _NOTHING


def with_names(identifiers: str, names: Names) -> str:
    """The text of the column `identifiers`: the parts of compound words, and below them the names."""
    if not (names.code or names.headings):
        return identifiers
    return "\n".join((identifiers, " ".join(names.code), " ".join(names.headings)))


def names_in(identifiers: str) -> tuple[str, Names]:
    """The parts and the names that such a text holds."""
    parts, _, rest = identifiers.partition("\n")
    if not rest:
        return parts, _NOTHING
    code, _, headings = rest.partition("\n")
    return parts, Names(tuple(code.split()), tuple(headings.split()))


def _once(found: list[tuple[str, ...]] | list[str]) -> tuple[str, ...]:
    names = [one if isinstance(one, str) else "".join(one) for one in found]
    return tuple(dict.fromkeys(names))[:MAX_NAMES]


# Everything is bounded, so that no line costs more than its length.
@cache  # compiled at first use: start-up time
def _python_names() -> re.Pattern[str]:
    return re.compile(
        r"""\n(?: [ \t]{0,40}(?:async[ ]+)?(?:def|class)[ ]+(\w{1,100})
             | (?:[ ]{4}(?=[A-Z]))?([A-Za-z_]\w{0,99})[ ]*(?::[^=\n]{1,200})?=(?!=) )""",
        re.VERBOSE,
    )


_MODIFIERS = r"""(?:(?:export|default|declare|public|private|protected|internal|static|async|abstract|final|sealed
    |override|virtual|inline|extern|unsafe|constexpr|data|open|partial|suspend|readonly|local|typedef
    |pub(?:\([^)\n]{0,40}\))?)[ \t]{1,9}){0,6}"""


@cache
def _brace_names() -> re.Pattern[str]:
    return re.compile(
        rf"""\n(?: [ \t]{{0,40}}{_MODIFIERS}
               (?:class|struct|enum|union|trait|interface|function\*?|func(?:[ ]\([^)\n]{{0,80}}\))?|fn|fun|def|defp
                 |defmodule|type|mod|module|namespace|object|record|protocol|macro_rules!)
               [ \t]{{1,9}}(?:self\.)?([A-Za-z_$][\w$]{{0,99}})(?![^\n]*;\r?\n\Z)
             | {_MODIFIERS}(?:const|let|var|static|val|final)[ ](?:mut[ ]|val[ ])?(?:[A-Za-z_][\w<>\[\]]{{0,60}}[ ])?
               ([A-Za-z_$][\w$]{{0,99}})[ ]*[:=](?![ ]?(?:require|import)\()
             | \#[ ]*define[ ]([A-Za-z_]\w{{0,99}})
             | [ \t]{{1,8}}(?:(?:public|private|protected|internal|static|final|const|readonly)[ ]){{2,5}}
               [A-Za-z_][\w<>\[\],.]{{0,60}}[ ]([A-Z][A-Z0-9_]{{1,99}})[ ]*=
             | [ \t]{{0,8}}(?:[A-Za-z_$][\w$]{{0,60}}\.){{1,4}}([A-Za-z_$][\w$]{{0,99}})[ ]*=[ ]*
               (?:async[ ])?(?:function\b|\([^\n]{{0,200}}=>)
             )""",
        re.VERBOSE,
    )


@cache
def _function_names() -> re.Pattern[str]:
    # A name, its parameters and the brace that opens its body, on this line or alone on the next one.
    return re.compile(
        r"""\n[ \t]{0,8}
            (?!(?:return|else|if|for|while|switch|case|do|try|catch|throw|new|await|yield|delete|assert|echo|print|function
                 |elif|then|with|super|typeof|using|lock|describe|it|test)\b)
            (?:[A-Za-z_@][\w:<>,*&\[\]?.]{0,80}[ \t]{1,9}[*&]{0,3}){0,6}
            ([A-Za-z_$~][\w$]{0,99})[ ]?\((?:[^;\n]{0,300}\)[^;()\n]{0,80})?(?:\{\r?(?=\n|\Z)|\r?(?=\n[ \t]{0,8}\{))""",
        re.VERBOSE,
    )


@cache
def _heading_names() -> re.Pattern[str]:
    # A heading that is one name, perhaps with its module and as code; a directive, a target or an anchor with a name.
    return re.compile(
        r"""\n(?: \#{1,6}[ ]+(?:class[ ]|def[ ]|function[ ])?[`*_]{0,2}(?:\w{1,60}[.:]{1,2}){0,5}([A-Za-z_]\w{2,99})
                 (?:\([^\n]{0,200}\))?[`*_]{0,2}[ ]*\r?(?=\n|\Z)
             | (?:\w{1,60}\.){0,5}([A-Za-z_]\w{2,99})(?:\(\))?\r?(?=\n[=~^"'-]{3})
             | \.\.[ ](?:[\w-]{1,20}:)?(?:function|class|method|data|attribute|exception|module|option|setting|signal
                 |command|confval|reqmeta|autofunction|autoclass|automodule)::[ ]+(?:\w{1,60}\.){0,5}([A-Za-z_]\w{2,99})
             | \.\.[ ]_([A-Za-z_]\w{2,99}):
             | <a[ ](?:id|name)="([A-Za-z_]\w{2,99})" )""",
        re.VERBOSE,
    )
