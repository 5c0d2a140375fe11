"""A browser for tests: the pages of a store, asked in this process, and what is in an answer's HTML."""

from collections import Counter
from html.parser import HTMLParser
from typing import NamedTuple

from starlette.testclient import TestClient

from ctxrank.cli.call import Call
from ctxrank.extensions.web.application import application
from ctxrank.extensions.web.guard import Access

BASE = "http://127.0.0.1:8000"


class Served(NamedTuple):
    """The pages of a store, and the secrets that they are behind."""

    browser: TestClient
    access: Access


def served(db: str, *, is_writing: bool = False, is_open: bool = True) -> Served:
    """The pages of a store; `is_open` for a browser that opened the one-time address."""
    access = Access()
    made = application(Call(db=db), access, is_writing=is_writing)
    browser = TestClient(made, base_url=f"{BASE}{access.folder}", follow_redirects=False)
    if is_open:
        assert browser.post("/open", data={"ticket": access.ticket()}, headers={"origin": "null"}).status_code == 200
    return Served(browser, access)


def _in_folder(link: str) -> str:
    """Where a link leads, from the folder of all pages: `/finding?id=…`; one that leaves the folder stays as it is."""
    if link.startswith(("#", "/")) or "../" in link or ":" in link.partition("?")[0]:
        return f"elsewhere: {link}" if link[:1] != "#" else link
    return f"/{link.removeprefix('./')}"


class Markup(HTMLParser):
    """What an answer's HTML consists of: its elements, its attributes, its links and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.attributes: Counter[str] = Counter()
        self.links: list[str] = []
        self.scripts: list[str | None] = []
        self.text = ""
        self.marked = ""
        self._open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count an element."""
        self.elements[tag] += 1
        self._open.append(tag)
        for name, value in attrs:
            self.attributes[name] += 1
            if name in ("href", "src", "action"):
                self.links.append(_in_folder(value or ""))
            if tag == "script" and name == "src":
                self.scripts.append(value)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Keep the text, and apart from it what is marked."""
        self.text += data
        if self._open[-1:] == ["mark"]:
            self.marked += f"{data} "
