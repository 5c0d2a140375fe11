"""A store: the primary database it writes, and the change log that its consumer reads.

    with open_store() as store:                 # ctxrank.indexer.open_store
        with store.write() as change:
            ...
        store.catch_up()

Writers open the primary database alone. The index has a connection of its own, with the primary attached
read-only where a query sees both, because BEGIN IMMEDIATE locks every attached file that can be written. A Store
serves one thread; open one for each.
"""

import os
from collections.abc import Callable, Generator

import apsw

from ctxrank.indexer.exceptions import CtxrankError, DamagedError, LockedError, UsageError, refused_by_system
from ctxrank.indexer.light_typing import TYPE_CHECKING, Any, cast, contextmanager
from ctxrank.indexer.store.connection import (
    APPLICATION_ID,
    DAMAGED_STEP,
    SCHEMA_VERSION,
    Values,
    busy_timeout_ms,
    immediate,
    open_database,
    opened_stores,
    read_value,
    size_of,
    sqlite_errors,
    translate,
    wait_for_locks,
)
from ctxrank.indexer.store.location import (
    FOLDER,
    PRIMARY_FILE,
    Identity,
    Location,
    at,
    identity_of,
    is_known,
    refuse_unwritable_name,
    untrusted,
)

if TYPE_CHECKING:
    from typing import Protocol, Self

    from ctxrank.indexer.deadline import Deadline
    from ctxrank.indexer.redaction.user_rules import UserRules
    from ctxrank.indexer.store.blocklist import Blocklist
    from ctxrank.indexer.store.config import Config
    from ctxrank.indexer.store.wide_settings import WideSettings

else:
    Protocol = object

# How many changes back an index may be and still be proven to follow this very history.
_CHANGES_MARKED = 1_000_000
# A writer lets the index catch up for about this long: what is left is applied by a later call.
CATCH_UP_AFTER_WRITE_MS = 250

# It hides itself, too: git has nothing to show of a store that has no configuration.
_GITIGNORE = "# The store is local: only its configuration is worth sharing.\n*\n!config.yaml\n"


class Change:
    """One open writing transaction: gives the next numbers of the change log, and knows what may not be written."""

    def __init__(
        self, connection: apsw.Connection, user_rules: "Callable[[], UserRules | None]" = lambda: None
    ) -> None:
        self.connection = connection
        self.user_rules = user_rules  # the configuration's own, which names are checked by
        self._blocklist: Blocklist | None = None
        seq = read_value(connection, "SELECT seq FROM store WHERE id = 1", (), int)
        if seq is None:
            raise DamagedError("The store has lost its counter row.", DAMAGED_STEP)
        self._first = self._seq = seq

    @property
    def blocklist(self) -> "Blocklist":
        """What this transaction may not bring back: whatever writes a new record or a file's path asks it."""
        if self._blocklist is None:
            from ctxrank.indexer.store.blocklist import Blocklist  # noqa: PLC0415  a query writes nothing

            self._blocklist = Blocklist(self.connection)
        return self._blocklist

    def next_seq(self) -> int:
        """The number of the next change; written back when the transaction commits."""
        self._seq += 1
        return self._seq

    def finish(self) -> None:
        """Write the counter back and mark this point of the log."""
        if self._seq == self._first:
            return
        self.connection.execute("UPDATE store SET seq = ? WHERE id = 1", (self._seq,))
        mark = int.from_bytes(os.urandom(7), "big")
        self.connection.execute("INSERT INTO history_checkpoints (seq, history_id) VALUES (?, ?)", (self._seq, mark))
        self.connection.execute("DELETE FROM history_checkpoints WHERE seq < ?", (self._seq - _CHANGES_MARKED,))


class IndexConsumer(Protocol):
    """What a store knows of its index: a consumer of the change log, registered when the store is opened."""

    def catch_up(self, bound_ms: int | None, wait_ms: int) -> int:
        """Apply what is missing of the change log; returns how many changes are still missing."""
        ...

    def close(self) -> None:
        """Close what is open; the next call opens it again."""


