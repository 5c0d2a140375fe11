"""A store and its team's log brought in step: what is new here is pushed, what others wrote is pulled.

    with connect(dsn, state.project) as log:
        synced = synchronize(store, log)        Synced(pushed=3, pulled=12, …)

A line of the log is a line of an export, so a push is an export since the last one and a pull an import of the others'
lines. The outbox is the store's own record log: what was written stays there until the log has it, whatever is killed.
"""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence

from ctxrank.extensions.team.log import Head, LogLine, Member, Pushed, TeamLog
from ctxrank.extensions.team.sealing import Register, Sealed, mark_of, seal, unseal
from ctxrank.extensions.team.state import write_state
from ctxrank.extensions.team.undo import Sealer, drop_sealed
from ctxrank.indexer.bounds import MAX_RECORD_BYTES
from ctxrank.indexer.clock import now_us
from ctxrank.indexer.exceptions import CtxrankError, NotFoundError
from ctxrank.indexer.exchange.exchange import Exchange
from ctxrank.indexer.exchange.export import END, export_lines, last_number
from ctxrank.indexer.exchange.kinds.usages import USAGE
from ctxrank.indexer.exchange.lines import BATCH_BYTES, BadLine, Line, parse_line
from ctxrank.indexer.exchange.orders import FORGET, REMOVED, has_unfulfilled
from ctxrank.indexer.exchange.register import COUNTED
from ctxrank.indexer.exchange.run import ImportReport
from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.privacy.erase import backups_of, is_erasing_due
from ctxrank.indexer.privacy.purge import finish_forgetting
from ctxrank.indexer.redaction.ruleset import RULESET_VERSION
from ctxrank.indexer.store.ids import own_uuid
from ctxrank.indexer.store.origins import count_waiting
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.store.team_log import TeamState, read_state

_SPOKEN_OF = ", ".join(f"'{kind}'" for kind in (*sorted(COUNTED), USAGE))
_ROUNDS = 3  # carrying out an order changes records of ours, which are pushed in the same call
# Of what all stores have one of: what follows from everybody's counts is no news from this one.
_DERIVED = ("state", "bazinga_confidence", "created_at", "last_seen")
READER = "What was written here stays here: the role reads the project, and does not write."
_PUSH_ROWS, _PUSH_BYTES = 500, 8 * 1024 * 1024

Told = Callable[[int, int], None]


class Synced(NamedTuple):
    """What was exchanged: lines, and what became of them here. `is_forgotten`: all orders are carried out, but for
    those that wait for a person here (`waiting`).

    `is_erased` is false where the log's server keeps forgotten keys in its write-ahead log.
    """

    pushed: int
    pulled: int
    change: int
    is_forgotten: bool
    is_erased: bool
    reports: tuple[ImportReport, ...]
    notes: tuple[str, ...]
    waiting: int = 0


class _Outgoing(NamedTuple):
    """A line of our export: what it is the state of, what it says, and whose record it orders to forget."""

    register: Register
    seq: int
    text: bytes
    said: bytes
    is_order: bool
    gone: Register | None


def state_of(store: Store) -> TeamState:
    """How far the store is. Raises NotFoundError for one that has joined no log."""
    state = read_state(store.primary)
    if state is None:
        raise NotFoundError("This store has joined no team.", "Join one: 'ctxrank team join PROJECT'.")
    return state


def synchronize(store: Store, log: TeamLog, told: Told | None = None, *, is_erasing: bool = True) -> Synced:
    """Push, pull, and push what carrying out orders to forget has changed. Raises CtxrankError, LockedError.

    With `is_erasing` what an earlier call could not erase, because another process read the store, is tried again.
    Killed at any instant, the next one goes on: a line that comes twice changes nothing.
    """
    pushed, pulled, must_erase = 0, 0, False
    reports, notes = list[ImportReport](), list[str]()
    for _ in range(_ROUNDS):
        head = log.head()
        count, erases, left_out = _push(store, log, head, _begin(store, head))
        pushed, must_erase = pushed + count, must_erase or erases
        notes += left_out
        # What was just pushed has numbers, too: up to them nothing is missing.
        came, brought = _pull(store, log, log.head() if count else head, told)
        pulled += came
        reports += brought
        if not head.may_write or _skip_foreign(store, head.history, state_of(store).pushed):
            break
    has_orders = any(FORGET in report.counts or REMOVED in report.counts for report in reports)
    is_erased = log.erase() if must_erase or has_orders else True
    drop_sealed(store, now_us())
    if is_erasing and is_erasing_due(store.primary) and not backups_of(store):
        finish_forgetting(store)
    is_forgotten = not is_erasing_due(store.primary)
    state = state_of(store)
    has_forgotten = is_forgotten and not has_unfulfilled(store.primary)
    log.report(state.applied, state.applied if has_forgotten else 0)
    waiting = count_waiting(store.primary)
    return Synced(pushed, pulled, state.applied, is_forgotten, is_erased, tuple(reports), tuple(notes), waiting)


