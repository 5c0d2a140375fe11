"""Where the cluster is that holds the index of a store too large for a disk: the user's to say, never a project's.

wide:                                  CTXRANK_WIDE=https://ctxrank@os1:9200,https://os2:9200
  urls: [https://os1:9200, https://os2:9200]
  user: ctxrank
  password_file: ~/.config/ctxrank/wide-password      CTXRANK_WIDE_PASSWORD
  authority: ~/.config/ctxrank/ca.pem                 SSL_CERT_FILE
  shards: 3
  replicas: 1
"""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list

ENVIRONMENT, PASSWORD = "CTXRANK_WIDE", "CTXRANK_WIDE_PASSWORD"
_KEYS = ("urls", "user", "password_file", "authority", "shards", "replicas")
_MOST_COPIES = 1024
_HINT = "Such as {urls: [https://search.example:9200], user: ctxrank}; docs/wide-index.md has every key."


class WideSettings(NamedTuple):
    """How a cluster is connected to, and what a new index there is made of."""

    urls: tuple[str, ...]
    user: str = ""
    password_file: str = ""  # whose first line is the password; CTXRANK_WIDE_PASSWORD comes before it
    authority: str = ""  # the file with the certificate that signed the nodes' own; '' is what the system trusts
    shards: int = 1
    replicas: int = 0
    keeps_local: bool = True  # whether the embedded index is kept, too, and answers where the cluster is away

    @property
    def hosts(self) -> str:
        """The nodes, as they are shown."""
        return ", ".join(urlsplit(url).netloc for url in self.urls)

    def password(self) -> str:
        """The password of `user`. Raises UsageError."""
        given = os.environ.get(PASSWORD)
        if given:
            return given
        if not self.password_file:
            raise UsageError(
                f"The password of {self.user} is not known.", f"Set {PASSWORD}, or wide.password_file in config.yaml."
            )
        try:
            with open(self.password_file, encoding="utf-8") as file:
                return file.readline().rstrip("\r\n")
        except (OSError, UnicodeError) as error:
            raise UsageError(f"{self.password_file} cannot be read: {error}.", "It is wide.password_file.") from error


def wide_settings(value: object, source: str, *, keeps_local: bool) -> WideSettings | None:
    """What CTXRANK_WIDE says, or else the `wide:` section of the user's file; None where neither says anything.

    Raises UsageError for a section that is none, an address that is no http(s) one, a password in an address.
    """
    environment = os.environ.get(ENVIRONMENT)
    if environment:
        value, source = {"urls": [url.strip() for url in environment.split(",")]}, ENVIRONMENT
    return None if value is None else checked_wide(value, source)._replace(keeps_local=keeps_local)


def checked_wide(value: object, source: str) -> WideSettings:
    """A section as settings. Raises UsageError; the message quotes no value that may be a password."""
    if not is_dict(value) or not set(value) <= set(_KEYS):
        raise UsageError(f"{source}: wide is not a section with {', '.join(_KEYS)}.", _HINT)
    urls = value.get("urls")
    user = _text(value, "user", source)
    found: list[str] = []
    for url in urls if is_list(urls) else []:
        parts = urlsplit(str(url))
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
            raise UsageError(f"{source}: one of wide's urls is no address of a node.", _HINT)
        if parts.password is not None:
            raise UsageError(
                f"{source}: a password is in the address of {parts.hostname}.",
                f"It belongs into {PASSWORD}, or into a file that wide.password_file names.",
            )
        user = user or parts.username or ""
        found.append(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")
    if not found:
        raise UsageError(f"{source}: wide has no urls.", _HINT)
    if user and not all(url.startswith("https://") for url in found):
        raise UsageError(f"{source}: a password is sent to https alone, and not all urls are.", _HINT)
    return WideSettings(
        urls=tuple(found), user=user, password_file=_path(value, "password_file", source),
        authority=_path(value, "authority", source), shards=_count(value, "shards", 1, source),
        replicas=_count(value, "replicas", 0, source),
    )  # fmt: skip


def _text(value: Mapping[object, object], key: str, source: str) -> str:
    given = value.get(key, "")
    if not isinstance(given, str):
        raise UsageError(f"{source}: wide's {key} is '{given}'.", _HINT)
    return given


def _path(value: Mapping[object, object], key: str, source: str) -> str:
    return os.path.expanduser(_text(value, key, source))


def _count(value: Mapping[object, object], key: str, least: int, source: str) -> int:
    """A number of shards or copies; `least` is also what it is where nothing is said."""
    given = value.get(key, least)
    if not isinstance(given, int) or isinstance(given, bool) or not least <= given <= _MOST_COPIES:
        raise UsageError(f"{source}: wide's {key} is '{given}'.", f"Give a number from {least} to {_MOST_COPIES}.")
    return given
