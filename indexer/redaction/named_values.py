r"""Values that a name says are secret, wherever names stand before values.

    client_secret: "…"   DB_PASSWORD=…   <apiKey>…</apiKey>   ?access_token=…   --token …   settings["pwd"] = "…"

A name is found by its last word; then comes what may stand behind that (`_key`, `_prod`) and what parts a name from
its value. The value counts unless it is a stand-in or code, and a key or a token must look like one.
"""

import re

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.redaction.guards import (
    GUARD_CHARS,
    PLAIN,
    are_many,
    compiled,
    is_code,
    is_stand_in,
    looks_like_key,
)


class NamedValue(NamedTuple):
    """The place of a value that its name calls secret, the rule that says so, and what takes its place."""

    start: int
    end: int
    rule: str
    label: str


# What a key can be for: `api_key`, `api-key`, `API key`, `app.api.key`, `apikey`.
_KEY_OF = (
    "api", "access", "private", "secret", "auth", "encryption", "encrypt", "signing", "sign", "master", "account",
    "client", "consumer", "app", "application", "service", "storage", "deploy", "license", "licence", "session",
    "shared", "webhook", "ssh", "hmac", "jwt", "aes", "admin", "subscription", "security", "project", "host",
    "function", "root",
)  # fmt: skip
ANCHORS: tuple[str, ...] = (
    *("pass", "pwd", "secret", "token", "credential", "creds", "_auth"),
    *(f"{word}{joint}key" for word in _KEY_OF for joint in ("", "_", "-", ".", " ")),
)

_WORD = (
    r"(?P<word>pass(?:w(?:or)?d|phrase|wort|code)?|pwd|secret|token|credentials?|creds|_auth"
    rf"|(?:{'|'.join(_KEY_OF)})[ _.-]?key)"
)
# What a name may end in and still mean the value itself; `_file`, `_url`, `_name` and the like do not.
_TAIL = (
    r"(?P<tail>(?:[_.-]?(?:access|api|key|token|value|secret|password|default|base64|b64|plain|text|string|id|data|raw"
    r"|old|new|prod|production|dev|test|live|staging|primary|secondary|current|main|\d{1,2})){0,3}+)"
)
_KEY_QUOTE = r"(?P<kq>(?:\\|\\{3}|\\{7})?[\"'])?"
# A quote may itself be escaped: JSON inside a string, once, twice or three times.
_OPEN_QUOTE = r"(?:[bru@$]?(?P<q>(?:\\|\\{3}|\\{7})?[\"'`]))?"
# `: str`, ` string` and ` { get; set; }` between a name and its `=`.
_TYPE = (
    r"(?:[ \t]?:[ \t]?[a-z_][\w.|\[\]<> ]{0,40}?(?=[ \t]{0,4}=)|[ \t]{1,8}[*&]?str(?:ing)?(?=[ \t]{0,8}:?=)"
    r"|[ \t]?\{[ \t]?get;[ \w]{0,12}(?:set|init);[ \t]?\})?"
)
_LINK = (
    rf"(?i){_WORD}{_TAIL}{_KEY_QUOTE}"
    # name = value; settings["name"] = value
    rf"(?:(?:(?<=[\"'])[\])]{{1,2}})?{_TYPE}\s{{0,24}}+(?P<operator>:=|=>|[?|]\|?=|={{1,3}}(?![=>~])|:(?![:=]))"
    r"(?:\s{1,8}+(?=[\"'])|[ \t]{0,8}+)"
    # key="name" value="value"; <name>value</name>; ("name", "value") and name("value"); --name value
    r"|(?P<attribute>(?<=[\"'])\s{0,4}value=)|(?P<element>>)|(?P<call>(?:\(|,[ \t]?)(?=[\"']))"
    rf"|(?P<flag>[ \t]{{1,4}}(?![=:&|-]))){_OPEN_QUOTE}"
)


def find_named(text: str, places: list[int]) -> list[NamedValue]:
    """The secret values behind names, given where the anchors stand, in order."""
    found: list[NamedValue] = []
    link_at = compiled(_LINK).match
    done = 0
    seen: dict[str, NamedValue | None] | None = {} if are_many(places) else None
    for place in places:
        if place < done:
            continue
        if seen is None:
            link = link_at(text, place)
            value = _value(text, place, link) if link else None
        else:
            surroundings = text[max(0, place - _CHARS_BEFORE) : place + _CHARS_BEHIND]
            if surroundings in seen:
                known = seen[surroundings]
                if known is None:
                    continue
                value = known._replace(start=place + known.start, end=place + known.end)
            else:
                link = link_at(text, place)
                value = _value(text, place, link) if link else None
                if value is None:
                    seen[surroundings] = None
                elif value.end + _CHARS_BEYOND <= place + _CHARS_BEHIND:
                    seen[surroundings] = value._replace(start=value.start - place, end=value.end - place)
        if value is not None:
            found.append(value)
            done = value.end
    return found


