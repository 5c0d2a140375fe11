"""Secrets are taken out of a text before anything else is done with it.

    redact("password=<the secret>").text      "password=REDACTED"
    redact("postgres://me:<the secret>@db/x").text      "postgres://[REDACTED]@db/x"

A rule is data: the keywords that must occur, a pattern that is tried only where one of them stands, and
what takes its place. Text without a keyword costs one scan; nothing is compiled before it is needed.

What is left must still be what it was: JSON stays JSON, a key keeps its separator and quotes, a URL its
host; prose about passwords, code that passes them around and `${PLACEHOLDERS}` are not touched.

Every pattern is linear on any text. A repeat is either bounded, or possessive over one class of
characters with nothing behind it that could fail.
"""

import re
from functools import cache
from itertools import pairwise

from ctxrank.indexer.records import NamedTuple
from ctxrank.indexer.ruleset import RULESET_VERSION, RedactionMode

__all__ = ["RULES", "RULESET_VERSION", "Redacted", "RedactionMode", "Rule", "redact"]


class Redacted(NamedTuple):
    """A text without its secrets, and the names of the rules that took them, sorted."""

    text: str
    rules: tuple[str, ...]


class Rule(NamedTuple):
    """One kind of secret.

    `keywords` are lower case; the pattern must begin with one of them, and is tried there alone. It may
    look behind. `replacement` is a template of `re.Match.expand`.
    """

    name: str
    keywords: tuple[str, ...]
    pattern: str
    replacement: str


# A replacement can bring together what a rule then sees as one, so the rules run until nothing changes.
# Real text is stable after the first pass; the cap is there so that a bad rule cannot hang an import.
_PASSES = 8


def redact(text: str, mode: RedactionMode = RedactionMode.PATTERN_ONLY) -> Redacted:
    """The text without its secrets; a second call changes nothing more.

    Text that a person put between `<private>` and `</private>` goes too, in every mode but OFF.
    """
    names: set[str] = set()
    for _ in range(0 if mode is RedactionMode.OFF else _PASSES):
        before = text
        text = _redact_private(text, names)
        if mode is not RedactionMode.ENTROPY:
            text = _redact_forms(text, names)
        if mode is not RedactionMode.PATTERN_ONLY:
            text = _redact_random(text, names)
        if text == before:
            break
    return Redacted(text, tuple(sorted(names)))


def _redact_forms(text: str, names: set[str]) -> str:
    lower = _lower(text)
    # Most texts hold no keyword at all; what a replacement brings in is seen by the next pass.
    present = {keyword for keyword in _keywords() if keyword in lower}
    found: dict[str, list[int]] = {}
    for rule in RULES if present else ():
        if present.isdisjoint(rule.keywords):
            continue
        for keyword in rule.keywords:
            if keyword not in found:
                found[keyword] = _places(lower, keyword)
        places = sorted(place for keyword in rule.keywords for place in found[keyword])
        if not places:
            continue
        match_at = _compiled(rule.pattern).match
        pieces: list[str] = []
        done = 0
        for place in places:
            if place >= done and (match := match_at(text, place)):
                pieces += text[done:place], match.expand(rule.replacement)
                done = match.end()
        if pieces:
            names.add(rule.name)
            text = "".join([*pieces, text[done:]])
            lower = _lower(text)
            found.clear()
    return text


@cache
def _keywords() -> tuple[str, ...]:
    return tuple(dict.fromkeys(keyword for rule in RULES for keyword in rule.keywords))


def _lower(text: str) -> str:
    """Lower case with every character where it was: one capital letter alone would become two."""
    return text.lower() if text.isascii() else text.replace("\u0130", "I").lower()


def _places(lower: str, keyword: str) -> list[int]:
    places: list[int] = []
    place = lower.find(keyword)
    while place >= 0:
        places.append(place)
        place = lower.find(keyword, place + len(keyword))
    return places


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# Tags are few, so a scan for them is cheap; a text without the word pays one search.
_PRIVATE_TAG = r"(?i)<(/?)private>"


