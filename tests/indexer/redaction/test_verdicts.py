"""How many words of each shape the guards take for secrets, and how many values behind each name are taken out.

Values are drawn when the test runs: no table holds one. `pytest --rewrite-golden` writes `golden/verdicts.tsv` again:
the diff is what gets reviewed, more of a shape of secrets and less of a shape of names is better.
"""

import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctxrank.indexer.redaction.engine import redact
from ctxrank.indexer.redaction.guards import (
    entropy,
    is_made,
    is_random,
    is_strong,
    looks_like_key,
    looks_random,
)
from ctxrank.indexer.redaction.ruleset import REDACTION_MODES

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
}
_GUARDS: dict[str, Callable[[str], bool]] = {
    "is_strong": is_strong,
    "is_random": is_random,
    "is_made": is_made,
    "looks_random": looks_random,
    "looks_like_key": looks_like_key,
    "entropy over 3": lambda word: entropy(word) > 3,
    "entropy over 3.5": lambda word: entropy(word) > 3.5,
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
)


def _drawn(shape: str) -> list[str]:
    chance = random.Random(shape)
    return [_SHAPES[shape](chance) for _ in range(_COUNT)]


def _lines() -> Iterator[str]:
    drawn = {shape: _drawn(shape) for shape in _SHAPES}
    yield "\t".join(["", *drawn])
    for name, says in _GUARDS.items():
        yield "\t".join([name, *(str(sum(map(says, words))) for words in drawn.values())])
    for mode in REDACTION_MODES:
        for place in _PLACES if mode is REDACTION_MODES[0] else _PLACES[::8]:
            some = (words[:6] for words in drawn.values())
            gone = (sum(word not in redact(place.format(word), mode).text for word in words) for words in some)
            yield "\t".join([f"{mode.described}: {place!r}", *map(str, gone)])


def test_what_is_taken_for_a_secret_is_what_was_reviewed(request: pytest.FixtureRequest) -> None:
    found = list(_lines())
    if request.config.getoption("--rewrite-golden"):
        _GOLDEN.parent.mkdir(exist_ok=True)
        _GOLDEN.write_text("\n".join([*found, ""]), encoding="utf-8")
    assert [*found, ""] == _GOLDEN.read_text(encoding="utf-8").split("\n")
