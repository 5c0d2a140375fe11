"""A server to look at, and a browser that opened its one-time address: for the browser tests and the pictures."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, Request

_NAMES = (os.environ.get("CTXRANK_CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
# Inside a container Chromium's own sandbox has no rights to make one.
_ARGUMENTS = ["--no-sandbox"]
_NO_BROWSER = "no Chromium is on this machine: 'apt-get install chromium', or set CTXRANK_CHROMIUM"


class Server(NamedTuple):
    """A process that serves the page of a store."""

    process: "subprocess.Popen[str]"
    opened: str  # the address that is good once

    @property
    def base(self) -> str:
        """Where its pages are."""
        return self.opened.partition("/open")[0]

    def end(self) -> int:
        """Its exit code after SIGTERM."""
        self.process.terminate()
        self.process.communicate(timeout=20)
        return self.process.returncode


class Visit(NamedTuple):
    """A page of the browser, and all that went wrong in it so far."""

    page: Page
    base: str
    troubles: list[str]

    def go(self, path: str) -> Page:
        """Open a path of the server, and wait until nothing more is loaded."""
        answer = self.page.goto(self.base + path, wait_until="networkidle")
        assert answer is not None and answer.status == 200, path
        return self.page


def serve(folder: Path, *words: str) -> Server:
    """Start `ctxrank web` in a folder."""
    command = [sys.executable, "-m", "ctxrank.cli", "web", "--no-open", "--quiet", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return Server(process, process.stdout.readline().strip())


def start_browser(playwright: Playwright) -> Browser | str:
    """The machine's own Chromium, or a sentence that says why there is none."""
    chromium = next((found for name in _NAMES if name and (found := shutil.which(name))), None)
    if chromium is None:
        return _NO_BROWSER
    return playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS)


def admitted(browser: Browser, server: Server, kept: Path) -> Path:
    """A file with the cookie of the one-time address, for every further context."""
    context = browser.new_context()
    context.new_page().goto(server.opened)
    context.storage_state(path=kept)
    context.close()
    return kept


def visit(context: BrowserContext, base: str) -> Visit:
    """A page; what the console says, a request that failed, and one to anywhere else are troubles."""
    page = context.new_page()
    troubles: list[str] = []

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            troubles.append(f"console: {message.text}")

    def asked(request: Request) -> None:
        if not request.url.startswith(f"{base}/"):
            troubles.append(f"asked elsewhere: {request.url}")

    page.on("console", said)
    page.on("pageerror", lambda error: troubles.append(f"script: {error}"))
    page.on("request", asked)
    return Visit(page, base, troubles)
