"""`ctxrank team …`: a log made, joined, exchanged with, followed and left."""

import contextlib
import os
from collections.abc import Callable, Generator, Sequence

from ctxrank.cli.call import Call, Reply
from ctxrank.cli.declare import Extended
from ctxrank.cli.output.progress import progress_bar
from ctxrank.cli.sigterm import at_sigterm
from ctxrank.extensions.team import sync as exchange
from ctxrank.extensions.team.log import TeamLog, connect
from ctxrank.extensions.team.schema import prepare
from ctxrank.extensions.team.snapshot import bring_snapshot, write_snapshot
from ctxrank.extensions.team.state import as_json, sentence, unpushed
from ctxrank.extensions.team.sync import Forgetting, Synced, state_of, synchronize
from ctxrank.extensions.team.undo import drop_sealed, sealed_orders, take_back
from ctxrank.extensions.team.watch import LogWatch
from ctxrank.indexer.bounds import ORDER_DAYS
from ctxrank.indexer.clock import DAY_US, format_day, now_us
from ctxrank.indexer.deadline import ENDLESS, QUESTION_S, Deadline
from ctxrank.indexer.exceptions import CtxrankError, LockedError, UsageError
from ctxrank.indexer.store.config import load_config
from ctxrank.indexer.store.connection import put_setting
from ctxrank.indexer.store.known_stores import trust_as_used
from ctxrank.indexer.store.location import TEAM_LOCK
from ctxrank.indexer.store.one_process import holder, only_one
from ctxrank.indexer.store.origins import count_waiting
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.team_log import ENVIRONMENT, SETTING, TeamState, read_state
from ctxrank.indexer.text.lines import one_line

_SHOWN_SKIPPED = 5


def init(call: Call, project: str, machines: tuple[str, ...]) -> Reply:
    """Make the log and a project in it, and admit machines; what is there already stays."""
    dsn = os.environ.get(ENVIRONMENT, "")
    if not dsn:
        raise UsageError(
            f"{ENVIRONMENT} is not set.", "It says how the database's administrator connects: host=… user=postgres"
        )
    made = prepare(dsn, project, machines)
    lines = [
        f"{'Made' if made.is_new else 'There is already'} a team's log; "
        f"{'made' if made.is_new_project else 'there is already'} the project {one_line(project)}"
    ]
    for machine in made.admitted:
        password, code = made.passwords.get(machine), made.codes.get(machine)
        says = f", password {password}" if password else " (a role that was there)"
        lines.append(f"admitted {one_line(machine)}{says}{f', joins with {code}' if code else ''}")
    return Reply(
        lambda: {
            "created": made.is_new,
            "project": project,
            "project_created": made.is_new_project,
            "machines": [(role, made.passwords.get(role), made.codes.get(role)) for role in made.admitted],
        },
        lines,
        notes=made.notes,
        text_notes=(
            *("a password is shown this once: it belongs into that machine's ~/.pgpass.",) * bool(made.passwords),
            *("a code is for one 'ctxrank team join', within a day.",) * bool(made.codes),
        ),
    )


def join(call: Call, project: str, code: str | None, snapshot: str | None) -> Reply:
    """Let this store share a project from now on, and exchange for the first time."""
    with call.open() as store:
        trust_as_used(store)
        with connect(_dsn(store), project) as log:
            head = exchange.join(store, log, code or "")
            taken = None
            if snapshot is not None:
                with progress_bar("importing", call) as advance:
                    taken = bring_snapshot(store, log, snapshot, advance)
            done = _synchronize(call, store, log)
        state = state_of(store)
    lines = [f"Joined {one_line(project)}"]
    if taken is not None:
        lines.append(f"snapshot   {taken.taken} lines taken, {taken.refused} not: the log has others by now")
    more = {} if taken is None else {"snapshot": taken}
    return _synced_reply(done, state, lines, history=head.history, **more)


def sync(call: Call, follow: bool) -> Reply:
    """Exchange with the log and wait for it; 7 where something that was forgotten is still in a file here."""
    if follow:
        return _follow(call)
    with call.open() as store, connected(store) as log:
        done = _synchronize(call, store, log)
        state = state_of(store)
    return _synced_reply(done, state)


