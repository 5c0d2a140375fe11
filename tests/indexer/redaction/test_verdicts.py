"""How many words of each shape the guards take for secrets, and how many values behind each name are taken out.

The last column is a digest of which ones, and of what stands in their place: what one version of the rules finds,
another finds only with a number of its own (`RULESET_VERSION`), so that stores are looked through again.

Values are drawn when the test runs: no table holds one. `pytest --rewrite-golden` writes `golden/verdicts.tsv` again:
the diff is what gets reviewed, more of a shape of secrets and less of a shape of names is better.
"""

import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctxrank.indexer.redaction.copies import find_copies, value_of
from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.guards import (
    entropy,
    is_code,
    is_made,
    is_random,
    is_stand_in,
    is_strong,
    is_version,
    looks_like_key,
    looks_random,
)
from ctxrank.indexer.redaction.letters import reads_like_a_word
from ctxrank.indexer.redaction.random_words import find_random
from ctxrank.indexer.redaction.ruleset import REDACTION_MODES, RedactionMode, may_hold_secret
from ctxrank.indexer.text.digests import digest_of

_GOLDEN = Path(__file__).parent / "golden" / "verdicts.tsv"
_COUNT = 120
_WORDS = "get user cache token store retry index count value queue state config item total price session".split()
_ALNUM = string.ascii_letters + string.digits


def _of(signs: str, least: int, most: int) -> Callable[[random.Random], str]:
    return lambda chance: "".join(chance.choices(signs, k=chance.randint(least, most)))


def _camel(chance: random.Random) -> str:
    return "get" + "".join(word.title() for word in chance.choices(_WORDS, k=chance.randint(1, 4)))


def _numbered(chance: random.Random) -> str:
    return f"{_camel(chance)}{chance.randint(1, 99)}"


def _typed(chance: random.Random) -> str:
    word = chance.choice(_WORDS).title()
    return f"{word}{chance.choice('!@#$%&*?')}{chance.randint(1, 9999)}"


def _mixed(chance: random.Random) -> str:
    return "-".join(chance.choice((chance.choice(_WORDS), _of(_ALNUM, 3, 8)(chance))) for _ in range(3))