def push(store: Store, log: TeamLog) -> int:
    """Push alone; returns how many lines. Raises CtxrankError, also where the role may not."""
    head = log.head()
    if not head.may_write:
        raise CtxrankError(READER, "The log's administrator admits a role that writes: 'ctxrank team init'.")
    pushed, must_erase, _ = _push(store, log, head, _begin(store, head))
    if must_erase:
        log.erase()
    return pushed


def note_trouble(store: Store, trouble: str) -> None:
    """Keep why the log did not answer, for `status`."""
    _change_state(store, lambda state: state._replace(trouble=trouble))


def advance(store: Store, history: str, **to: int) -> None:
    """Note how far the store is; another process may have come further."""

    def advanced(state: TeamState) -> TeamState:
        fields = {name: max(number, getattr(state, name)) for name, number in to.items()}
        return state._replace(**fields) if state.history == history else state

    _change_state(store, advanced)


def _begin(store: Store, head: Head) -> TeamState:
    """Where to go on; from the start where the log follows another history than the one that the numbers are of."""

    def begun(state: TeamState) -> TeamState:
        if state.history != head.history or state.applied > head.n:
            state = TeamState(state.project, head.history, pushed=0 if state.history else state.pushed)
        return state._replace(head=head.n, trouble="")

    _change_state(store, begun)
    return state_of(store)


def _change_state(store: Store, new_of: Callable[[TeamState], TeamState]) -> None:
    with store.write() as change:
        state = read_state(change.connection)
        if state is not None and (new := new_of(state)) != state:
            write_state(change, new)


def _push(store: Store, log: TeamLog, head: Head, state: TeamState) -> tuple[int, bool, list[str]]:
    """Push what changed since the last time; how many lines, whether keys are to be erased, and what was left out."""
    if _skip_foreign(store, head.history, state.pushed):
        return 0, False, []
    if not head.may_write:
        return 0, False, [READER]
    own = own_uuid(store.primary)
    count, last, must_erase, notes = 0, 0, False, list[str]()
    # Its lines are of one snapshot, which ends with it: until then nothing is written here.
    with contextlib.closing(export_lines(store, since=state.pushed)) as lines:
        reached = int(str(json.loads(next(lines))["seq"]))
        for portion in _portions(_outgoing(line, own) for line in lines):
            sealed, left_out = _sealed(log, head, portion)
            notes += left_out
            gone = [one.gone for one in portion if one.gone is not None]
            if sealed or gone:
                last = log.push(sealed, gone)
            count += len(sealed)
            must_erase = must_erase or any(one.is_order for one in portion)
    advance(store, head.history, pushed=reached, head=last)
    return count, must_erase, notes


def _skip_foreign(store: Store, history: str, pushed: int) -> bool:
    """Whether nothing after this number is ours to say: what others made is passed over without an export.

    A record of another store is ours to speak of where we count it, use it, or removed it.
    """
    last = last_number(store.primary)
    query = f"""
        SELECT 1 FROM record_log WHERE seq > ? AND seq <= ? AND (number > 0 OR gone > 0 OR kind IN ({_SPOKEN_OF}))
         LIMIT 1
    """
    if store.primary.execute(query, (pushed, last)).fetchone() is not None:
        return False
    if last > pushed:
        advance(store, history, pushed=last)
    return True


def _outgoing(text: str, own: str) -> _Outgoing | None:
    """A line of our own export as the log takes it; None for its end."""
    values = dict(json.loads(text))
    record, seq = str(values["record"]), int(values.pop("seq", 0))
    if record == END:
        return None
    own_words = {name: value for name, value in values.items() if record not in COUNTED or name not in _DERIVED}
    said = json.dumps(own_words, sort_keys=True).encode()
    number, of = str(values.get("id", "")), str(values.get("of", "") or "")
    key = str(values["digest"]) if record == FORGET else f"{number}@{of}" if of else number
    register = Register(_kind_of(record, values), key, own)
    gone = Register(str(values["kind"]), number, of or own) if record == REMOVED else None
    return _Outgoing(register, seq, text.encode(), said, record in (FORGET, REMOVED), gone)


def _kind_of(record: str, values: dict[str, object]) -> str:
    """The kind of the register of a line."""
    if record == FORGET or (record == REMOVED and "of" in values):
        return f"{record} {values.get('kind')}"
    return str(values.get("kind")) if record == REMOVED else record


def _portions(lines: Iterator[_Outgoing | None]) -> Iterator[list[_Outgoing]]:
    """As many as one transaction of the log takes, each register once: the last line counts."""
    portion: dict[Register, _Outgoing] = {}
    size = 0
    for line in lines:
        if line is None:
            continue
        portion[line.register] = line
        size += len(line.text)
        if len(portion) >= _PUSH_ROWS or size >= _PUSH_BYTES:
            yield list(portion.values())
            portion, size = {}, 0
    if portion:
        yield list(portion.values())


