"""The section `wide:` of the user's file, or the addresses of CTXRANK_WIDE, as settings; and the password they name.

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
from ctxrank.indexer.light_typing import is_dict, is_list
from ctxrank.indexer.store.setting_checks import entries, number, text
from ctxrank.indexer.store.wide_settings import WideSettings

PASSWORD = "CTXRANK_WIDE_PASSWORD"
_HINT = "Such as {urls: [https://search.example:9200], user: ctxrank}; docs/wide-index.md has every key."


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


def password_of(settings: WideSettings) -> str:
    """The password of the settings' user. Raises UsageError."""
    given = os.environ.get(PASSWORD)
    if given:
        return given
    if not settings.password_file:
        raise UsageError(
            f"The password of {settings.user} is not known.", f"Set {PASSWORD}, or wide.password_file in config.yaml."
        )
    try:
        with open(settings.password_file, encoding="utf-8") as file:
            return file.readline().rstrip("\r\n")
    except (OSError, UnicodeError) as error:
        raise UsageError(f"{settings.password_file} cannot be read: {error}.", "It is wide.password_file.") from error


def _urls(value: object, name: str) -> list[SplitResult]:
    try:
        urls = [urlsplit(str(url)) for url in (value if is_list(value) else ())]
        are_nodes = all(parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 for parts in urls)
    except ValueError:  # of a bracket that is not closed, or of what is no port
        urls, are_nodes = [], False
    if not are_nodes or any(parts.path.strip("/") or parts.query for parts in urls):
        raise UsageError(f"{name}: one is no address of a node.", _HINT)
    for parts in urls:
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
