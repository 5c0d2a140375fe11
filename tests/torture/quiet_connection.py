"""A connection that closes as SQLite's own does, also where its file system is written in Python.

apsw.Connection = QuietConnection
"""

import contextlib

import apsw


class QuietConnection(apsw.Connection):
    """SQLite says nothing of what fails while it closes (whoever only reads may not lock a file to merge its log, say);
    exceptions of a file system in Python come out even so.
    """

    def close(self, force: bool = False) -> None:
        with contextlib.suppress(apsw.Error):
            super().close(force)