def _sealed(log: TeamLog, head: Head, portion: Sequence[_Outgoing]) -> tuple[list[Pushed], list[str]]:
    """The lines that say something else than what the log has from us; and what is too large for it."""
    known = log.known(head.id, [line.register for line in portion])
    sealed: list[Pushed] = []
    notes: list[str] = []
    for line in portion:
        before = known.get(line.register)
        if before is not None and mark_of(before[0], line.said) == before[1]:
            continue  # what others counted of it was added here: no news to them
        one = seal(log.project, line.register, line.text)
        if max(len(line.text), len(one.line)) > MAX_RECORD_BYTES:
            name = f"the {line.register.kind} {line.register.key}"
            notes.append(f"{name} stays here: the log takes {MAX_RECORD_BYTES // (1024 * 1024)} MiB of a record.")
            continue
        mark, (kind, key, _) = mark_of(one.secret, line.said), line.register
        sealed.append(Pushed(kind, key, line.seq, RULESET_VERSION, line.is_order, one.line, one.secret, mark, one.size))
    return sealed, notes


def _pull(store: Store, log: TeamLog, head: Head, told: Told | None) -> tuple[int, list[ImportReport]]:
    """Bring in what others wrote up to the head, and later where it is there already."""
    own, applied = own_uuid(store.primary), state_of(store).applied
    first, pulled, reports = applied, 0, list[ImportReport]()
    exchange: Exchange | None = None
    sealer = Sealer(store)
    try:
        while lines := log.lines(head.id, applied, own):
            if exchange is None:
                exchange = Exchange(store, own, door="log", sealer=sealer)
            sealer.note(lines)
            bring(exchange, log.project, lines, lambda n: advance(store, head.history, applied=n, head=n))
            pulled += len(lines)
            applied = lines[-1].n
            if told is not None:
                told(applied - first, max(head.n - first, applied - first))
    finally:
        if exchange is not None:  # what came in is searchable, also where the connection broke
            reports.append(exchange.finish())
    advance(store, head.history, applied=max(applied, head.n), asked_at=now_us())
    return pulled, reports


def bring(exchange: Exchange, project: str, lines: Sequence[LogLine], done: Callable[[int], None]) -> None:
    """Bring in lines of the log; what does not open or is no record is reported.

    So many are unpacked at once as an import takes at once, and `done` is called with the number of the last of them:
    whatever a line unpacks to, it costs its memory alone, and its time once.
    """
    batch: list[Line | BadLine] = []
    size = 0
    for line in lines:
        found = _incoming(project, line)
        if found is not None:
            batch.append(found)
            size += found.size_bytes if isinstance(found, Line) else 0
        if size >= BATCH_BYTES or line is lines[-1]:
            exchange.bring(batch, lambda batch: None)
            done(line.n)
            batch, size = [], 0


def _incoming(project: str, line: LogLine) -> Line | BadLine | None:
    """A line as an import takes it; None for one that is forgotten. Whose it is says the log, not the line."""
    if line.secret is None:
        return None
    try:
        text = unseal(project, line.register, Sealed(line.secret, line.line, line.size))
        values = dict(parse_line(text))
    except ValueError as error:
        return BadLine(line.n, str(error))
    record = values.get("record")
    if not isinstance(record, str) or _kind_of(record, values) != line.register.kind:
        return BadLine(line.n, "it is not the record that it stands for")
    values["origin"] = line.register.origin
    if record == FORGET:
        values["key"] = line.register.origin
    return Line(line.n, record, values, len(text), f"change {line.n}")


def forgetting(store: Store, log: TeamLog) -> "Forgetting":
    """Which machines have not carried out all orders yet. Raises CtxrankError."""
    members = log.members(log.head().id, own_uuid(store.primary))
    return Forgetting(len(members), tuple(one for one in members if one.orders))


class Forgetting(NamedTuple):
    """How many machines take part, and which of them have not carried out all orders to forget."""

    machines: int
    unconfirmed: tuple[Member, ...]


def join(store: Store, log: TeamLog, code: str = "") -> Head:
    """Become a member: the role speaks for this store from now on. Raises CtxrankError, LockedError."""
    state = read_state(store.primary)
    if state is not None and state.project != log.project:  # first: the log would wait for what this machine confirms
        raise CtxrankError(f"This store shares {state.project} already.", "Leave that first: 'ctxrank team leave'.")
    log.join(own_uuid(store.primary), code)
    head = log.head()
    with store.write() as change:
        write_state(change, read_state(change.connection) or TeamState(log.project, head.history, head=head.n))
    return head