_SHAPES: dict[str, Callable[[random.Random], str]] = {
    "letters and digits": _of(_ALNUM, 6, 44),
    "small letters and digits": _of(string.ascii_lowercase + "0123", 6, 30),
    "hexadecimal": _of("0123456789abcdef", 6, 40),
    "letters": _of(string.ascii_letters, 6, 40),
    "small letters": _of(string.ascii_lowercase, 6, 24),
    "digits": _of(string.digits, 6, 24),
    "capitals and digits": _of(string.ascii_uppercase + string.digits, 8, 24),
    "with signs": _of(_ALNUM + "!@#$%_-+=", 6, 24),
    "few kinds": _of("aB1", 8, 24),
    "camel": _camel,
    "numbered": _numbered,
    "typed": _typed,
    "mixed": _mixed,
    "base64": _of(_ALNUM + "+/", 16, 48),
    "snake": lambda chance: "_".join(chance.choices(_WORDS, k=3)).upper(),
    "of one border": lambda chance: _of(_ALNUM, 40, 40)(chance)[: chance.choice((7, 8, 15, 16, 19, 20, 40))],
    "uuid": lambda chance: "-".join(_of("0123456789abcdef", size, size)(chance) for size in (8, 4, 4, 4, 12)),
    "version": lambda chance: "v" + ".".join(_of(string.digits, 1, 3)(chance) for _ in range(3)),
    "call": lambda chance: f"{_camel(chance)}({chance.choice(_WORDS)})",
    "named and random": lambda chance: f"{_camel(chance)}{_of(_ALNUM, 4, 20)(chance)}",
}
_GUARDS: dict[str, Callable[[str], bool]] = {
    "is_strong": is_strong,
    "is_random": is_random,
    "is_made": is_made,
    "looks_random": looks_random,
    "looks_like_key": looks_like_key,
    "entropy over 3": lambda word: entropy(word) > 3,
    "entropy over 3.5": lambda word: entropy(word) > 3.5,
    "is_stand_in": lambda word: is_stand_in(word, 0),
    "is_code": lambda word: is_code(word, 0),
    "is_version": lambda word: is_version(word, 0),
    "reads_like_a_word": reads_like_a_word,
    "may_hold_secret": may_hold_secret,
    "may_hold_secret behind a name": lambda word: may_hold_secret(f"token {word}"),
    "counts elsewhere": lambda word: value_of(word, "named-secret") != "",
    "counts elsewhere behind a user": lambda word: value_of(f"ana:{word}@", "url-credentials") != "",
    "is a copy": lambda word: [*find_copies(f"a {word}, {word}b.{word}", {word, word[:9]})] != [],
    "random behind a name": lambda word: find_random(f"name={word} http://h/{word}/x {word}") != [],
}
_PLACES = (
    "password={}",
    "password: {}",
    'password = "{}"',
    "Password: {}.",
    '{{"password": "{}"}}',
    "--password {}",
    "-p {}",
    "the password is {}",
    "password {} was set",
    "db_password={}",
    "DB_PASSWORD={}",
    "$password = '{}';",
    "pwd={}",
    "secret={}",
    "client_secret: {}",
    'secret_key = "{}"',
    "SECRET_KEY_BASE={}",
    "api_key={}",
    "apiKey: '{}'",
    "API-Key: {}",
    "x-api-key: {}",
    "token={}",
    'token: "{}"',
    "access_token={}&next=1",
    "Authorization: Bearer {}",
    "Authorization: {}",
    "auth={}",
    "credentials: {}",
    "passphrase={}",
    "pin={}",
    "key={}",
    'key: "{}"',
    "<password>{}</password>",
    "https://user:{}@example.org/",
    "https://example.org/?key={}",
    "postgres://app:{}@db/shop",
    "user=ana password={} host=db",
    "password_id={}",
    "token_count={}",
    "next_token={}",
    "max_tokens: {}",
    "secretName: {}",
    "get_password({})",
    "if password == {}:",
    "password: str = {}",
    "PASSWORD_HASH={}",
    "private_key={}",
    "machine db login ana password {}",
    "curl -u ana:{} https://x",
    "export TOKEN={}",
    "env: TOKEN: {}",
    "set password to {} please",
    "{}",
    "id {} of it",
    "password='{}' # old",
    "password={},host=db",
    "username: ana\npassword: {}\n",
    "password:\n  {}\n",
    'token := "{}"',
    "secret => '{}'",
    "spring.datasource.password={}",
    "passwd:{}",
    "My new passcode: {}",
    "sig={}",
    "cookie: session={}",
    "${{DB_PASSWORD:+{}}}",
    "password — {}",
    "tool --db-password {} run",
    "tool -Password {} run",
    "bypass={}",
    "db_pass={}",
    "smtpPass: {}",
    "the pass {} of it",
    "pw == '{}'",
    "pw: {}",
    "<password>{{{}}}</password>",
    "`password`: `{}`",
    "cache key: {}",
    "signing key: {}",
    "vendor KEY {} of it",
    "vendor_key {}",
    "monkey {}",
    "access key {}",
    "passwords: [{}, b]",
    "tokens:\n  - {}\n",
    "password['{}']",
    "get(password, {})",
    "credential: {}/region/x",
    "api_key_id={}",
    "password = 'correct {} horse 7'",
    "password={}(x\n",
    "password={},next=1 & more",
    "user: ana\npassword: {}\nhost: h\n",
    "  password: {}\nemail: a@b\n",
    "export PASSWORD={}\n",
    "ENV TOKEN {}\n",
    "-password: {}",
    "api.token={}; other",
    '{{\\"token\\": \\"{}\\"}}',
    '{{"pin": {0}, "token": {0}}}',
    "<private>a <private>{}</private> b</private> c",
    "<private>{} is open",
    "</private>{} <private>b</private>",
)


