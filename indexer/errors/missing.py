"""What a message says is missing: a module, header, library, package, command, file, table, variable or key.

    missing_name("No module named 'yaml'")                            ->  "yaml"
    missing_name("/usr/bin/ld: cannot find -lpq: No such file …")     ->  "-lpq"
    missing_name("Cannot find name 'x'.")                             ->  ""    a name in code: the fix is in the code

What helps with one missing thing does not help with another, so that the name is no variable part of the message. Of a
file that is named by a path the last part counts: folders differ from checkout to checkout.
"""

import re

from ctxrank.indexer.errors.masks import level
from ctxrank.indexer.errors.parse.tables import signed_rows, words
from ctxrank.indexer.errors.vocabulary import is_ordinary
from ctxrank.indexer.light_typing import cache

_NAMED_BY_TYPE = words("named_by_type")
# An exception's type that says the same; then the message may be the name alone.
_TYPE_OF_ABSENCE = r"NotFound|DoesNotExist|NoSuch|Missing"

_SIGNS_OF_CODE = ("find", "found", "resolve", "in this scope", "no such variable")
# Names inside code: another one is another occurrence of the same error.
_OF_CODE = (
    r"(?:find|found|resolve) (?:the )?(?:name|value|type|function|symbol|method|macro|trait|attribute|struct|label"
    r"|variable|field|derive|associated|tuple|lifetime|unit|import path)\b|in this scope|: no such variable"
)
# What any tool may say of a name that it was given: that there is no such thing, or that it is not allowed there.
_NOT_THERE = (
    r"unknown|undefined|undeclared|unrecogni[sz]ed|unresolved|unregistered|unavailable|unsupported|unexpected|missing"
    r"|invalid|illegal|bad"
)
_LOOKED_FOR = (
    r"(?:can't|cannot|can not|could not|couldn't|unable to|do(?:es)? not|don't|did not|failed to|error) (?:be )?"
    r"(?:find|open|load|stat|resolve|locate|access|import|retriev(?:e|ing)|fetch(?:ing)?|know|recogni[sz]e|build|determine"
    r"|reach|start|launch|run|exec(?:ute)?|consume)"
    r"|while sourcing"
)
_IS_NOT = (
    r"not (?:\w+ )??(?:known|found|defined|declared|installed|available|registered|recogni[sz]ed|resolved|supported"
    r"|allowed|permitted|exported|expected|accepted|present|listed|enabled|set|in|exist|a valid|valid|an? \w+ command"
    r"|be (?:found|resolved|located|loaded|opened|imported|reached))"
)
_NAME_QUOTED = r"(?<!\w)[`'\"\u2018\u201c](?P<{0}>[^`'\"\u2018\u2019\u201c\u201d\n]{{1,120}})[`'\"\u2019\u201d]"
_NAME_BARE = r"(?<![\w.])(?P<{0}>(?=\S*[\d_/@$%.:-]\S|\S*[a-z][A-Z])[\w$@%./~-][\w$@%./:+~-]*[\w/$])"
# "the key 'x' is not known", "'x' in 'y' does not exist"; not "'x' needs an unknown 'y'".
_SAID_BEFORE = (
    rf"(?:{_NAME_QUOTED.format('a')}|{_NAME_BARE.format('b')}),?"
    r"(?: +(?:in|of|from|for) (?:\w+ )?[`'\"][^`'\"\n]+[`'\"])? +"
    r"(?:needed by \S+ |(?:\w+ +){0,2}?(?:is|are|was|were|has|have|does|do|did|could)(?: +\w+){0,2}? +"
    r"|(?:\w+ +){1,2}(?=not\b))?"
    rf"(?i:{_IS_NOT}|{_NOT_THERE}|required|forbidden|disallowed)\b(?! +[`'\"])"
)
# "'x': no such user"
_BEFORE_COLON = rf"(?:{_NAME_QUOTED.format('a')}|{_NAME_BARE.format('b')}): +(?i:no such|not found|does not exist)\b"
# "no option 'x' in …", "unknown key type x", "invalid mode: 'x'", "failed to load 'x'".
_SAID_AFTER = (
    rf"(?:\b(?i:{_NOT_THERE}|required)\b(?::? +[\w@()/=-]+){{0,4}}?"
    rf"|\b(?i:no|not found|not exist|{_LOOKED_FOR})\b(?::? +[\w@()/=-]+){{0,6}}?):?(?: +| [\w@]+\[)"
)
_QUOTED_AFTER = rf"{_SAID_AFTER}\(?{_NAME_QUOTED.format('a')}"
_BARE_AFTER = (
    rf"{_SAID_AFTER}\(?(?:{_NAME_BARE.format('b')}(?=(?:\(\))?\)?[.,;]?(?:$| ?:| (?:in|at|on|for|of|from|to) ))"
    r"|(?P<a>[a-z]\w+)(?=[.,;]?$))"
)
# "Could not consume arg: x"
_LAST = (
    r"\b(?i:not|no|never|cannot|can't|unable|failed|refused)\b[^:\n'\"`\u2018\u201c]{0,60}: +"
    r"[`'\"\u2018\u201c]?(?P<a>[\w$@%./~-]+)[`'\"\u2019\u201d]?[.,;]?$"
)
# In these the name is what was looked for, so that a path is one, too; of a bad file the name says nothing.
_ABSENT = (
    rf"\b(?i:{_LOOKED_FOR}|no|not (?:be )?(?:found|installed|exist|available|defined)|missing|unknown|undefined"
    r"|unavailable|unresolved|sourcing)\b"
)
# What a compiler, or a linter of a configuration, calls by a name that it was given from outside the code.
_OUTSIDE_CODE = (
    r"\b(?i:option|flag|(?:sub)?command|module|package|plugin|rule|key|directive|section|event|host|device|driver"
    r"|theme|target|task|file|folder|directory|extension|feature|charset|encoding|locale|dialect|profile|pass"
    r"|service|action|job|step|role|user|group|library|tool|format|setting|instruction)s?"
    r"(?: (?:type|name|named|called))?:? +\W?$"
)
_REST = 24  # characters behind a name: "x.so" is not *found*
# A piece of what was read, a date, a place: what is wrong there is not what it is called.
_NO_NAME = r"^\d+(?::\d+)+$|^\d+[-:]\d+[-:]\d+|^<|\D:\d+(?::\d+)?$|\s\s|={2}"
_ANY_QUOTED = _NAME_QUOTED.format("a")
_BESIDE = (_SAID_BEFORE, _BEFORE_COLON, _QUOTED_AFTER, _BARE_AFTER, _LAST)
_IS_PATH = r"\S*/\S*$|[^\s\\]+\\\S+$|[^\s.]+\.\w{1,5}(?::\d+)*$"
_IN_PLACE = r"\b(?:at|in|under|from|on) \W?$"
_VERSION = r"(?<=.)(?:[=<>~!^]=*|@).*$"


