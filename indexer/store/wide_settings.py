"""Where the cluster is that holds the index of a store too large for a disk: the user's to say, never a project's.

What the section `wide:` may say, extensions/opensearch/settings.py reads; the core only hands it on.
"""

import os

from ctxrank.indexer.extensions import ENGINE, is_in_use, provided
from ctxrank.indexer.light_typing import NamedTuple

ENVIRONMENT = "CTXRANK_WIDE"


class WideSettings(NamedTuple):
    """How a cluster is connected to, and what a new index there is made of."""

    urls: tuple[str, ...]  # scheme://host:port
    user: str = ""
    password_file: str = ""  # whose first line is the password; CTXRANK_WIDE_PASSWORD comes before it
    authority: str = ""  # the file with the certificate that signed the nodes' own; '' is what the system trusts
    shards: int = 1
    replicas: int = 0
    keeps_local: bool = True  # whether the embedded index is kept, too, and answers where the cluster is away

    @property
    def hosts(self) -> str:
        """The nodes, as they are shown."""
        return ", ".join(url.partition("://")[2] for url in self.urls)


def wide_settings(value: object, name: str, *, keeps_local: bool) -> WideSettings | None:
    """What CTXRANK_WIDE says, or else the `wide:` section of the user's file; None where neither says anything.

    Without the extension they are not read: what asks the cluster is refused in words. Raises UsageError for a section
    that is none, an address that is no http(s) one, a password in an address.
    """
    environment = os.environ.get(ENVIRONMENT)
    if environment:
        value, name = {"urls": [url.strip() for url in environment.split(",")]}, f"{ENVIRONMENT}: wide"
    return None if value is None else checked_wide(value, name)._replace(keeps_local=keeps_local)


def checked_wide(value: object, name: str) -> WideSettings:
    """A section as settings; without the extension it is not read, and whoever asks the cluster is refused in words."""
    if not is_in_use("opensearch"):
        return WideSettings(())
    settings: WideSettings = provided(ENGINE, "wide").settings(value, name)
    return settings