def status(call: Call, unconfirmed: bool) -> Reply:
    """How far this store is with the log, from what it knows; nothing is asked over the network."""
    if unconfirmed:
        with call.open() as store, connected(store) as log:
            found = exchange.forgetting(store, log)
            waiting, sealed = count_waiting(store.primary), sealed_orders(store)
        late = [
            f"{one_line(one.machine)}{' (this one)' if one.is_this else ''}: {one.orders} orders,"
            f" {f'seen {one.seen_at}' if one.seen_at else 'never seen'}"
            for one in found.unconfirmed
        ]
        return Reply(
            lambda: {**found._asdict(), "waiting": waiting, "sealed": sealed},
            [
                *(late or [f"forgotten by all {found.machines} machines"]),
                *(f"order {one.order}: sealed until {format_day(one.until)}" for one in sealed),
            ],
            exit_code=LockedError.exit_code if late or waiting else 0,
            notes=(*_unconfirmed_notes(found), *_waiting_notes(waiting)),
        )
    with call.open() as store:
        state = state_of(store)
        waiting = unpushed(store.primary, state)
        process = holder(os.path.join(store.location.folder, TEAM_LOCK))
    lines = [
        f"project   {one_line(state.project)}",
        f"memory    {sentence(state)}",
        f"change    {state.applied} of the log, {state.head} when it was last asked",
        f"outbox    {f'{waiting} changes are not in the log' if waiting else 'empty'}",
        *([f"exchanged by process {one_line(process)}"] if process else []),
        *([f"trouble   {one_line(state.trouble)}"] if state.trouble else []),
    ]
    return Reply(
        lambda: {**as_json(state), "head": state.head, "outbox": waiting, "process": int(process or 0) or None},
        lines,
        outcome="stale" if state.behind or state.trouble else "matched",
    )


def _follow(call: Call) -> Reply:
    """Keep the store in step until SIGTERM (0) or Ctrl-C (130). Raises LockedError where another process does."""
    with call.open() as store:
        state_of(store)
        dsn, lock = _dsn(store), os.path.join(store.location.folder, TEAM_LOCK)

        def told(done: Synced) -> None:
            print(f"pushed {done.pushed}, pulled {done.pulled}, change {done.change}", flush=True)

        watch = LogWatch(store, dsn, told)

        def already(says: str) -> CtxrankError:
            return LockedError(f"Process {says} exchanges with the log already.", "It ends by itself if it is idle.")

        with only_one(lock, str(os.getpid()), already), at_sigterm(watch.stop):
            call.note(f"following {state_of(store).project}; Ctrl-C ends it.")
            watch.run()
    return Reply()


def leave(call: Call) -> Reply:
    """Share no more; what came stays here, and what was written stays in the log."""
    with call.open() as store:
        state = state_of(store)
        trouble = ""
        try:
            with connected(store) as log:
                log.leave()
        except CtxrankError as error:
            trouble = f"the log was not told: {error.message} Its administrator expels the role."
        with store.write() as change:
            put_setting(change.connection, SETTING, "")
    return Reply(
        lambda: {"project": state.project, "told": not trouble},
        [f"Left {one_line(state.project)}"],
        notes=(trouble,) if trouble else (),
        text_notes=("what came from others stays: 'ctxrank purge --origin ID' takes it out.",),
    )


def snapshot(call: Call, file: str) -> Reply:
    """Write the project's lines, sealed as they are in the log, for a new machine."""
    with call.open() as store, connected(store) as log:
        count, change = write_snapshot(log, file)
    return Reply(
        lambda: {"file": file, "lines": count, "change": change},
        [f"Wrote {count} lines up to change {change} to {one_line(file)}"],
        text_notes=("a machine begins with it: 'ctxrank team join PROJECT --snapshot FILE'.",),
    )


@contextlib.contextmanager
def connected(store: Store, deadline: Deadline = ENDLESS) -> Generator[TeamLog, None, None]:
    """The log of a store that has joined one. Raises NotFoundError, UsageError, CtxrankError."""
    project = state_of(store).project
    with connect(_dsn(store), project, deadline) as log:
        yield log


