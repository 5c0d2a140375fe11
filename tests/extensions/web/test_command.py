"""How `ctxrank web` opens the page: nothing that another user can read lets anybody in."""

import contextlib
import http.client
import os
import re
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

from ctxrank.indexer.store.location import Location

pytest.importorskip("jinja2", reason="the extra web is not installed")

_LIMIT_S = 60


class _Opened(NamedTuple):
    process: "subprocess.Popen[str]"
    printed: str
    argument: str  # what the browser was started with


@pytest.fixture
def opened(loaded: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Opened]:
    """`ctxrank web` in a folder, with a browser that writes down what it is given."""
    browser, given = tmp_path / "browser", tmp_path / "given"
    browser.write_text(f'#!/bin/sh\nprintf %s "$*" > {given}.new && mv {given}.new {given}\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    monkeypatch.delenv("CTXRANK_NO_BROWSER", raising=False)
    command = [sys.executable, "-m", "ctxrank.cli", "web"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        printed = process.stdout.readline().strip()
        ends = time.monotonic() + _LIMIT_S
        while not given.exists() and time.monotonic() < ends:
            time.sleep(0.02)
        try:
            yield _Opened(process, printed, given.read_text())
        finally:
            process.kill()
            process.communicate()


@pytest.mark.slow
def test_the_browser_is_given_a_file_that_others_cannot_read(opened: _Opened) -> None:
    file = Path(unquote(urlsplit(opened.argument).path))
    assert opened.argument == opened.printed == file.as_uri()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    text = file.read_text()
    address, ticket = (
        found[1] for name in ("action", "value") if (found := re.search(f'{name}="([^"]+)"', text)) is not None
    )
    where = urlsplit(address)
    assert where.port is not None
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", where.port, timeout=_LIMIT_S)) as browser:
        of_a_form = {
            "Origin": "null",
            "Sec-Fetch-Site": "cross-site",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        browser.request("POST", where.path, f"ticket={ticket}", of_a_form)
        answer = browser.getresponse()
        cookie = str(answer.getheader("set-cookie")).partition(";")[0]
        assert answer.status == 200 and b'content="0; url=./"' in answer.read()
        browser.request("GET", where.path.removesuffix("open"), headers={"Cookie": cookie})
        answer = browser.getresponse()
        assert answer.status == 200 and b"What is known here" in answer.read()
        browser.request("POST", where.path, f"ticket={ticket}", of_a_form)
        assert browser.getresponse().status == 401
    opened.process.send_signal(signal.SIGTERM)
    assert opened.process.wait(_LIMIT_S) == 0
    assert not file.exists()


@pytest.mark.slow
def test_a_folder_that_others_can_write_opens_nothing(loaded: Location, tmp_path: Path) -> None:
    state = tmp_path / "state"
    (state / "ctxrank" / "pages").mkdir(parents=True)
    (state / "ctxrank" / "pages").chmod(0o777)
    command = [sys.executable, "-m", "ctxrank.cli", "--db", loaded.primary, "web"]
    environment = {**os.environ, "XDG_STATE_HOME": str(state), "BROWSER": "true"}
    environment.pop("CTXRANK_NO_BROWSER", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    assert done.returncode == 6 and "--no-open" in done.stderr and not done.stdout
