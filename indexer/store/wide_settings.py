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
from urllib.parse import SplitResult, urlsplit

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple, is_dict, is_list
from ctxrank.indexer.store.settings import entries, number, text

ENVIRONMENT, PASSWORD = "CTXRANK_WIDE", "CTXRANK_WIDE_PASSWORD"
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


def wide_settings(value: object, name: str, *, keeps_local: bool) -> WideSettings | None:
    """What CTXRANK_WIDE says, or else the `wide:` section of the user's file; None where neither says anything.

    Raises UsageError for a section that is none, an address that is no http(s) one, a password in an address.
    """
    environment = os.environ.get(ENVIRONMENT)
    if environment:
        value, name = {"urls": [url.strip() for url in environment.split(",")]}, f"{ENVIRONMENT}: wide"
    return None if value is None else checked_wide(value, name)._replace(keeps_local=keeps_local)


def checked_wide(value: object, name: str) -> WideSettings:
    """A section as settings. Raises UsageError; the message quotes no value that may be a password."""
    if not is_dict(value):
        raise UsageError(f"{name} is not a section with {', '.join(_FIELDS)}.", _HINT)
    fields = entries(_FIELDS, _HINT)(value, name)
    found: list[str] = []
    for parts in fields.pop("urls", ()):
        fields["user"] = fields.get("user") or parts.username or ""
        found.append(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")
    if not found:
        raise UsageError(f"{name} has no urls.", _HINT)
    if fields.get("user") and not all(url.startswith("https://") for url in found):
        raise UsageError(f"{name}: a password is sent to https alone, and not all urls are.", _HINT)
    return WideSettings(tuple(found))._replace(**fields)


def _urls(value: object, name: str) -> list[SplitResult]:
    urls = [urlsplit(str(url)) for url in (value if is_list(value) else ())]
    for parts in urls:
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
            raise UsageError(f"{name}: one is no address of a node.", _HINT)
        if parts.password is not None:
            raise UsageError(
                f"{name}: a password is in the address of {parts.hostname}.",
                f"It belongs into {PASSWORD}, or into a file that wide.password_file names.",
            )
    return urls


def _path(value: object, name: str) -> str:
    return os.path.expanduser(text(value, name))


_FIELDS = {
    "urls": _urls,
    "user": text,
    "password_file": _path,
    "authority": _path,
    "shards": number(1, 1024),
    "replicas": number(0, 1024),
}