def _redact_private(text: str, names: set[str]) -> str:
    """Without what stands from an opening tag to the tag that balances it, or else to the last one."""
    if "private>" not in text.lower():
        return text
    pieces: list[str] = []
    done = depth = start = end = 0
    for tag in _compiled(_PRIVATE_TAG).finditer(text):
        if not tag[1]:
            if depth == 0:
                start, end = tag.start(), 0
            depth += 1
        elif depth:
            depth -= 1
            end = tag.end()
        if end and depth == 0:
            pieces += text[done:start], "[PRIVATE]"
            done, end = end, 0
    if end:
        pieces += text[done:start], "[PRIVATE]"
        done = end
    if pieces:
        names.add("private-block")
    return "".join([*pieces, text[done:]])


# A word long enough to be a key, and what stands before the value of one: `name=`, `"name": "`.
_LONG_WORD = r"(?<![A-Za-z0-9+/_~.-])[A-Za-z0-9+/_~.-]{20,}+={0,2}"
_NAMED = r"""[A-Za-z_][\w.-]{0,60}(?:\\{0,7}["'])?[ \t]{0,4}(?::=|=>|=|:)[ \t]{0,4}(?:\\{0,7}["'`])?\Z"""
_NAMED_REACH = 80  # characters


def _redact_random(text: str, names: set[str]) -> str:
    """Without the words that look random, but only the value of a name or a part of a URL."""
    pieces: list[str] = []
    done = 0
    for word in _compiled(_LONG_WORD).finditer(text):
        start = word.start()
        if word[0].startswith("//") and text.startswith(":", start - 1):
            parts = [_RANDOM if _looks_random(part) else part for part in word[0].split("/")]
            clean = "/".join(parts)
        elif _looks_random(word[0]) and _compiled(_NAMED).search(text[max(0, start - _NAMED_REACH) : start]):
            clean = _RANDOM
        else:
            continue
        pieces += text[done:start], clean
        done = word.end()
        if clean != word[0]:
            names.add("entropy")
    return "".join([*pieces, text[done:]])


_RANDOM = "[REDACTED]"

# Letters, digits and case change places often in a random word, seldom in a name: `getUserByIdFromCache2`
# has .17 changes for each character, a random word of 62 letters and digits .36 on average.
_LEAST_CHANGES = 0.22


def _looks_random(word: str) -> bool:
    """Many different characters, a digit and a capital, and not made like an identifier, path or digest."""
    if len(word) < 20 or len(set(word)) / len(word) <= 0.6 or word[:3] in ("sha", "md5"):
        return False
    if not any(c.isdigit() for c in word) or not any(c.isupper() for c in word):
        return False
    changes = 0.0
    for one, next_one in pairwise(word):
        if one.isalnum() and next_one.isalnum():
            if one.isdigit() != next_one.isdigit():
                changes += 1
            elif one.islower() and next_one.isupper():  # every name in camel case has these: half weight
                changes += 0.5
    return changes / len(word) > _LEAST_CHANGES


# Where a value ends, and what a value is not. Everything down to the rules stands under (?i).

_END = r"""(?=[\s"'`<>,;&)\]}|\\]|[.:?](?:\s|\Z)|\Z)"""

_MARKER = r"\[?(?:[a-z]{1,16}_){0,4}redacted(?![a-z0-9])"

# ${X}, {{ x }}, <password>, %(x)s, %s, a list, an object; $VARIABLE; %VARIABLE%; ****; a small number.
_PLACEHOLDER = (
    r"[$%#@]?[{(<\[]|\$(?:[a-z_]{1,64}|(?-i:[A-Z_][A-Z0-9_]{0,63}))" + _END + r"|%[a-z_]{1,64}%"
    r"|%[sdr]|[*]{2}|[.]{3}|-?\d{1,3}" + _END
)

_RESERVED = (
    r"(?:none|null|nil|true|false|undefined|str|string|text|bytes|bool|boolean|int|integer|number|object|any"
    r"|required|optional|hidden|masked|omitted|secretstr|change_?me|example)" + _END
)

