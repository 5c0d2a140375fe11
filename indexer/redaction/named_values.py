r"""Values that a name says are secret, wherever names stand before values.

    client_secret: "…"   DB_PASSWORD=…   <apiKey>…</apiKey>   ?access_token=…   --token …   settings["pwd"] = "…"

A name is found by its last word; then comes what may stand behind that (`_key`, `_prod`) and what parts a name from
its value. The value counts unless it is a stand-in or code, and a key or a token must look like one.
"""

import re
from functools import cache
from itertools import chain

from ctxrank.indexer.redaction.guards import (
    GUARD_CHARS,
    PLAIN,
    Secret,
    compiled,
    found_at,
    is_code,
    is_made,
    is_random,
    is_stand_in,
    is_strong,
    is_version,
    looks_like_key,
)
from ctxrank.indexer.redaction.letters import reads_like_a_word
from ctxrank.indexer.redaction.pieces import PIECES

# What a key can be for: `api_key`, `api-key`, `API key`, `app.api.key`, `apikey`.
_KEY_OF = PIECES["KEY_OF"].split()
# "Password" as other languages have it.
_PASSWORD_ABROAD = (
    *"kennwort,contraseña,contrasena,mot de passe,motdepasse,senha,пароль".split(","),
    *"密码,密碼,パスワード,비밀번호,패스워드,암호,비번".split(","),
)
# Words that say little by themselves: the value behind one must look random.
_WEAK = ("key", "auth", "bearer", "api", "login", "sid", "pat", "access", "private")
# Of these in capitals alone: code is full of the others.
_SHOUTED = ("access", "private")
STRONG_ANCHORS: tuple[str, ...] = (
    *"pass pwd paswd paswo paswr psw pssw pw secret token credential creds _auth psk".split(),
    *_PASSWORD_ABROAD,
    *(f"{word}{joint}key" for word in _KEY_OF for joint in ("", "_", "-", ".", " ")),
)
_STRONG = frozenset(STRONG_ANCHORS)
ANCHORS = (*STRONG_ANCHORS, *_WEAK)

_WORD = (
    # As bad spellers have it, too: pswd, paswword.
    rf"(?P<word>pass(?:phrase|wort|code)|pa?s{{0,2}}wo?r?d|pass|pw|{'|'.join(_PASSWORD_ABROAD)}"
    rf"|secret|token|credentials?|creds|_auth|psk|(?:{'|'.join(_KEY_OF)})[ _.-]?key|(?P<weak>{'|'.join(_WEAK)}))"
)
_LINK = f"(?i){_WORD}{PIECES['LINK']}"
NAME_AT_END = rf"(?i){_WORD}{PIECES['TAIL']}s?\Z"


def places_of_names(text: str, places: dict[str, list[int]]) -> list[int]:
    """Where names may stand, in order. Keywords, authors and monkeys are left out at once: code is full of them."""
    lists = [found for anchor, found in places.items() if anchor in _STRONG]
    for word in _WEAK:
        if found := places.get(word):
            size = len(word)
            lists.append(
                [
                    place
                    for place in found
                    if not text[place + size : place + size + 1].isalnum()
                    and not (text[place].islower() and (word in _SHOUTED or text[place - 1 : place].isalpha()))
                ]
            )
    return sorted(chain.from_iterable(lists))


def find_named(text: str, places: list[int]) -> list[Secret]:
    """The secret values behind names, given where the anchors stand, in order."""
    if not places:
        return []  # the expression is long, and most texts name nothing
    link_at = compiled(_LINK).match

    def secret_at(place: int) -> Secret | None:
        link = link_at(text, place)
        return _value(text, place, link) if link else None

    return list(found_at(text, places, _CHARS_BEFORE, _CHARS_BEHIND, secret_at))


# The link takes 900 characters at most, with four fields; the guards their own number.
_CHARS_BEFORE = 80
_CHARS_BEHIND = 900 + GUARD_CHARS


