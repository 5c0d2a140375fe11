"""A page of frozen answers shows what changed, also of an answer that it keeps as a digest."""

from pathlib import Path

from frozen_page import FrozenPage

SHORT = "$ ctxrank status\nexit 0\n--- stdout\nfine\n"
LONG = "$ ctxrank search x\nexit 0\n--- stdout\n" + "".join(f"hit {number}\n" for number in range(100))
CHANGED = LONG.replace("hit 7\n", "another hit\n")


def test_a_changed_crossing_is_named_and_its_change_shown(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    first = FrozenPage(page, [SHORT, LONG, SHORT], set())
    first.write()
    assert SHORT in page.read_text() and "hit 7" not in page.read_text()
    unseen = FrozenPage(page, [SHORT, CHANGED, SHORT], set()).changes(tmp_path)
    assert unseen[0] == "$ ctxrank search x" and "    +another hit" in unseen
    first.keep(tmp_path)
    assert FrozenPage(page, [SHORT, LONG, SHORT], set()).changes(tmp_path) == []
    known = FrozenPage(page, [SHORT, CHANGED, SHORT], set()).changes(tmp_path)
    assert known[0] == "$ ctxrank search x"
    assert known[2:] == ["     hit 6", "    -hit 7", "    +another hit", "     hit 8"]


def test_an_answer_in_full_differs_by_a_last_empty_line_too(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    FrozenPage(page, [LONG, SHORT], {0}).write()
    longer = FrozenPage(page, [LONG + "\n", SHORT], {0})
    assert longer.changes(tmp_path) and not longer.is_as_written()