# No verdict depends on more than this: the link takes 160 characters at most, the guards their own number, and what
# ends a value is seen in a few behind it.
_CHARS_BEFORE = 40
_CHARS_BEHIND = 160 + GUARD_CHARS
_CHARS_BEYOND = 64


def _value(text: str, place: int, link: re.Match[str]) -> NamedValue | None:
    word, operator, quote, start = link["word"].lower(), link["operator"], link["q"], link.end()
    before = text[place - 1] if place else ""
    # A part of a resource's name (arn:…:secret:name), and a type (AWS::MSK::ScramSecret).
    if (before == ":" and operator == ":") or compiled(_TYPE_PATH).match(text[max(0, place - _CHARS_BEFORE) : place]):
        return None
    if link["tail"][-2:].lower() == "id" and not word.startswith(("api", "access", "secret")):
        return None
    if link["flag"] and not _is_flag(text, place):
        return None
    is_password = word.startswith(("passw", "passp", "passc", "pwd")) or word == "secret"
    if word == "pass":
        # A name of its own (DB_PASS, smtpPass, "pass") and not a word's end, a verdict or a statement.
        is_password = (
            before in tuple("_-.") or (link["word"] == "Pass" and before.islower()) or bool(quote and operator)
        )
        if not is_password or (before.isalpha() and link["word"] != "Pass"):
            return None
    if is_stand_in(text, start):
        return None
    if link["element"]:
        body = r"[^<\s\"]"
        is_value = True
    elif quote:
        body = rf"(?:(?!{re.escape(quote)}|\"(?:[,:}}\]\s]|\Z))(?:\\\S|[^\s\\]))"
        is_value = not compiled(_NOT_QUOTED).match(text, start)
    else:
        body = PLAIN
        is_value = operator not in ("==", "===") and _is_bare_value(text, start, operator, is_password)
    # The verdict sees a beginning alone: of a long run that is rejected at many places, no more is read each time.
    match = compiled(body + _VERDICT).match(text, start) if is_value else None
    if match is None:
        return None
    value = match[0]
    if word.startswith("cred") and "/" in value:  # the scope of a signature: an identifier, a day, a region
        return None
    if not is_password and word.replace("_", "") in value.lower().replace("_", ""):
        return None
    if link["flag"] and not quote and is_password:
        is_value = not value.isalpha()
    else:
        is_value = (is_password and not link["call"]) or looks_like_key(value)
    if not is_value:
        return None
    whole = compiled(_BARE if body is PLAIN else body + "*+").match(text, start)
    end = match.end() if whole is None else whole.end()
    if link["element"] and not text.startswith("</", end):
        return None
    rule, label = _named(word, before, link["tail"])
    if not quote and not link["element"] and link["kq"]:
        label = f"{link['kq']}{label}{link['kq']}"
    return NamedValue(start, end, rule, label)


_TYPE_PATH = r".*::\w*\Z"


def _named(word: str, before: str, tail: str) -> tuple[str, str]:
    """The rule and the label: a plain name has those of what was stored, any other those of what was shown."""
    if not tail and not (before == "_" or (before.isascii() and before.isalnum())):
        if word in ("password", "passwd", "pwd", "secret"):
            return "password", "REDACTED"
        if word == "token":
            return "token", "REDACTED"
        if word in ("apikey", "api_key", "api-key"):
            return "api-key", "REDACTED"
    if word.startswith(("pass", "pwd")) or word == "secret":
        return "named-secret", "[REDACTED]"
    return ("named-token" if word == "token" else "named-key"), "[REDACTED]"


def _is_flag(text: str, place: int) -> bool:
    """Whether the name is an option of a command: `--db-password`."""
    return text.startswith("--", text.rfind(" ", max(0, place - _CHARS_BEFORE), place) + 1)


# A comma, an ampersand and the like belong to a bare value unless the next `name=` follows them.
_BARE = rf"{PLAIN}++(?:(?:[,;&)\]}}|](?![\w.-]{{1,40}}[=:])|\\\\?(?![nrtbfu])){PLAIN}++)*+"

# Not what follows a string that happens to end in `password=`; not a sentence.
_NOT_QUOTED = r"[,;:)\]}]|\+(?i:[a-z_])\w{0,60}[(.+\[]|[^\s\"'`]{0,200}+[ \t]"


def _is_bare_value(text: str, start: int, operator: str | None, is_password: bool) -> bool:
    """Without quotes, letters alone count only as in `PASSWORD=word`, with nothing behind them."""
    is_tight = operator == "=" and is_password and text[start - 1] == "="
    if is_tight and compiled(r"[^\W\d_]{4,}+(?:[\s&\"'\\]|\Z)").match(text, start):
        return True
    return compiled(r"[^\s\"'`\\]{4}").match(text, start) is not None and not is_code(text, start)


_VERDICT = r"{4,200}+"  # characters; fewer are no secret
