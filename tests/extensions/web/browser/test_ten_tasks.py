"""Ten things that one opens the page for, each from the first view: so many views are opened, and none twice."""

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: 'make test-web' does that")
pytest.importorskip("jinja2", reason="the extra web is not installed")

from lived_store import CONVERSATION, DECISION, DRIFTED, FREQUENT, TOLD, lived_store
from playwright.sync_api import Page, expect, sync_playwright
from server import admitted, serve, start_browser, visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_MOST_VIEWS = 3


class Walk:
    """A way through the page by what is written on it; `views` were opened one after another."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.views: list[str] = []

    def menu(self, name: str) -> None:
        """Choose a view of the menu."""
        self._opened(self.page.locator("nav").get_by_role("link", name=name).click)

    def follow(self, name: str, *, exact: bool = False) -> None:
        """Follow the first link of this name."""
        self._opened(self.page.locator("main").get_by_role("link", name=name, exact=exact).first.click)

    def press(self, name: str) -> None:
        """Press the first button of this name."""
        self._opened(self.page.locator("main").get_by_role("button", name=name).first.click)

    def ask(self, words: str) -> None:
        """Search."""
        self.page.get_by_label("Search").fill(words)
        self.page.wait_for_url(lambda url: "q=" in url)
        self.views.append(self.page.url)
        self.reads(f"Findings for “{words}”")

    def reads(self, *texts: str) -> None:
        """What is wanted is written in the view."""
        for text in texts:
            expect(self.page.locator("main")).to_contain_text(text)

    def _opened(self, act: Callable[[], None]) -> None:
        with self.page.expect_navigation(wait_until="networkidle"):
            act()
        self.views.append(self.page.url)


def _why_left_out(walk: Walk) -> None:
    walk.menu("Receipts")
    walk.follow("6", exact=True)
    walk.reads("Left out or shortened", "too little of the task is in it, and no place is free")


def _what_fixed_this(walk: Walk) -> None:
    walk.ask("the bank did not answer")
    walk.follow(FREQUENT)
    walk.reads("What fixed it", "timeout=120")


def _what_the_next_agent_gets(walk: Walk) -> None:
    walk.menu("Blocks")
    walk.reads("The next block of", "As the agent reads it", "Reference data from earlier work")


def _the_decision_of_last_week(walk: Walk) -> None:
    walk.follow("type:decisions since:7d")
    walk.follow(DECISION[:60])
    walk.reads(DECISION)


def _what_has_drifted(walk: Walk) -> None:
    walk.reads("Findings whose code has changed")
    walk.follow(DRIFTED, exact=False)
    walk.reads("Code that it names", "settle", "changed")


def _two_receipts(walk: Walk) -> None:
    walk.menu("Receipts")
    walk.page.get_by_label("Receipt 5 as the one").check()
    walk.page.get_by_label("Receipt 6 as the other").check()
    walk.press("Compare")
    walk.reads("Receipt 5 beside receipt 6", "left out", "over the budget of 500 tokens")


def _who_told_this(walk: Walk) -> None:
    walk.ask("settlement working days")
    walk.reads("research by investigator · of anna")
    walk.follow("The bank")
    walk.reads(TOLD, "research by investigator · of anna")


def _an_order_is_not_carried_out(walk: Walk) -> None:
    walk.reads("anna: a session, which was in 3 records of others", "Take it back")
    walk.reads("anna: a path, which is in 12 records of others")
    walk.press("Refuse")
    expect(walk.page.locator("main")).not_to_contain_text("which is in 12 records of others")


def _what_a_conversation_did(walk: Walk) -> None:
    walk.follow(CONVERSATION)
    walk.reads("Failed", FREQUENT, "Decided", DECISION)


def _what_fails_most(walk: Walk) -> None:
    walk.reads("Comes back most", "seen 8 times")
    walk.follow("OperationalError: sqlite3.OperationalError: database is locked")
    walk.reads("What fixed it", "times seen")


_TASKS = (
    _why_left_out, _what_fixed_this, _what_the_next_agent_gets, _the_decision_of_last_week, _what_has_drifted,
    _two_receipts, _who_told_this, _an_order_is_not_carried_out, _what_a_conversation_did, _what_fails_most,
)  # fmt: skip


def test_each_of_ten_tasks_takes_three_views_at_most_and_no_way_back(tmp_path: Path) -> None:
    lived_store(tmp_path / "shop")
    with sync_playwright() as playwright:
        browser = start_browser(playwright)
        if isinstance(browser, str):
            pytest.skip(browser)
        server = serve(tmp_path / "shop", "--write")
        context = browser.new_context(
            storage_state=admitted(browser, server, tmp_path / "cookies.json"), viewport={"width": 1280, "height": 860}
        )
        for task in _TASKS:
            found = visit(context, server.base)
            walk = Walk(found.go("/"))
            task(walk)
            assert len(walk.views) <= _MOST_VIEWS and len({*walk.views}) == len(walk.views), (task.__name__, walk.views)
            assert not found.troubles, task.__name__
            print(f"{task.__name__}: {len(walk.views)}")
            found.page.close()
        browser.close()
        assert server.end() == 0