def _value(text: str, place: int, link: re.Match[str]) -> Secret | None:
    word, quote, start = link["word"].lower(), link["q"], link.end()
    is_password = word in _ANY_VALUE or word.startswith(_PASSWORDS)
    least = r"\S{16}" if link["weak"] and not any(link.group("plural", "map", "below", "bracket")) else r"\S{8}"
    if not (is_password or link["element"] or compiled(least).match(text, start)):
        return None  # too short for what is random or looks like a key: most of code and prose ends here
    operator = ":" if link["pair"] else link["operator"]
    near = text[max(0, place - _CHARS_BEFORE) : place]
    before = near[-1:]
    if (operator == before == ":") or compiled(PIECES["NO_NAME"]).search(near):
        return None
    if link["tail"][-2:].lower() == "id" and not word.startswith(("api", "access")):
        return None
    if link["weak"] and compiled(r"(?i)token|secret|password|key").search(link["tail"]):
        return None  # found by that word
    # An option of a command: `--db-password`, `-Password`.
    is_option = text.startswith("-", text.rfind(" ", max(0, place - _CHARS_BEFORE), place) + 1)
    is_prose = bool(link["dash"]) or (bool(link["flag"]) and not is_option)
    if word in _PARTS_OF_WORDS and _is_in_a_word(near, link["word"]):
        return None
    if is_version(text, start) or (link["below"] and not _is_setting(near)) or (link["dash"] and near.endswith("$(")):
        return None
    if operator == ":" and text[start : start + 1] in ("+", "?", "$") and "${" in near:
        return None  # ${DB_PASSWORD:+is-set} asks whether there is one
    rule, label = _named(word, before, link["tail"])
    if not quote and is_password and operator in _GIVES and (jumble := _jumble(text, start)):
        return Secret(start, jumble, label, rule)
    if link["element"] and (encrypted := compiled(_ENCRYPTED).match(text, start)):
        return Secret(start, encrypted.end(), label, rule)
    if is_stand_in(text, start):
        return None
    if link["element"]:
        body = r"[^<\s\"]"
        is_value = compiled(r"[A-Z][a-z]{2,30}+[?]?<").match(text, start) is None
    elif quote:
        body = _within(quote)
        if is_password and (phrase := _typed_with_spaces(text, start, quote)):
            return Secret(start, phrase, label, rule)
        says_none = compiled(PIECES["LABEL" if link["kq"] else "NOT_QUOTED"]).match(text, start)
        is_value = not (says_none or (quote == "`" and is_code(text, start)))
    else:
        body = PLAIN
        is_said = operator in _GIVES and not is_option and compiled(_SENTENCE).match(text, start) is not None
        is_value = (
            operator not in _COMPARISONS
            and not (is_said and not link["word"].isupper())
            and (
                is_prose
                or _is_bare_value(text, start, place, operator, is_password=is_password)
                or (is_password and operator == ":" and _is_beside_login(text, place, start))
            )
        )
    # The verdict sees a beginning alone: of a long run that is rejected at many places, no more is read each time.
    match = compiled(rf"(?>{body}{_VERDICT})").match(text, start) if is_value else None
    if match is None:
        return None
    value = match[0]
    if word == "secret" and "key" in link["tail"].lower() and not (is_likely(value) or any(map(str.isdecimal, value))):
        return None  # what is kept in a secret is called so: CA_SECRET_KEY = "ca.crt"
    if not is_password and word.replace("_", "") in value.lower().replace("_", ""):
        return None
    if word in ("secret", "pass") and not link["tail"] and compiled(_HYPHENED).fullmatch(value.replace("_", "-")):
        return None  # what Kubernetes calls one, and what passed
    if word == "token" and compiled(PIECES["NO_TOKEN"]).search(near):
        return None
    if not _is_secret(value, link, word, is_password=is_password, is_prose=is_prose):
        return None
    whole = compiled(_BARE if body is PLAIN else rf"(?>(?>{body}{{1,500}})*)").match(text, start)
    end = match.end() if whole is None else whole.end()
    if link["element"] and compiled(r"\s{0,40}</").match(text, end) is None:
        return None
    return Secret(start, end, label, rule, is_prose or bool(link["weak"]))