# A value of letters that itself says "password" or "key" is a name or a stand-in: OPENAI_API_KEY.
_MENTION = r"(?=[a-z_.-]{1,120}+" + _END + r")[a-z_.-]{0,60}?(?:passw|passphrase|pwd|secret|token|key)"

# /run/secrets/db and ~/.ssh/id (a capital only where a name starts: else it may be base64);
# src/auth/token.py:42:7; token.py:42; yes/no.
_PATH = "|".join(
    shape + _END
    for shape in (
        r"[~.]{0,2}(?:/(?-i:[A-Z]?[a-z0-9@_.-]{0,64})){1,20}",
        r"(?:[~.]{0,2}/)?(?:[\w@.-]{1,64}/){1,20}[\w-]{1,64}(?:\.[a-z]\w{0,7}){1,2}(?::\d{1,6}){0,2}",
        r"[\w@-]{1,64}\.[a-z]\w{0,7}(?::\d{1,6}){1,2}",
        r"(?-i:[a-z_.-]{1,64})(?:/(?-i:[a-z_.-]{1,64})){1,20}",
    )
)

_NOT_A_SECRET = f"(?!{_MARKER}|{_PLACEHOLDER}|{_RESERVED}|{_MENTION}|{_PATH})"

# A call or an index, a path of attributes, a variable or a word of prose. Twenty letters of one case
# without a break are no word.
_NOT_CODE = (
    r"(?![&*!]?[^\W\d][\w.:>-]{0,100}[(\[]"
    r"|[&*!]?(?:[^\W\d]{1,64}\d{0,2}(?:[.]|::)){1,12}[^\W\d]{1,64}\d{0,2}" + _END + r"|[&*!]?"
    r"(?!(?-i:[a-z]{20,200}|[A-Z]{20,200})" + _END + r")(?:[^\W\d]|[.-]){1,200}" + _END + ")"
)

# A quote may itself be escaped: JSON inside a string, once, twice or three times.
_QUOTE = r"(?:\\|\\{3}|\\{7})?"
_KEY_QUOTE = rf"(?P<kq>{_QUOTE}[\"'])?"
_OPEN_QUOTE = rf"(?P<q>{_QUOTE}[\"'`])"

# With `: str` between a name and its `=`.
_SEPARATOR = (
    r"(?:[ \t]?:[ \t]?[a-z_][\w.|\[\] ]{0,40}?(?=[ \t]{0,4}=))?"
    r"[ \t]{0,8}(?::=|=>|={1,3}(?![=>~])|:(?![:=]))[ \t]{0,8}"
)

# Not what follows a string that happens to end in `password=`; not a sentence.
_LITERAL = (
    r"(?![,;:)\]}]|\+[a-z_]\w{0,60}[(.+\[])(?![^\s\"'`]{0,200}+[ \t])"
    + _NOT_A_SECRET
    # To the closing quote or a space; a quote that may end the JSON string around it is not passed.
    + r"""(?:(?!(?P=q)|"(?:[,:}\]\s]|\Z))(?:\\\S|[^\s\\]))"""
)

_PLAIN = r"""[^\s"'`<>,;&)\]}|\\]"""


def _literal(key: str, least: int) -> str:
    """key = "value": all but the value is the group `head`; the closing quote stays where it is."""
    return rf"(?i)(?P<head>{key}{_KEY_QUOTE}{_SEPARATOR}[bru]?{_OPEN_QUOTE}){_LITERAL}{{{least},}}"


def _bare(key: str, least: int) -> str:
    """key=value without quotes. A word of letters counts only as in `PASSWORD=word`, with nothing behind it.

    A comma, an ampersand and the like belong to the value unless the next `name=` follows them.
    """
    tight_word = rf"(?<=[^=:]=)(?=[^\W\d_]{{{least},}}+(?:[\s&\"'\\]|\Z))"
    joint = r"(?:[,;&)\]}|](?![\w.-]{1,40}[=:])|\\\\?(?![nrtbfu]))"
    return (
        rf"(?i)(?P<head>{key}{_KEY_QUOTE}{_SEPARATOR})(?<!==)(?<!==[ ])"
        rf"(?=[^\s\"'`\\]{{{least}}}){_NOT_A_SECRET}(?:{tight_word}|{_NOT_CODE}){_PLAIN}++(?:{joint}{_PLAIN}++)*"
    )


