"""What a message says is missing: a module, header, library, package, command, file, table, variable or key.

    missing_name("No module named 'yaml'")                            ->  "yaml"
    missing_name("/usr/bin/ld: cannot find -lpq: No such file …")     ->  "-lpq"
    missing_name("Cannot find name 'x'.")                             ->  ""    a name in code: the fix is in the code

What helps with one missing thing does not help with another, so that the name is no variable part of the message. Of a
file that is named by a path the last part counts: folders differ from checkout to checkout.
"""

from ctxrank.indexer.errors.masks import level
from ctxrank.indexer.errors.parse import kept
from ctxrank.indexer.errors.parse.frames import last_part
from ctxrank.indexer.errors.parse.tables import Expressions, listed, signed_rows, words
from ctxrank.indexer.errors.vocabulary import is_mistyped, is_ordinary

_NAMED_BY_TYPE = words("named_by_type")
_SAID = Expressions("missing")
STOPWORDS = listed("stopwords")

_SIGNS_OF_CODE = ("find", "found", "resolve", "in this scope", "no such variable")
_REST = 24  # characters behind a name: "x.so" is not *found*
_BESIDE = ("before", "before colon", "quoted after", "bare after", "last")


def missing_name(message: str, error_type: str = "", *, of_code: bool = False) -> str:
    """The name of what is missing; '' where nothing is, or it is not named. `of_code`: a compiler says it."""
    if error_type in _NAMED_BY_TYPE or (_SAID["type of absence"].search(error_type) and len(message.split()) == 1):
        return _normal(message.strip().strip("'\""))
    if any(sign in message for sign in _SIGNS_OF_CODE) and _SAID["of code"].search(message) is not None:
        return ""
    for signs, pattern in signed_rows("missing"):
        if any(sign in message for sign in signs) and (match := kept.compiled(pattern).search(message)) is not None:
            name = next(value for value in match.groups() if value)
            is_word = signs[0] in ("o such file", "esolve host") and is_ordinary(name)
            # "error while opening 'x' for reading: …", "x.scala:12:9: not found: …"
            if name.isdigit() or name in STOPWORDS or (is_word and _SAID["any quoted"].search(message)):
                continue
            return _normal(name, message[: match.start(match.lastindex or 0)])
    return _named_beside(message, of_code=of_code)


def _named_beside(message: str, *, of_code: bool) -> str:
    """The name of which a sentence says that it is not there, or not allowed.

    `of_code`: only of what is not written in the code itself, an option or a plugin.
    """
    for said in _BESIDE:
        for match in _SAID[said].finditer(message):
            name = next(value for value in match.groups() if value)
            is_bare = said in ("bare after", "last") or name != match["a"]
            before = message[: match.start(match.lastindex or 0)]
            is_absent = _SAID["absent"].search(message[match.start() : match.end() + _REST]) is not None
            if (is_bare and is_ordinary(level(name))) or _SAID["no name"].search(name) is not None:
                continue
            if (not is_absent and " " in name) or (of_code and _SAID["outside code"].search(before) is None):
                continue
            if _SAID["in place"].search(before) is not None or (_SAID["path"].match(name) and not is_absent):
                continue
            return _normal(name, before)
    return ""


def _normal(name: str, before: str = "") -> str:
    """Without a version, a sentence's end, and folders of a path that begins at a root; '' for what was mistyped."""
    if is_mistyped(name, level(before.rstrip(" :").rpartition(" ")[2])):
        return ""
    name = name.rstrip(".,;:").removeprefix("file:") or name
    if name.startswith(("/", "~", "./", "../", "\\")) or name[1:3] in (":\\", ":/"):
        return last_part(name.rstrip("/\\"))
    return _SAID["version"].sub("", name) if " " not in name and any(sign in name for sign in "=<>~!^@") else name
