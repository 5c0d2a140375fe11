"""Values that stand after a name which says what they are: code, configuration, commands, headers, queries.

    client_secret: "…"      DB_PASSWORD=…      <apiKey>…</apiKey>      ?access_token=…      X-Api-Key: …

Names, places and kinds of value are crossed at random, the same for the same seed.
"""

import json
import random
import string
from pathlib import Path
from typing import Any, NamedTuple

_ALNUM = string.ascii_letters + string.digits
# Words; names of passwords and of keys in snake case, which a place writes as is usual there; places by name; and
# links, what stands between a name and a value. A password's name takes any kind of value, a key's takes a key.
MADE_OF: dict[str, Any] = json.loads(Path(__file__).with_name("made_of.json").read_text("utf-8"))
_PLACES: dict[str, str] = MADE_OF["places"]
_WORDS: list[str] = MADE_OF["words"]


class Labelled(NamedTuple):
    """A text in which `value` follows a name."""

    place: str
    kind: str
    text: str
    value: str


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
    places = list(_PLACES)
    found: list[Labelled] = []
    for number in range(count):
        place = places[number % len(places)]
        is_password = rng.random() < 0.5
        name = rng.choice(MADE_OF["passwords" if is_password else "keys"])
        kind = rng.choice(_PASSWORD_KINDS if is_password else _KEY_KINDS)
        value = _value(kind, rng)
        parts = name.split("_")
        pascal = "".join(part.title() for part in parts)
        text = _PLACES[place].format(
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
