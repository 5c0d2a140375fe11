"""The pictures of each page in docs/web: `make web-pictures`.

python tests/extensions/web/browser/pictures.py docs/web
"""

import io
import os
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

_TESTS = Path(__file__).parents[3]
sys.path[:0] = [str(_TESTS), str(_TESTS.parent / "fixtures")]

from demo_store import TASK  # noqa: E402  the folders of what it uses are named above
from lived_store import lived_store  # noqa: E402  as above
from server import Server, admitted, serve, start_browser, visit  # noqa: E402

_MOST_BYTES = 150_000
_WIDE, _NARROW = (1280, 800), (400, 800)
_BLOCK = f"/blocks?session=shop-2026-10&group=AUTH&agent=developer&task={TASK.replace(' ', '+')}&budget=1200"
_PICTURES = (
    ("home", "/", _WIDE, "light"),
    ("error", "/finding?id=error:1", _WIDE, "light"),
    ("search", "/?q=workers+stop+database+is+locked+session:shop-2026-10", _WIDE, "light"),
    ("search-dark", "/?q=workers+stop+database+is+locked+session:shop-2026-10", _WIDE, "dark"),
    ("search-narrow", "/?q=workers+stop+database+is+locked", _NARROW, "light"),
    ("finding", "/finding?id=package:2&q=refresh+token", _WIDE, "light"),
    ("blocks", _BLOCK, _WIDE, "light"),
    ("sessions", "/sessions?name=shop-2026-10", _WIDE, "dark"),
    ("errors", "/errors", _WIDE, "light"),
    ("links", "/links?task=TASK-042&budget=900", _WIDE, "dark"),
    ("health", "/status", _WIDE, "light"),
)
_OUTPUT = """\
Traceback (most recent call last):
  File "workers/queue.py", line 88, in claim_job
    connection.execute("UPDATE jobs SET state = 'running' WHERE id = ?", (job,))
sqlite3.OperationalError: database is locked
make: *** [Makefile:12: test] Error 1
"""


def main() -> None:
    """Make each picture anew. Exits with a sentence where there is no browser or one is too large."""
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as state, tempfile.TemporaryDirectory(prefix="shop-") as folder:
        os.environ["XDG_STATE_HOME"] = state
        lived_store(Path(folder))
        server = serve(Path(folder))
        try:
            _take(server, Path(state) / "cookies.json", target)
        finally:
            server.end()


def _take(server: Server, kept: Path, target: Path) -> None:
    with sync_playwright() as playwright:
        browser = start_browser(playwright)
        if isinstance(browser, str):
            raise SystemExit(browser)
        cookies = admitted(browser, server, kept)
        for name, address, (width, height), theme in _PICTURES:
            context = browser.new_context(
                storage_state=cookies, viewport={"width": width, "height": height},
                color_scheme="dark" if theme == "dark" else "light",
            )  # fmt: skip
            shown = visit(context, server.base)
            shown.go(address)
            page = shown.go(address)  # the second time, as every further one: nothing is loaded first
            if name == "errors":
                page.get_by_label("Paste what a command printed").fill(_OUTPUT)
                page.get_by_role("button", name="Recognise").click()
                page.wait_for_load_state("networkidle")
            if name == "health":  # the folder of this run is nobody's
                page.locator(".meta .path").evaluate("one => { one.textContent = '/home/me/shop/.ctxrank/ctxrank.db' }")
            path = target / f"{name}.png"
            with Image.open(io.BytesIO(page.screenshot())) as taken:
                taken.convert("RGB").quantize(256, kmeans=2).save(path, optimize=True)
            if path.stat().st_size > _MOST_BYTES:
                raise SystemExit(f"{path} has {path.stat().st_size:,} bytes: more than a page of docs should load.")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
