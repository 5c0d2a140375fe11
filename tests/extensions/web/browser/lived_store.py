"""A store with a history: the demonstration store, a runner's conversation, a colleague's findings, code that moved on.

Nothing in it is older than a week but what the demonstration store has, so `since:7d` finds something.
"""

import contextlib
import io
import tempfile
from pathlib import Path

from builders import make_store, save
from demo_store import demo_store
from exported import bring, exported_bytes, uuid_of
from runner_events import Runner

from ctxrank.cli.main import run
from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.exchange.decisions import decide
from ctxrank.indexer.exchange.orders import FORGET, Order, enter
from ctxrank.indexer.opening import open_store

DECISION = "Refunds are booked as entries of their own, because a changed payment cannot be audited"
DRIFTED = "The function `settle` in payments/settle.py rounds every line and not the sum"
TOLD = "The bank answers a settlement only on working days"
CONVERSATION = "why do refunds of the night shift fail?"
FREQUENT = "TimeoutError: the bank did not answer in 30 s"
_FIX = "edit payments/bank.py: `timeout=30` → `timeout=120`, then run `make settle`"
_CODE = "def settle(lines):\n    return {amounts}\n"


def lived_store(folder: Path) -> Path:
    """Fill a folder; returns the store's file."""
    primary = demo_store(folder)
    here = ["--db", str(primary), "--root", str(folder), "-q"]

    def told(*words: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            assert run([*here, *words]) in (0, 1), words

    code = folder / "payments" / "settle.py"
    code.parent.mkdir()
    code.write_text(_CODE.format(amounts="sum(round(line, 2) for line in lines)"))
    told("index")
    first = Runner(folder, "6f1c0f8e-21d4-4c55-9a53-0f4f0a3b8a11")
    first.prompt(CONVERSATION)
    first.fails(
        "make settle", f'Traceback (most recent call last):\n  File "payments/bank.py", line 41, in ask\n{FREQUENT}\n'
    )
    first.stops(f"## Decisions\n\n{DECISION}.\n\n## Risks\n\nThe night shift still books by hand until Friday.")
    told("save", f"{DECISION}.", "--session", "shop-2026-11", "--type", "decisions", "--priority", "high")
    told("save", f"{DRIFTED}.", "--session", "shop-2026-11", "--type", "investigation")
    type_, _, message = FREQUENT.partition(": ")
    for session in ("shop-2026-10", "shop-2026-11", "shop-2026-11", "shop-2026-11"):
        told("error", "match", "--type", type_, "--message", message, "--session", session)
    told("error", "save", "--type", type_, "--message", message, "--solution", _FIX)
    for session in ("shop-2026-10", "shop-2026-11"):
        told("error", "match", "--type", type_, "--message", message, "--session", session)
    code.write_text(_CODE.format(amounts="round(sum(lines), 2)"))
    told("index")
    asked = ("--session", "shop-2026-11", "--agent", "developer", "--task", "refunds at night")
    for budget in ("500", "2400"):
        told("assemble", *asked, "--budget", budget)
    _bring_colleague(primary)
    told("index")
    return primary


def _bring_colleague(primary: Path) -> None:
    """Take in what a colleague's store exported, and two of her orders: one waits for a person, one was carried out."""
    with (
        tempfile.TemporaryDirectory() as elsewhere,
        make_store(Path(elsewhere)) as anna,
        open_store(str(primary)) as store,
    ):
        save(anna, "notes/bank.md", f"# The bank\n\n{TOLD}, says its support.\n", session="bank", group=None,
             type="research", summary=f"{TOLD}.", created_at=now_us() - 3 * DAY_US)  # fmt: skip
        bring(store, exported_bytes(anna))
        with store.write() as change:
            decide(change, uuid_of(anna), "accepted", "person", "anna")
            enter(change, Order(uuid_of(anna), FORGET, "path", "0" * 32, ""), "file", 12, is_obeyed=False)
            enter(change, Order(uuid_of(anna), FORGET, "session", "1" * 32, ""), "log", 3, is_obeyed=True)