@cache
def _within(quote: str) -> str:
    """One character of a value in these quotes."""
    return rf"(?:(?!{re.escape(quote)}|\"(?:[,:}}\]\s]|\Z))(?:\\\S|[^\s\\]))"


_SENTENCE = r"[^\W\d_][^\W\d_'-]{1,40}+\d?(?>(?:[ ]{1,2}[^\s=&|;:/\"{}$#-][^\s=&|;\"{}$#]{0,40}){1,16})\s*(?:\n|\Z)"
# Of these any value is one, not only what looks like a key.
_ANY_VALUE = ("secret", "psk", "private_key", "private-key")
_PASSWORDS = ("passw", "passp", "passc", "pas", "pw", "psw", "pss", *_PASSWORD_ABROAD)
# What Jenkins writes instead of a secret, and what people write beside it: it can be decrypted by who has its folder.
_ENCRYPTED = r"\{(?>(?:[\w-]{1,40} ){0,3})[^\s{}<()\"'`\\]{8,}+\}(?=\s{0,40}</)"
# These stand within other words: bypass, compass, monkey, author, rapid, inside, chosenhand.
_PARTS_OF_WORDS = ("pass", "pw", "psk", "senha", *_WEAK)
# The end of a digest: …Y0pw==; a digit or a sign is in it.
_IN_BASE64 = r"(?:(?=[A-Za-z+/]{0,11}\d)[A-Za-z0-9+/]{12}|(?=[A-Za-z/]{0,23}[\d+])[A-Za-z0-9+/]{24})\Z"


def _is_in_a_word(before: str, word: str) -> bool:
    """Whether the name goes on before it: `bypass`, but not `db_pass`, `smtpPass`, `DBPASS`."""
    if compiled(_IN_BASE64).match(before[-12:]) or compiled(_IN_BASE64).match(before[-24:]):
        return True
    if not before or not before[-1].isalpha():
        return before[-1:].isdigit() and len(word) < 3
    is_joined = (word[0].isupper() and before[-1].islower()) or (word.isupper() and before[-1].isupper())
    if word.lower() == "pass":
        return compiled(PIECES["NOT_A_PASS" if is_joined else "A_PASS"]).match(before) is not None
    return not is_joined


_COMPARISONS = ("==", "===", "!=", "!==")
_GIVES = ("=", ":")
# A generator's password: no space, no quote, and a bracket that nothing closes.
_JUMBLE = r"[^\s\"'`\\]{12,64}+(?=\s|\Z)"
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}


def _jumble(text: str, start: int) -> int:
    """Where a value without quotes ends that brackets would cut short, or 0: it is random, and no expression."""
    match = compiled(_JUMBLE).match(text, start)
    value = match[0].rstrip(",;") if match else ""
    if not is_random(value) or value[-1] in "([{":
        return 0
    parts = compiled(r"[\W_]+").split(value)
    if not any(len(part) >= _LEAST_PART and looks_like_key(part) for part in parts):
        return 0
    return start + len(value) if _is_unbalanced(value) else 0


_LEAST_PART = 6


def _is_unbalanced(value: str) -> bool:
    """Whether a bracket of the value is open at its end, or closes what is not open."""
    still_open: list[str] = []
    for char in value:
        if char in "([{<":
            still_open.append(char)
        elif char in _BRACKETS and (not still_open or still_open.pop() != _BRACKETS[char]):
            return True
    return bool(still_open)