_rules = cache(lambda: signed_rows("missing"))


def missing_name(message: str, error_type: str = "", *, of_code: bool = False) -> str:
    """The name of what is missing; '' where nothing is, or it is not named. `of_code`: a compiler says it."""
    if error_type in _NAMED_BY_TYPE or (re.search(_TYPE_OF_ABSENCE, error_type) and len(message.split()) == 1):
        return _normal(message.strip().strip("'\""))
    if any(sign in message for sign in _SIGNS_OF_CODE) and re.search(_OF_CODE, message) is not None:
        return ""
    for signs, pattern in _rules():
        if any(sign in message for sign in signs) and (match := re.search(pattern, message)) is not None:
            name = next(value for value in match.groups() if value)
            if signs[0] in ("o such file", "esolve host") and is_ordinary(name) and re.search(_ANY_QUOTED, message):
                continue  # "error while opening 'x' for reading: …"
            return _normal(name)
    return _named_beside(message, of_code=of_code)


def _named_beside(message: str, *, of_code: bool) -> str:
    """The name of which a sentence says that it is not there, or not allowed.

    `of_code`: only of what is not written in the code itself, an option or a plugin.
    """
    for pattern in _BESIDE:
        for match in re.finditer(pattern, message):
            name = next(value for value in match.groups() if value)
            is_bare = pattern in (_BARE_AFTER, _LAST) or name != match["a"]
            before = message[: match.start(match.lastindex or 0)]
            is_absent = re.search(_ABSENT, message[match.start() : match.end() + _REST]) is not None
            if (is_bare and is_ordinary(level(name))) or re.search(_NO_NAME, name) is not None:
                continue
            if (not is_absent and " " in name) or (of_code and re.search(_OUTSIDE_CODE, before) is None):
                continue
            if re.match(_IS_PATH, name) and (not is_absent or re.search(_IN_PLACE, before) is not None):
                continue
            return _normal(name)
    return _first_quoted(message) if "o such file" in message and not of_code else ""


def _first_quoted(message: str) -> str:
    match = re.search(_ANY_QUOTED, message)
    return _normal(match["a"]) if match is not None else ""


def _normal(name: str) -> str:
    """Without a version, a sentence's end, and the folders of a path that begins at a root."""
    name = name.rstrip(".,;:") or name
    if name.startswith(("/", "~", "./", "../", "\\")) or name[1:3] in (":\\", ":/"):
        return re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    return re.sub(_VERSION, "", name) if " " not in name and any(sign in name for sign in "=<>~!^@") else name