# Each with three values of a shape: what structure gives them to what name, and what stands beside them and stays.
_DOCUMENTS = {
    "columns": "name,password,email\nana,{0},a@example.org\nbob,{1},b@example.org\n\nid\tapi_key\n1\t{2}\n",
    "table": "| service | token | note |\n| --- | --- | --- |\n| ci | `{0}` | {1} |\n| db | {2} | - |\n",
    "insert": "INSERT INTO users (id, password, age) VALUES\n(1, '{0}', 3),\n(2, '{1}', 4);\n-- {2}\n",
    "manifest": "kind: Secret\ndata:\n  user: {0}\n  password: {1}\nmetadata:\n  name: {2}\n",
    "manifest behind": "data:\n  a: {0}\n  b: |\n    {1}\nkind: Secret\n---\nkind: ConfigMap\ndata:\n  c: {2}\n",
    "pieces of a key": 'k = ("-----BEGIN PRIVATE KEY-----\\n"\n "{0}{1}\\n"\n "{1}{2}\\n"\n "{2}=\\n"\n "-----END")\n',
    "vendor": 'ALGOLIA_KEY = "{0}"\nDATADOG_API_KEY={1}\nheroku key: {2}\n',
    "copies": "password={0}\nlater {0}, x{0}x and {0}1; {1} as well as {2} {1}\n",
    "many": "password={0}\n" * 260 + "token: {1}\n" * 3 + "{2}\n",
    "json": '{{"user": "ana", "password": "{0}", "list": [{{"name": "TOKEN", "value": "{1}"}}], "id": "{2}"}}',
    "disguised": "pass\u200bword=\u200b{0}\nto\x1b[1mken={1}\x1b[0m\n\uff50\uff41ssword: {2}\n",
    "url": "https://ana:{0}@h/a?token={1}&id={2}#x\npostgres://{0}:{1}@db/{2}\n",
    "code": "password = get({0})\ntoken = {1} if x else y\nkey: Optional[{2}] = None\nsecret = config.{0}\n",
    "prose": "The password of the old machine was {0}, and the new token is '{1}'. See {2} for the rest.",
    "headers": "Authorization: Basic {0}\nCookie: sid={1}; b={2}\nX-Api-Key: {2}\n",
    "blocks": "<private>{0}</private> <password>{1}</password> <a href='{2}'>\n",
    "commands": "curl -u ana:{0} https://h\nmysql -p{1} shop\nexport TOKEN={2}\nlogin ana {0}\n",
    "settings": "spring.datasource.password={0}\n[db]\npasswd = {1} ; {2}\n",
}


def _drawn(shape: str) -> list[str]:
    chance = random.Random(shape)
    return [_SHAPES[shape](chance) for _ in range(_COUNT)]


def _lines() -> Iterator[str]:
    drawn = {shape: _drawn(shape) for shape in _SHAPES}
    yield "\t".join(["", *drawn, "which"])
    for name, says in _GUARDS.items():
        said = [[says(word) for word in words] for words in drawn.values()]
        yield "\t".join([name, *(str(sum(one)) for one in said), digest_of(repr(said), 4)])
    for mode in REDACTION_MODES:
        for place in _PLACES if mode is REDACTION_MODES[0] else _PLACES[::8]:
            texts = [[place.format(word) for word in words[:6]] for words in drawn.values()]
            yield _line(f"{mode.described}: {place!r}", mode, texts, drawn)
        for name, document in _DOCUMENTS.items() if mode.sees_forms else ():
            texts = [[document.format(*words[:3])] for words in drawn.values()]
            yield _line(f"{mode.described}: {name}", mode, texts, drawn)


def _line(name: str, mode: RedactionMode, texts: list[list[str]], drawn: dict[str, list[str]]) -> str:
    """How many of the words of each shape are no longer in their texts."""
    redacted = [[redact(text, mode).text for text in some] for some in texts]
    gone = (
        sum(words[at] not in (some * 3)[at] for at in range(max(len(some), 3)))
        for some, words in zip(redacted, drawn.values(), strict=True)
    )
    return "\t".join([name, *map(str, gone), digest_of(repr(redacted), 4)])


@pytest.mark.slow
def test_what_is_taken_for_a_secret_is_what_was_reviewed(request: pytest.FixtureRequest) -> None:
    found = list(_lines())
    if request.config.getoption("--rewrite-golden"):
        _GOLDEN.parent.mkdir(exist_ok=True)
        _GOLDEN.write_text("\n".join([*found, ""]), encoding="utf-8")
    assert [*found, ""] == _GOLDEN.read_text(encoding="utf-8").split("\n")