def _is_secret(value: str, link: re.Match[str], word: str, *, is_password: bool, is_prose: bool) -> bool:
    """Whether the value is one that the name and its link allow: the less these say, the more it must show."""
    quote = link["q"]
    if any(link.group("plural", "map", "below", "bracket")):
        return is_likely(value) and not (link["weak"] and (_says_no_secret(link) or _is_digest(value, link)))
    if link["tight"]:
        says_none = link["weak"] and (word != "key" or _says_no_secret(link) or not value.replace("_", "").isalnum())
        if says_none or compiled(r"(?!\d+\Z)[\w+=-]+").fullmatch(value) is None:
            return False
        return is_made(value) and compiled(r"\.[a-z]").match(link.string, link.end() + len(value)) is None
    if link["weak"]:
        is_bare_key = word == "key" and link["operator"] in (":", None) and not link["kq"]
        if is_bare_key and not (compiled(PIECES["OPENS"]).fullmatch(value) or _has_authority(link)):
            return False
        is_plain_word = compiled(r"[\w+/=.~%-]+").fullmatch(value) is not None and not (is_prose and "/" in value)
        # In capitals or joined to another name: `vendor KEY …`, `vendorKey …`, `vendor_key …`.
        is_shouted = link["word"].isupper() or link.string[link.start() - 1 : link.start()] not in ("", " ", "\t", "\n")
        is_one = is_random(value) or (is_made(value) and (not is_prose or is_shouted))
        return is_plain_word and is_one and not (_says_no_secret(link) or _is_digest(value, link))
    is_typed = (compiled(_TYPED).fullmatch(value) is not None or is_strong(value)) and bool(
        quote or link["operator"] or (link["flag"] or "").strip()
    )
    if is_prose:
        if is_password and is_typed:
            return True
        return looks_like_key(value) if quote and word != "pass" else is_strong(value) or is_made(value)
    if link["operator"] in _COMPARISONS:
        return looks_like_key(value) or is_strong(value)
    if word in ("pass", "pw"):
        before = link.string[link.start() - 1] if link.start() else ""
        is_named = before in tuple("_-.") or before.isalpha() or bool(link["pair"] or (quote and link["operator"]))
        is_typed = is_typed and link["operator"] in _GIVES
        return (
            is_strong(value) or looks_like_key(value) or is_typed or (is_named and word == "pass" and not link["call"])
        )
    if link["flag"] and not quote and is_password:
        return compiled(r"[A-Za-z]+|[a-z-]+:[A-Za-z]+").fullmatch(value) is None or not reads_like_a_word(value)
    return (is_password and (is_typed or not link["call"])) or looks_like_key(value)


# A word and a number, as people make up passwords: too little in prose, enough in a line that says no more.
_TYPED = r"(?=.{8})(?:[A-Za-z]{4,}+|(?:[A-Z][a-z]{3,}+-){2,4})\d{2,6}"


def is_likely(value: str) -> bool:
    """Whether a value is one where only a heading, a list or a line above names it."""
    return looks_like_key(value) or is_strong(value) or compiled(_TYPED).fullmatch(value) is not None


def _near(link: re.Match[str]) -> str:
    """What stands before a name."""
    return link.string[max(0, link.start() - _CHARS_BEFORE) : link.start()]


def _has_authority(link: re.Match[str]) -> bool:
    """Whether a word before `key:` says that it opens something: in a log of CI it is that of a cache."""
    if link.string[link.start() - 1 : link.start()].isalnum() or link["word"].isupper():
        return True
    return compiled(PIECES["AUTHORITY"]).search(_near(link)) is not None


# Fewer hexadecimal digits are a number or a digest; and `"key": "<digest>"` is what something is kept under.
_LEAST_HEX = 32


def _is_digest(value: str, link: re.Match[str]) -> bool:
    """Whether only hexadecimal digits stand behind a weak name, too few of them or the value of just `key` in JSON."""
    digest = compiled(PIECES["KEPT_UNDER"]).fullmatch(value)
    if digest is None:
        return False
    is_plain_name = link["kq"] and link.string[link.start() - 1 : link.start()] in ("'", '"')
    return bool(is_plain_name or digest[1]) or len(value) < _LEAST_HEX


def _says_no_secret(link: re.Match[str]) -> bool:
    """Whether what stands before `key` says that it opens nothing."""
    return compiled(PIECES["NO_SECRET"]).match(_near(link)) is not None


_MOST_WORDS_CHARS = 80


