"""What a block says of the code that a finding names, and what its receipt keeps of that."""

from pathlib import Path
from typing import Any

from builders import make_store, write_file
from tables import each_row

from ctxrank.cli.actions.upkeep.indexing import bring_up_to_date
from ctxrank.indexer.clock import DAY_US
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.records.anchors import Anchor
from ctxrank.indexer.records.packages import NewPackage, save_package
from ctxrank.indexer.records.receipts import get_receipt
from ctxrank.ranking.context.assembly.assemble import assemble
from ctxrank.ranking.context.assembly.code_state import ALL_GONE, code_line, phrase
from ctxrank.ranking.context.assembly.shapes import AssembleRequest
from ctxrank.ranking.context.replay import replay_receipt

_SAVED = 1_700_000_000_000_000
_COMMIT = "4f2c9ab1d0e7"


def _anchor(state: str, **other: Any) -> Anchor:
    """An anchor of a function of four lines that is as it was, but for what is given."""
    anchor = Anchor(
        id=1,
        document_id=1,
        kind="name",
        name="load",
        path="src/config.py",
        start_line=4,
        end_line=7,
        fingerprint="",
        commit_id="",
        made_at=_SAVED,
        state=state,
        now_path="src/config.py",
        now_start=4,
        now_end=7,
        differing=0,
        changed_by="",
        changed_at=None,
        held_at=_SAVED,
        size_bytes=0,
        mtime_ns=0,
    )
    return anchor._replace(**other)


@each_row(
    "anchor, said",
    [
        (_anchor("same"), "src/config.py `load` is as it was"),
        (_anchor("gone"), "src/config.py `load` is gone"),
        (_anchor("moved", now_path="src/settings.py", now_start=9), "src/config.py `load` is at src/settings.py:9 now"),
        (_anchor("changed", differing=1), "src/config.py `load` has changed since: 1 of 4 lines"),
        (_anchor("changed", differing=6), "src/config.py `load` has changed since: 6 of 6 lines"),  # it grew
        (
            _anchor("changed", differing=1, now_path="src/new.py"),
            "src/config.py `load` (now in src/new.py) has changed since: 1 of 4 lines",
        ),
        (_anchor("gone", kind="path", name="src/config.py"), "src/config.py is gone"),
        (_anchor("lost", kind="path", name="src/config.py"), "src/config.py is not there any more"),
        (_anchor("gone", kind="line", name="src/config.py:5"), "src/config.py:5 is gone"),
        (_anchor("same", name="n" * 80, path="a\nb"), f"a b `{'n' * 60}...` is as it was"),
    ],
)
def test_what_has_become_of_one_thing(anchor: Anchor, said: str) -> None:
    assert phrase(anchor) == said


@each_row(
    "days, later",
    [
        (-1, "the same day"),
        (0, "the same day"),
        (0.99, "the same day"),
        (1, "a day later"),
        (1.5, "a day later"),
        (2, "2 days later"),
        (30, "30 days later"),
    ],
)
def test_the_commit_is_named_and_how_long_after_the_finding_it_came(days: float, later: str) -> None:
    anchor = _anchor("gone", changed_by=_COMMIT, changed_at=_SAVED + int(days * DAY_US))
    assert phrase(anchor) == f"src/config.py `load` is gone, commit 4f2c9ab1, {later}"


def _names(states: str) -> list[Anchor]:
    return [_anchor(state, kind="path", name=f"{at}.py") for at, state in enumerate(states.split())]


@each_row(
    "states, line",
    [
        ("", ""),
        ("same same", ""),
        ("same gone", "1.py is gone"),
        ("gone changed", "1.py has changed since: 0 of 4 lines; 0.py is gone"),  # the worst first
        ("moved gone same", "1.py is gone; 0.py is at src/config.py:4 now"),
        ("changed gone moved", "0.py has changed since: 0 of 4 lines; 1.py is gone; 1 more like that"),
        ("moved gone moved moved changed", "4.py has changed since: 0 of 4 lines; 1.py is gone; 3 more like that"),
        ("gone", f"{ALL_GONE}; 0.py is gone"),
        ("gone lost", "0.py is gone; 1.py is not there any more"),  # it may be in another file
        ("gone gone", f"{ALL_GONE}; 0.py is gone"),
    ],
)
def test_the_worst_two_of_a_finding_are_named_and_the_others_counted(states: str, line: str) -> None:
    assert code_line(_names(states)) == line


def test_a_receipt_keeps_what_the_block_said_and_a_replay_says_it_again(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        for name in ("load", "parse"):
            write_file(store, f"{name}.py", f"def {name}(path):\n    return path\n")
        index_artifacts(store)
        for text, title in (("`load` in load.py", "Loading"), ("`parse` in parse.py", "Parsing"), ("all", "Neither")):
            new = NewPackage("shop", None, "research", "-", "developer", f"{title} is slow", title=f"{title} is slow")
            save_package(store, new, text=text, create_session=True)
        write_file(store, "parse.py", "# nothing is left of it\n")
        for is_indexed in (False, True):
            if is_indexed:
                bring_up_to_date(store)
            block = assemble(store, AssembleRequest("shop", "developer", task="what is slow"))
            assert [one.id for one in block.packages] == ([3, 1, 2] if is_indexed else [3, 2, 1])
            line = f"{ALL_GONE}; parse.py `parse` is gone" if is_indexed else "parse.py `parse` is not there any more"
            assert block.text.count(f"{line}; matches slow") == 1
            receipt = get_receipt(store.primary, block.receipt or 0)
            rows = [line.split("\t") for line in receipt.inputs["anchors"].split("\n")]
            gone = [str(int(is_indexed)), f"parse {'gone' if is_indexed else 'lost'}", line]
            assert [row[2:] for row in rows] == [["0", "load same", ""], gone]
            write_file(store, "load.py", "# a replay reads the receipt, and not the files\n")
            assert replay_receipt(store, receipt).is_same
            write_file(store, "load.py", "def load(path):\n    return path\n")