def _dsn(store: Store) -> str:
    dsn = load_config(store).team_dsn
    if not dsn:
        raise UsageError(
            "It is not said where the team's log is.",
            f"Set {ENVIRONMENT}, or team: in your own config.yaml, to a connection string: host=… user=… dbname=…",
        )
    return dsn


def _synchronize(call: Call, store: Store, log: TeamLog) -> Synced:
    with progress_bar("exchanging", call) as advance:
        return synchronize(store, log, advance)


def _synced_reply(done: Synced, state: TeamState, first: Sequence[str] = (), **more: object) -> Reply:
    """What was exchanged, after these lines and with these fields of the answer."""
    skipped = [f"{row.key}: {row.reason}" for report in done.reports for row in report.skipped]
    notes = [*done.notes]
    if not done.is_forgotten:
        notes.append("not yet purged: another process reads the store; 'ctxrank purge' finishes it.")
    if not done.is_erased:
        notes.append("the log's server still has forgotten keys: see 'Forgetting' in docs/team.md.")
    notes += _waiting_notes(done.waiting)
    notes += [*skipped[:_SHOWN_SKIPPED], *([f"{len(skipped)} lines were skipped."] if skipped else [])]
    return Reply(
        lambda: Extended(done, {**as_json(state), "skipped": len(skipped), **more}),
        [*first, f"pushed    {done.pushed}", f"pulled    {done.pulled}", f"memory    {sentence(state)}"],
        exit_code=0 if done.is_forgotten and not done.waiting else LockedError.exit_code,
        notes=tuple(notes),
    )


def purge_notes(call: Call, store: Store) -> tuple[int, int, tuple[str, ...]]:
    """After a purge here: send its orders; how many of how many machines have not confirmed, and what to say.

    (-1, 0, …) where the log cannot be asked: the orders wait in the store.
    """
    drop_sealed(store, now_us() + 2 * ORDER_DAYS * DAY_US)  # what others had forgotten here may be what is purged now
    try:
        with connected(store) as log:
            done = synchronize(store, log)
            if exchange.READER in done.notes:
                return -1, 0, (f"forgotten here alone. {exchange.READER} A machine that writes purges it for all.",)
            found = exchange.forgetting(store, log)
    except CtxrankError as error:
        return -1, 0, (f"not yet forgotten: {error.message} The order is sent as soon as it can be.",)
    return len(found.unconfirmed), found.machines, _unconfirmed_notes(found)


def undo(store: Store, number: str) -> None:
    """Take an order back, and what its store ordered after it. Raises NotFoundError, CtxrankError."""
    with connected(store) as log:
        take_back(store, log, number)


def _unconfirmed_notes(found: Forgetting) -> tuple[str, ...]:
    late = f"{len(found.unconfirmed)} of {found.machines} machines have not confirmed"
    return (f"not yet forgotten: {late} ('ctxrank team status --unconfirmed').",) if found.unconfirmed else ()


def _waiting_notes(waiting: int) -> tuple[str, ...]:
    return (f"orders to forget wait for you: {waiting} ('ctxrank origins pending').",) if waiting else ()


def durably(call: Call, act: Callable[[], Reply]) -> Reply:
    """The reply of what writes, when the log has it; 6 where the log does not answer, and what was written waits.

    Raises UsageError where nothing could acknowledge it, before anything is written.
    """
    with call.open() as store:
        if read_state(store.primary) is None:
            raise UsageError("--durable waits for a team's log, and this store has joined none.", "Leave it out.")
        _dsn(store)
    reply = act()
    try:
        with call.open() as store, connected(store) as log:
            exchange.push(store, log)
    except CtxrankError as error:
        note = f"it is saved here, and not in the team's log yet: {error.message}"
        return reply._replace(exit_code=CtxrankError.exit_code, notes=(*reply.notes, note))
    return reply


def make_fresh(call: Call, store: Store) -> None:
    """Exchange before a search that asked for it; of a log that is away a note speaks.

    The search's deadline holds; what is not exchanged by then, the process in the background exchanges.
    """
    store.deadline = store.deadline or Deadline(QUESTION_S)
    try:
        with connected(store, store.deadline) as log:
            synchronize(store, log)
    except CtxrankError as error:
        call.note(f"{error.message} Searched is what is here.")