def _typed_with_spaces(text: str, start: int, quote: str) -> int:
    """Where a quoted password with spaces in it ends, or 0: none of its words is one of a sentence."""
    end = text.find(quote, start, start + _MOST_WORDS_CHARS)
    words = text[start:end].split() if end > 0 else []
    if len(words) < 2 or compiled(r"[^\n\\\d]*+\d[^\n\\]*+").fullmatch(text, start, end) is None:
        return 0
    if not is_strong("".join(words)) or compiled(r"[\"'`<>{}\[\],:;=()]").search(text, start, end):
        return 0
    return 0 if any(len(word) >= 4 and word.isalpha() and reads_like_a_word(word) for word in words) else end


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


# A comma, an ampersand and the like belong to a bare value unless the next `name=` follows them.
_BARE = rf"{PLAIN}++(?>(?>(?:(?:[,;&)\]}}|>](?![\w.-]{{1,40}}[=:])|<(?![/\w!])|\\\\?(?![nrtbfu])){PLAIN}++){{1,500}})*)"

_LETTERS_ONLY = r"[A-Za-z]{6,64}+(?>(?:_[A-Za-z]{6,64}+)?)(?=[\s\"'\\,;&)}\]]|\.?\Z)"
# A line that gives a name its value: of settings and of the environment.
_SETTING = r"(?s)(?:\A|.*\n)[ \t]*(?:-[ \t]+)?[\"']?[\w.-]*\Z"


def _is_setting(before: str) -> bool:
    """Whether nothing but the rest of a name stands before it in its line."""
    return compiled(_SETTING).match(before) is not None


# The same, never of code that is indented.
_LINE_START = r"(?s)(?:\A|.*\n)(?:export |ENV |set )?[\w.-]*\Z"
_REST_OF_LINE = r"(?![\w.]{1,80}[(\[])[^\s\"'`()<>{}$,;]{4,200}+(?=\r?\n|\Z)"
_HYPHENED = r"(?i)[a-z]{1,20}+(?>(?:-[a-z]{1,20}+){1,8})(?=[\s&\"'\\]|\Z)"


def _is_bare_value(text: str, start: int, place: int, operator: str | None, *, is_password: bool) -> bool:
    """Whether what has no quotes is a value: letters alone are one in `PASSWORD=word`, or if they are no word."""
    is_tight = operator in ("=", ":-") and is_password and text[start - 1] == operator[-1]
    if is_tight:
        if compiled(r"[^\W\d_]{4,}+(?:[\s&\"'\\]|\Z)").match(text, start) or compiled(_HYPHENED).match(text, start):
            return True
        before = text[max(0, place - _CHARS_BEFORE) : place]
        if (place < _CHARS_BEFORE or "\n" in before) and compiled(_LINE_START).match(before):
            return compiled(_REST_OF_LINE).match(text, start) is not None or not is_code(text, start)
    letters = compiled(_LETTERS_ONLY).match(text, start)
    if letters and not reads_like_a_word(max(letters[0].split("_"), key=len)):
        return True
    return compiled(r"[^\s\"'`\\]{4}").match(text, start) is not None and not is_code(text, start)


# A word alone is a password where the line before or behind it says who logs in, or where.
_LOGIN = r"[ \t]*+[\"']?[\w.-]{0,30}?(?i:user|username|login|host|port|database|email)[\"']?[ \t]?[:=][ \t]?[^\s{\[]"
_SMALL_WORD = r"[a-z]{5,64}+[ \t]*(?:\r?\n|\Z)"


def _is_beside_login(text: str, place: int, start: int) -> bool:
    line = text.rfind("\n", max(0, place - _CHARS_BEFORE), place) + 1
    before = text.rfind("\n", max(0, line - _CHARS_BEFORE), max(0, line - 1)) + 1
    word = compiled(_SMALL_WORD).match(text, start)
    if word is None or not _is_setting(text[line:place]):
        return False
    return any(compiled(_LOGIN).match(text, at) for at in (before, word.end()))


_VERDICT = r"{4,200}"  # characters; fewer are no secret