def _keyed(name: str, keywords: tuple[str, ...], key: str, least: int, label: str) -> tuple[Rule, Rule]:
    """The two rules of a named value, which share a name. A bare value of a quoted key gets its quotes."""
    return (
        Rule(name, keywords, _literal(key, least), rf"\g<head>{label}"),
        Rule(name, keywords, _bare(key, least), rf"\g<head>\g<kq>{label}\g<kq>"),
    )


_WHOLE_NAME = r"(?<![a-z0-9_])"
_API_KEY = ("apikey", "api_key", "api-key")

# A user and a password, but not a host and a port; the password is not ${X}, {x}, **** or %(x)s.
_USER = r"[^\s\"'`<>\\/:@]{0,128}:(?!\d{1,5}[/?#,])(?!\$[{(]|\$(?-i:[A-Z_])|[{(\[]|%[({]|[*]{2}|redacted@)"
_URL_PASSWORD = r"[^\s\"'`<>\\/]{1,256}@"
_HOST = r"(?=[\w\[.%-])"
_SLASHES = r":(?:\\?/){2}"

# The body of a PEM block: never past the next row of five dashes, nor out of a string.
_PEM_BODY = r"[^-\"]{0,20000}+(?:-(?!----)[^-\"]{0,20000}+){0,200}"
_PEM_LINES = r"(?:(?:\s|\\[nr]){0,4}[a-z0-9+/=]{40,100}+){1,1000}"


def _pem(name: str, kind: str, label: str) -> tuple[Rule, Rule]:
    """A key block, and one that was cut off before its end."""
    begin = rf"(?i)-----begin {kind}-----"
    return (
        Rule(name, ("-----begin ",), rf"{begin}{_PEM_BODY}-----end {kind}-----", label),
        Rule(name, ("-----begin ",), rf"{begin}{_PEM_LINES}", label),
    )