class Store:
    """An open store. `primary` is the writing connection; the index is opened when first asked for."""

    def __init__(
        self,
        location: Location,
        primary: apsw.Connection,
        busy_ms: int,
        consumer_of: "Callable[[Store], IndexConsumer] | None" = None,
    ) -> None:
        self.location = location
        self.primary = primary
        self.busy_ms = busy_ms
        self._consumer_of = consumer_of
        self._consumer: IndexConsumer | None = None
        # Where a store that is closed stays open for the next call: StorePool.
        self.give_back: Callable[[Store], None] | None = None
        # What is told when a store of a team is closed: the process that exchanges with the log may have to be started.
        self.before_close: Callable[[Store], None] | None = None
        self.last_config: Any = None  # the Config that `load_config` read last
        self.other_engine: Any = None  # what asks the cluster, and is closed with the store
        # Of all that is asked of others while the store is open; None: each question has its own.
        self.deadline: Deadline | None = None
        self.question: object = None  # which one is asked, where it has several parts

    @property
    def config(self) -> "Config":
        """The settings as they were read last, now where nothing has asked yet; what cannot be read is default.

        Whatever depends on a setting calls `load_config`, which raises there.
        """
        from ctxrank.indexer.store.config import Config, load_config  # noqa: PLC0415  start-up: some calls need none

        if self.last_config is None:
            try:
                load_config(cast("Any", self))
            except UsageError:
                self.last_config = Config()
        return cast("Config", self.last_config)

    @property
    def wide(self) -> "WideSettings | None":
        """The cluster that searches ask instead of the index."""
        return self.config.asked_cluster

    @contextmanager
    def write(self) -> Generator[Change, None, None]:
        """One short transaction on the primary database; its changes enter the log when it ends.

        Raises LockedError after the busy timeout, and where a secret was purged since the settings were read: what is
        written may have been redacted without it. CtxrankError where the disk refuses.
        """
        with sqlite_errors(self.location.primary), immediate(self.primary):
            self._refuse_outdated()
            change = Change(self.primary, lambda: self.config.redaction_mode.rules)
            yield change
            change.finish()

    def _refuse_outdated(self) -> None:
        rules = self.last_config and self.last_config.redaction_mode.rules
        secrets = read_value(self.primary, "SELECT count(*) FROM blocklist WHERE kind = 'secret'", (), int) or 0
        if self.last_config and secrets > len(rules.blocked if rules else ()):
            self.last_config = None
            raise LockedError("A secret was purged while this was prepared: nothing was stored.", "Try again.")

    def write_if_free(self, query: str, values: Values) -> None:
        """Run one statement, which may as well be left out: where the store is locked or cannot be written, it is."""
        wait_for_locks(self.primary, 0)
        try:
            with self.write() as change:
                change.connection.execute(query, values)
        except CtxrankError:
            pass
        finally:
            wait_for_locks(self.primary, self.busy_ms)

    def last_seq(self) -> int:
        """The number of the last change that this connection sees."""
        return read_value(self.primary, "SELECT seq FROM store", (), int) or 0

    @property
    def consumer(self) -> IndexConsumer:
        """The index, as far as a store knows of it."""
        if self._consumer is None:
            assert self._consumer_of is not None, "a store without an index was asked for it"
            self._consumer = self._consumer_of(self)
        return self._consumer

    @property
    def keeps_index(self) -> bool:
        """Whether the embedded index is kept: not where a cluster answers and FTS5 is switched off."""
        return self.wide is None or self.wide.keeps_local

    def catch_up(self, bound_ms: int | None = None, wait_ms: int = 0) -> int:
        """Let the index catch up with the change log; returns how many changes are still missing.

        Never fails because of the index. With a bound it stops after about that time, and waits for the
        index's lock `wait_ms` at most: what is not applied now is applied by a later call, or by the process that is
        at it. Raises CtxrankError where the primary database cannot be read.
        """
        return self.consumer.catch_up(bound_ms, wait_ms) if self.keeps_index else 0

    @contextmanager
    def one_question(self) -> Generator[None, None, None]:
        """What is asked in the block is one question, which waits for others once; part of a larger one, if any."""
        outer = self.question
        self.question = outer or object()
        try:
            yield
        finally:
            self.question = outer

    def close(self) -> None:
        """Close both connections, or give them back to the pool that they are of."""
        if self.before_close is not None and self.last_config is not None and self.last_config.team_log is not None:
            self.before_close(self)
        if self.give_back is not None:
            self.give_back(self)
        else:
            self.close_connections()

    def close_connections(self) -> None:
        """Close both connections, of whichever pool they are."""
        if self._consumer is not None:
            self._consumer.close()
        if self.other_engine is not None:
            self.other_engine.close()
        self.primary.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:  # what it was left in is not looked into
            self.close_connections()


