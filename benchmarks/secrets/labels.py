"""Values that stand after a name which says what they are: code, configuration, commands, headers, queries.

    client_secret: "…"      DB_PASSWORD=…      <apiKey>…</apiKey>      ?access_token=…      X-Api-Key: …

Names, places and kinds of value are crossed at random, the same for the same seed.
"""

import random
import string
from typing import NamedTuple

_ALNUM = string.ascii_letters + string.digits
_WORDS = [
    "correct",
    "horse",
    "battery",
    "staple",
    "summer",
    "winter",
    "dragon",
    "monkey",
    "tiger",
    "river",
    "golden",
    "silver",
]

# Names in snake case; a place writes them as is usual there. The first take anything, the others a key.
PASSWORDS = (
    "password", "passwd", "pwd", "db_password", "admin_password", "user_passwd", "smtp_pass", "mysql_root_password",
    "passphrase", "key_passphrase", "secret", "client_secret", "app_secret", "jwt_secret", "webhook_secret",
    "shared_secret", "password_default", "redis_password", "proxy_pass", "secret_value",
)  # fmt: skip
KEYS = (
    "api_key", "apikey", "access_key", "secret_key", "private_key", "auth_token", "access_token", "refresh_token",
    "token", "api_token", "bot_token", "secret_access_key", "encryption_key", "signing_key", "master_key",
    "account_key", "client_key", "consumer_key", "app_key", "service_key", "session_token", "id_token", "csrf_token",
    "personal_access_token", "api_secret", "auth_key", "deploy_token", "license_key", "storage_account_key",
    "credential", "db_credentials", "security_token", "x_api_key", "oauth_token",
)  # fmt: skip


class Labelled(NamedTuple):
    """A text in which `value` follows a name."""

    place: str
    kind: str
    text: str
    value: str


PLACES = {
    "python": '{name} = "{value}"',
    "python_single": "{name} = '{value}'",
    "keyword": 'client = Client(user="me", {name}="{value}")',
    "typed": '{name}: str = "{value}"',
    "dict": 'settings["{name}"] = "{value}"',
    "js": 'const {camel} = "{value}";',
    "js_object": "  {camel}: '{value}',",
    "java": 'private static final String {upper} = "{value}";',
    "go": '{camel} := "{value}"',
    "csharp": 'public string {pascal} {{ get; set; }} = "{value}";',
    "ruby": "{name}: '{value}', other: 1",
    "rocket": ":{name} => '{value}',",
    "php": "'{name}' => '{value}',",
    "json": '{{"user": "me", "{name}": "{value}"}}',
    "json_tight": '{{"user":"me","{camel}":"{value}","n":1}}',
    "json_escaped": '{{"body": "{{\\"{name}\\": \\"{value}\\"}}"}}',
    "yaml": "user: me\n{name}: {value}\nport: 1",
    "yaml_quoted": '  {kebab}: "{value}"',
    "toml": '[auth]\n{name} = "{value}"',
    "ini": "[auth]\n{name}={value}\n",
    "ini_spaced": "{name} = {value}",
    "properties": "app.{dotted}={value}",
    "env": "{upper}={value}",
    "export": 'export {upper}="{value}"',
    "docker": "ENV {upper}={value}",
    "flag": "tool --{kebab} {value} --verbose",
    "flag_equals": "tool --{kebab}={value} --verbose",
    "query": "GET https://example.org/v1/items?page=2&{name}={value}&x=1",
    "form": "user=me&{name}={value}",
    "header": "X-{title}: {value}",
    "curl": "curl -H 'X-{title}: {value}' https://example.org",
    "xml": "<{camel}>{value}</{camel}>",
    "xml_attribute": '<add key="{camel}" value="{value}" />',
    "connection": "Server=db1;User Id=me;{pascal}={value};Timeout=3",
    "terraform": '  {name}    = "{value}"',
    "log": "2024-05-01 12:00:00 DEBUG request failed {name}={value} status=401",
    "colon_log": "using {name}: {value}",
    "repr": "Config(user='me', {name}='{value}')",
}


def _value(kind: str, rng: random.Random) -> str:
    if kind == "base62":
        return "".join(rng.choices(_ALNUM, k=rng.choice((20, 24, 32, 40))))
    if kind == "hex":
        return "".join(rng.choices("0123456789abcdef", k=rng.choice((32, 40, 64))))
    if kind == "base64":
        return "".join(rng.choices(_ALNUM + "+/", k=rng.choice((43, 86)))) + "="
    if kind == "urlsafe":
        return "".join(rng.choices(_ALNUM + "-_", k=rng.choice((22, 43))))
    if kind == "short":
        return "".join(rng.choices(string.ascii_lowercase, k=6)) + "".join(rng.choices(string.digits, k=4))
    if kind == "symbols":
        return rng.choice(_WORDS).title() + rng.choice("@#!%") + "".join(rng.choices(string.digits, k=3)) + "!"
    if kind == "words":
        return rng.choice(_WORDS) + rng.choice(_WORDS)
    return rng.choice(_WORDS) + str(rng.randint(1, 9999))


_PASSWORD_KINDS = ("short", "symbols", "words", "word_number", "base62", "hex", "base64")
_KEY_KINDS = ("base62", "hex", "base64", "urlsafe", "short")


def labelled(count: int, seed: int = 1) -> list[Labelled]:
    """So many of them: each place as often as any other, half of the names a password's."""
    rng = random.Random(seed)
    places = list(PLACES)
    found: list[Labelled] = []
    for number in range(count):
        place = places[number % len(places)]
        is_password = rng.random() < 0.5
        name = rng.choice(PASSWORDS if is_password else KEYS)
        kind = rng.choice(_PASSWORD_KINDS if is_password else _KEY_KINDS)
        value = _value(kind, rng)
        parts = name.split("_")
        pascal = "".join(part.title() for part in parts)
        text = PLACES[place].format(
            value=value,
            name=name,
            camel=pascal[0].lower() + pascal[1:],
            pascal=pascal,
            upper=name.upper(),
            kebab=name.replace("_", "-"),
            dotted=name.replace("_", "."),
            title=name.title().replace("_", "-"),
        )
        found.append(Labelled(place, kind, text, value))
    return found