# The order is part of the meaning: of two rules that see the same text, the first one names it. The
# labels with brackets are those of the rules that teams had for what they show, the others of the rules
# for what they store.
RULES: tuple[Rule, ...] = (
    *_keyed("api-key", _API_KEY, _WHOLE_NAME + "api[_-]?key", 16, "REDACTED"),
    *_keyed(
        "password",
        ("passw", "pwd", "secret"),
        _WHOLE_NAME + "(?:password|passwd|pwd|secret)",
        4,
        "REDACTED",
    ),
    *_keyed("token", ("token",), _WHOLE_NAME + "token", 20, "REDACTED"),
    Rule("anthropic-key", ("sk-",), r"(?<![A-Za-z0-9])sk-ant-[A-Za-z0-9_-]{20,}+", "ANTHROPIC_KEY_REDACTED"),
    Rule(
        "openai-key",
        ("sk-",),
        # Not a row of words, as in a CSS class.
        r"(?<![A-Za-z0-9])sk-(?!(?:[a-z]{1,15}-){1,10}[a-z]{0,15}(?![A-Za-z0-9_-]))[A-Za-z0-9_-]{20,}+",
        "OPENAI_KEY_REDACTED",
    ),
    Rule(
        "github-token",
        ("ghp_", "ghs_", "ghu_", "ghr_"),
        r"(?<![A-Za-z0-9])gh[psur]_[A-Za-z0-9]{36,}+",
        "GITHUB_TOKEN_REDACTED",
    ),
    Rule("github-oauth", ("gho_",), r"(?<![A-Za-z0-9])gho_[A-Za-z0-9]{36,}+", "GITHUB_OAUTH_REDACTED"),
    Rule("github-pat", ("github_pat_",), r"(?<![A-Za-z0-9])github_pat_\w{22,}+", "GITHUB_PAT_REDACTED"),
    Rule(
        "aws-access-key",
        ("akia", "asia"),
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])",
        "AWS_ACCESS_KEY_REDACTED",
    ),
    Rule(
        "aws-secret-key",
        ("aws_secret", "aws-secret", "awssecret"),
        rf"(?i)(?P<head>aws[_-]?secret[_-]?(?:access[_-]?)?key{_KEY_QUOTE}{_SEPARATOR}(?:{_OPEN_QUOTE})?)"
        r"[a-z0-9/+=]{40,}+",
        r"\g<head>REDACTED",
    ),
    *_pem("ssh-key", "openssh private key", "SSH_KEY_REDACTED"),
    *_pem("private-key", "(?:[a-z0-9]{1,12} ){0,3}private key(?: block)?", "PRIVATE_KEY_REDACTED"),
    Rule("slack-token", ("xox",), r"(?<![A-Za-z0-9])xox[baprs]-[A-Za-z0-9-]{10,}+", "SLACK_TOKEN_REDACTED"),
    Rule(
        "stripe-pk",
        ("pk_test_", "pk_live_"),
        r"(?<![A-Za-z0-9])pk_(?:test|live)_[A-Za-z0-9]{10,}+",
        "STRIPE_PK_REDACTED",
    ),
    Rule(
        "stripe-sk",
        ("sk_test_", "sk_live_", "rk_test_", "rk_live_"),
        r"(?<![A-Za-z0-9])[sr]k_(?:test|live)_[A-Za-z0-9]{10,}+",
        "STRIPE_SK_REDACTED",
    ),
    Rule(
        "authorization",
        ("authorization",),
        rf"(?i)(?P<head>authorization{_KEY_QUOTE}{_SEPARATOR}(?:[bru]?{_OPEN_QUOTE})?"
        rf"(?:bearer|basic|token)[ \t]{{1,8}}){_NOT_A_SECRET}{_NOT_CODE}[a-z0-9._~+/=-]{{10,}}+",
        r"\g<head>REDACTED",
    ),
    Rule(
        "database-url",
        ("mongodb", "postgres", "mysql", "redis", "amqp"),
        rf"(?i)(?P<head>(?:mongodb|postgres(?:ql)?|mysql|rediss?|amqps?)(?:\+[\w.-]{{1,20}})?{_SLASHES}){_USER}"
        rf"(?:{_URL_PASSWORD}{_HOST}|[^\s\"'`<>\\@]{{1,256}}@{_HOST})",
        r"\g<head>[REDACTED]@",
    ),
    Rule(
        "url-credentials",
        ("://", ":\\/\\/"),
        rf"(?i)(?P<head>{_SLASHES}){_USER}{_URL_PASSWORD}{_HOST}",
        r"\g<head>[REDACTED]@",
    ),
    Rule(
        "jwt",
        ("eyj",),
        r"(?<![\w-])eyJ[\w-]{4,}+\.eyJ[\w-]{4,}+(?:\.[\w-]++){0,3}",
        "[JWT_REDACTED]",
    ),
    *_keyed(
        "named-secret",
        ("passw", "passphrase", "pwd", "secret"),
        "(?:password|passwd|passphrase|pwd|secret)(?:[_-]?(?:access[_-]?)?(?:key|token|value))?",
        4,
        "[REDACTED]",
    ),
    *_keyed("named-token", ("token",), "token", 20, "[REDACTED]"),
    *_keyed(
        "named-key",
        (*_API_KEY, "accesskey", "access_key", "access-key", "privatekey", "private_key", "private-key"),
        "(?:api|access|private)[_-]?key(?:[_-]?id)?",
        16,
        "[REDACTED]",
    ),
    Rule(
        "bearer",
        ("bearer",),
        rf"(?i)(?P<head>bearer[ \t:=]{{1,8}}(?:{_OPEN_QUOTE})?)"
        rf"{_NOT_A_SECRET}{_NOT_CODE}[a-z0-9._~+/=-]{{20,}}+",
        r"\g<head>[REDACTED]",
    ),
)