def make_folder(folder: str, root: str | None) -> Location:
    """Make `folder/.ctxrank`, private to its owner, if it is not there already; returns where its store is."""
    from contextlib import suppress  # noqa: PLC0415  a new store only

    from ctxrank.indexer.systems import sync_path  # noqa: PLC0415  as above

    home = os.path.join(os.path.abspath(folder), FOLDER)
    refuse_unwritable_name(home)
    if os.path.islink(home):
        raise CtxrankError(
            f"{home} is a link: no store is made through it.", "Remove it, or make the store where it leads to."
        )
    with refused_by_system(f"{home} cannot be made", "Check the permissions."):
        if not os.path.isdir(home):
            os.makedirs(home, mode=0o700, exist_ok=True)
            with suppress(OSError):  # some systems cannot; one may write into a folder that one may not read
                sync_path(os.path.dirname(home))  # SQLite does so for its own files, in their folder
        if not os.path.exists(os.path.join(home, PRIMARY_FILE)):
            os.chmod(home, 0o700)  # git made it, with a configuration
        ignore = os.path.join(home, ".gitignore")
        with suppress(FileExistsError):  # also of another process that begins at the same moment
            descriptor = os.open(ignore, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:
                file.write(_GITIGNORE)
    return at(os.path.join(home, PRIMARY_FILE), root)


def open_at(
    location: Location,
    consumer_of: Callable[[Store], IndexConsumer],
    busy_ms: int | None,
    *,
    create: bool = False,
    announce: Callable[[Identity, str], None] | None = None,
) -> Store:
    """Open the store at a location; one that is made is announced. Raises DamagedError, LockedError, UntrustedError."""
    wait = busy_timeout_ms() if busy_ms is None else busy_ms
    _refuse_emptied(location)
    primary = open_database(location.primary, busy_ms=wait, create=create, check=_refuse_foreign)
    try:
        is_made = _bring_up_to_date(primary, location.primary, announce)
        if location.must_prove and not is_made:
            prove(primary, location.primary)
    except BaseException:
        primary.close()
        raise
    opened_stores[location.primary] = None
    # What a statement would have to take back stays in memory: in a file it took a twentieth of an index run.
    primary.pragma("temp_store", 2)
    return Store(location, primary, wait, consumer_of)


def _refuse_emptied(location: Location) -> None:
    """A file of no bytes becomes a store, unless an index says that there was one: it was cut off then."""
    if os.path.isfile(location.primary) and not size_of(location.primary) and os.path.exists(location.index_file):
        raise DamagedError(
            f"{location.primary} is empty, but its index is there.",
            f"Restore it from a backup ({location.folder}/backups has what 'ctxrank doctor' kept);"
            f" to start with an empty store, delete {location.index_file}. 'ctxrank doctor' says more.",
        )


def _refuse_foreign(primary: apsw.Connection) -> None:
    from ctxrank.indexer.store.migrations import checked_version  # noqa: PLC0415  start-up: old files only

    checked_version(primary, primary.filename)


def strange_part(primary: apsw.Connection) -> str:
    """What ctxrank did not make and what runs when a table is only read or written; '' for nothing."""
    query = """
        SELECT type, name FROM sqlite_schema
         WHERE type = 'view' OR (type = 'table' AND rootpage = 0)
            OR (type = 'trigger' AND name <> 'error_signatures_removed' AND name NOT GLOB 'logged_[a-z]*')
    """
    found = primary.execute(query).fetchone()
    return "" if found is None else f"the {found[0]} '{found[1]}'"


def _refuse_strange(primary: apsw.Connection, path: str) -> None:
    """A store may come with another user's files."""
    strange = strange_part(primary)
    if strange and primary.pragma("application_id") == APPLICATION_ID:
        raise DamagedError(
            f"{path} holds {strange}, which ctxrank did not make.",
            "Another program made or changed it: restore it from a backup, or move it away.",
        )


def prove(primary: apsw.Connection, path: str) -> None:
    """Ask a store that is open who it is: its file alone did not say. Raises UntrustedError."""
    if not is_known(identity_of(primary)):
        raise untrusted(path)


def _bring_up_to_date(primary: apsw.Connection, path: str, announce: Callable[[Identity, str], None] | None) -> bool:
    """Bring a file to the present schema; returns whether a store was made of it, which was none before."""
    try:
        _refuse_strange(primary, path)
        if (primary.pragma("user_version"), primary.pragma("application_id")) == (SCHEMA_VERSION, APPLICATION_ID):
            return False
        from ctxrank.indexer.store.migrations import migrate  # noqa: PLC0415  start-up: old files only

        return migrate(primary, path, announce=announce)
    except apsw.Error as error:
        raise translate(error, path) from error
