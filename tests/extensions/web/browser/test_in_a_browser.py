"""The pages in a real browser: both themes, wide and narrow, by keyboard, without scripts, and of a hostile store.

`make test-web` runs them; `make test-web-smoke` those that are marked so. Without playwright or a Chromium they are
skipped, in words.
"""

import contextlib
from collections.abc import Generator, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: 'make test-web' does that")
pytest.importorskip("jinja2", reason="the extra web is not installed")

import hostile_store as hostile
from demo_store import TASK, demo_store
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright
from server import Server, Visit, admitted, serve, start_browser, visit

from ctxrank.extensions.web.command import opening_file

pytestmark = [pytest.mark.browser, pytest.mark.slow]

_QUERY = "/?q=database+is+locked"
ADDRESSES = (
    "/", _QUERY, "/finding?id=package:7&q=database+locked", "/finding?id=package:9&other=package:3",
    "/finding?id=error:1",
    f"/blocks?session=shop-2026-10&group=AUTH&agent=developer&task={TASK.replace(' ', '+')}&budget=1200",
    "/blocks?session=shop-2026-10&agent=developer&second=qa_expert", "/sessions?name=shop-2026-10", "/errors",
    "/links?task=TASK-042&budget=900", "/links?task=TASK-043", "/status", "/receipts", "/receipts?left=1&right=2",
)  # fmt: skip
# What the records of a session open.
RECORDS = ("/receipt?id=3", "/receipt?id=4", "/failure?name=shop-2026-10&id=failure:2")
WIDE: ViewportSize = {"width": 1280, "height": 860}
NARROW: ViewportSize = {"width": 400, "height": 860}
_FIRST_PAINT_MS = 300
_PAGE_BYTES = 250_000
_MARKUP = "<script>owned()</script><img src=x onerror=owned()>\"'><svg onload=owned()>"

Theme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = start_browser(playwright)
        if isinstance(started, str):
            pytest.skip(started)
        yield started
        started.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("demo")
    demo_store(folder)
    started = serve(folder, "--write")
    yield started
    assert started.end() == 0


@pytest.fixture(scope="module")
def cookies(browser: Browser, server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return admitted(browser, server, tmp_path_factory.mktemp("cookies") / "state.json")


@contextlib.contextmanager
def _window(
    browser: Browser, server: Server, cookies: Path, *, viewport: ViewportSize = WIDE, theme: Theme = "light",
    has_scripts: bool = True,
) -> Generator[Visit, None, None]:  # fmt: skip
    context = browser.new_context(
        storage_state=cookies, viewport=viewport, color_scheme=theme, java_script_enabled=has_scripts
    )
    found = visit(context, server.base)
    yield found
    context.close()
    assert not found.troubles


@pytest.fixture
def shop(browser: Browser, server: Server, cookies: Path) -> Iterator[Visit]:
    """A wide, light page of the demonstration store."""
    with _window(browser, server, cookies) as found:
        yield found


def _axe() -> str:
    """The accessibility checker that its wrapper ships."""
    package = pytest.importorskip("axe_playwright_python", reason="axe is not installed: 'make test-web' does that")
    return files(package.__name__).joinpath("axe.min.js").read_text("utf-8")


def _serious(page: Page, axe: str) -> list[str]:
    page.evaluate(axe)
    found: list[dict[str, Any]] = page.evaluate("axe.run().then(result => result.violations)")
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary', '')}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


@pytest.mark.smoke
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_every_page_is_sound(
    browser: Browser, server: Server, cookies: Path, theme: Theme, viewport: ViewportSize
) -> None:
    """No console message, no request elsewhere, nothing scrolls sideways, and axe has no serious finding."""
    with _window(browser, server, cookies, theme=theme, viewport=viewport) as found:
        _are_sound(found, ADDRESSES)


@pytest.mark.parametrize(("theme", "viewport"), [("light", WIDE), ("dark", NARROW)], ids=["wide", "narrow"])
def test_what_records_open_is_sound(
    browser: Browser, server: Server, cookies: Path, theme: Theme, viewport: ViewportSize
) -> None:
    with _window(browser, server, cookies, theme=theme, viewport=viewport) as found:
        _are_sound(found, RECORDS)


def _are_sound(found: Visit, addresses: tuple[str, ...]) -> None:
    axe = _axe()
    for address in addresses:
        page = found.go(address)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
        assert _serious(page, axe) == [], address


@pytest.mark.smoke
def test_a_search_answers_while_one_types(shop: Visit) -> None:
    page = shop.go("/")
    page.keyboard.type("database locked")
    expect(page.locator("article h2").first).to_contain_text("database is locked")
    expect(page.locator("article mark").first).to_be_visible()
    page.wait_for_url("**/?q=database+locked")  # the address holds the state; half a query may be answered first
    page.reload()
    expect(page.get_by_label("Search")).to_have_value("database locked")


@pytest.mark.smoke
def test_everything_goes_by_keyboard(shop: Visit) -> None:
    page = shop.go(_QUERY)
    chosen = page.locator("article[data-chosen]")
    first = chosen.get_attribute("data-id")
    page.keyboard.press("j")
    assert chosen.count() == 1 and chosen.get_attribute("data-id") != first
    panel = page.locator(".panel:visible h2").first
    expect(panel).to_have_text("Why this is number 2")
    page.keyboard.press("k")
    assert chosen.get_attribute("data-id") == first
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/finding?" in url)
    page.keyboard.press("g")
    page.keyboard.press("b")
    page.wait_for_url("**/blocks")


def test_a_few_letters_lead_anywhere(shop: Visit) -> None:
    page = shop.go("/errors")
    page.keyboard.press("Control+k")
    offered = page.locator("dialog.palette li")
    expect(offered.filter(has_text="Recognise")).to_contain_text("on this page")
    page.keyboard.type("database locked")
    expect(offered.first).to_contain_text("in the job queue")
    assert _serious(page, _axe()) == []
    page.keyboard.press("ArrowDown")
    expect(offered.first.locator("a")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "/finding?" in url)
    page.keyboard.press("Control+k")
    page.keyboard.type("2026-11")
    expect(offered.first).to_contain_text("shop-2026-11")
    page.keyboard.press("Enter")
    page.wait_for_url("**/sessions?name=shop-2026-11")
    page.keyboard.press("Control+k")
    page.keyboard.press("Escape")
    expect(page.locator("dialog.palette")).to_have_count(0)


def test_control_and_enter_send_what_a_text_field_is_of(shop: Visit) -> None:
    page = shop.go("/errors")
    page.get_by_label("Paste what a command printed").fill("sqlite3.OperationalError: database is locked\n")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("sure that this helps")).to_be_visible()


def test_enter_opens_the_chosen_hit_in_the_very_frame_that_closes_the_keys(shop: Visit) -> None:
    page = shop.go(_QUERY)
    page.evaluate(
        """() => {
          const keys = document.getElementById("keys");
          keys.showModal();
          keys.close();
          const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true });
          keys.querySelector("button").dispatchEvent(enter);
        }"""
    )
    page.wait_for_url(lambda url: "/finding?" in url)


def test_a_facet_becomes_a_chip_and_a_chip_goes(shop: Visit) -> None:
    page = shop.go(_QUERY)
    page.locator(".facets a", has_text="shop-2026-10").click()
    expect(page.get_by_label("Search")).to_have_value("database is locked session:shop-2026-10")
    page.locator(".chip").click()
    expect(page.get_by_label("Search")).to_have_value("database is locked")


def test_dragging_the_budget_changes_the_block(shop: Visit) -> None:
    page = shop.go("/blocks?session=shop-2026-10&group=AUTH&agent=developer")
    slider = page.get_by_role("slider")
    slider.fill("600")
    expect(page.locator("#made .sum").first).to_contain_text("of 600 tokens")
    few = page.locator("#made pre.block").inner_text()
    slider.fill("8000")
    expect(page.locator("#made .sum").first).to_contain_text("of 8,000 tokens")
    assert len(page.locator("#made pre.block").inner_text()) > len(few)
    assert "budget=8000" in page.url


def test_a_budget_that_nobody_moved_is_not_sent(shop: Visit) -> None:
    page = shop.go("/blocks?session=shop-2026-10&group=AUTH&agent=developer")
    total = page.locator("#made .sum").first
    field = page.get_by_role("spinbutton")
    page.locator("select[name=agent]").select_option("tech_lead")
    expect(total).to_contain_text("tech_lead\u2019s share")
    assert "budget" not in page.url
    expect(field).to_have_attribute("placeholder", "94300")
    field.fill("900")
    expect(total).to_contain_text("of 900 tokens")
    expect(page.locator("output")).to_have_text("900")
    expect(page.get_by_role("slider")).to_have_value("900")
    page.get_by_label("Task", exact=True).fill("refresh token")
    page.get_by_role("link", name="The agent\u2019s share").click()
    expect(total).to_contain_text("tech_lead\u2019s share")
    expect(page.locator("output")).to_have_text("the agent\u2019s share")
    expect(field).to_have_value("")
    assert "budget" not in page.url and "task=refresh+token" in page.url


def test_another_session_has_groups_of_its_own(shop: Visit) -> None:
    page = shop.go("/blocks?session=shop-2026-10&group=AUTH&agent=developer")
    groups = page.locator("select[name=group] option")
    before = groups.all_inner_texts()
    page.locator("select[name=session]").select_option("shop-2026-11")
    page.wait_for_url("**/blocks?session=shop-2026-11*")
    assert "group=" not in page.url
    assert groups.all_inner_texts() != before


def test_an_answer_stands_under_its_button_on_a_narrow_page(browser: Browser, server: Server, cookies: Path) -> None:
    with _window(browser, server, cookies, viewport=NARROW) as found:
        page = found.go("/errors")
        page.get_by_label("Paste what a command printed").fill("sqlite3.OperationalError: database is locked\n")
        page.get_by_role("button", name="Recognise").click()
        button = page.get_by_role("button", name="Recognise").bounding_box()
        answer = page.get_by_role("heading", name="Known", exact=True).bounding_box()
        assert button and answer and 0 < answer["y"] - button["y"] - button["height"] < 40


def test_dragging_over_a_timeline_zooms(shop: Visit) -> None:
    page = shop.go("/sessions?name=shop-2026-10")
    before = page.locator(".figure circle, .figure rect").count()
    box = page.locator(".figure svg").bounding_box()
    assert box is not None
    y = box["y"] + box["height"] - 6
    page.mouse.move(box["x"] + 0.2 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], y, steps=4)
    page.mouse.up()
    page.wait_for_url(lambda url: "from=" in url)
    assert page.locator(".figure circle, .figure rect").count() < before
    page.get_by_text("Whole session").click()
    page.wait_for_url(lambda url: "from=" not in url)


@pytest.mark.smoke
def test_a_pasted_failure_is_recognised_and_confirmed(shop: Visit) -> None:
    page = shop.go("/errors")
    page.get_by_label("Paste what a command printed").fill("sqlite3.OperationalError: database is locked\n")
    page.get_by_role("button", name="Recognise").click()
    expect(page.get_by_text("sure that this helps")).to_be_visible()
    page.get_by_role("button", name="It helped").click()
    page.wait_for_url(lambda url: "/finding?id=error" in url)
    expect(page.locator(".tag.confirmed")).to_be_visible()


@pytest.mark.smoke
def test_it_reads_without_scripts(browser: Browser, server: Server, cookies: Path) -> None:
    with _window(browser, server, cookies, has_scripts=False) as found:
        for address in ADDRESSES:
            found.go(address)
        page = found.go("/")
        page.get_by_label("Search").fill("database locked")
        page.get_by_label("Search").press("Enter")
        page.locator("article").nth(1).get_by_text("why").click()
        expect(page.locator(".panel:visible h2").first).to_have_text("Why this is number 2")
        page.locator("article h2 a").first.click()
        expect(page.locator("h1")).to_contain_text("database is locked")


def test_a_page_weighs_and_waits_little(shop: Visit) -> None:
    sizes: list[int] = []
    shop.page.on("response", lambda answer: sizes.append(len(answer.body())))
    page = shop.go(_QUERY)
    assert 0 < sum(sizes) < _PAGE_BYTES
    paints: list[float] = []
    for _ in range(5):
        page.reload(wait_until="networkidle")
        paints.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    assert min(paints) < _FIRST_PAINT_MS  # the least: a busy machine is no property of the page


@pytest.mark.smoke
def test_a_hostile_store_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    """Scripts in every text, in a file's name, and in what is highlighted."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hostile, "HOSTILE", f"{_MARKUP}{hostile.HOSTILE}")
        patch.setattr(hostile, "HOSTILE_FIELD", f"{_MARKUP}{hostile.HOSTILE_FIELD}")
        primary = hostile.hostile_store(tmp_path)
    server = serve(tmp_path, "--write", "--db", str(primary))
    cookies = admitted(browser, server, tmp_path / "cookies.json")
    with _window(browser, server, cookies) as found:
        found.page.add_init_script("window.owned = () => { window.isOwned = true }")
        for address in ("/", "/?q=owned+onerror&n=50", "/?q=walrus", "/blocks?agent=developer&task=token+refresh",
                        "/sessions", "/errors", "/links", "/status"):  # fmt: skip
            page = found.go(address)
            assert page.evaluate("window.isOwned === undefined"), address
            assert page.locator("main img, main iframe, main script, svg[onload]").count() == 0, address
        links = found.go("/?q=owned&n=50").locator("article h2 a")
        for link in [f"/{one.get_attribute('href')}" for one in links.all()][:12]:
            page = found.go(link)
            assert page.evaluate("window.isOwned === undefined"), link
    assert server.end() == 0


@pytest.mark.smoke
def test_the_file_that_a_browser_is_given_leads_to_the_page(browser: Browser, tmp_path: Path) -> None:
    demo_store(tmp_path)
    server = serve(tmp_path)
    address, _, ticket = server.opened.partition("?ticket=")
    context = browser.new_context()
    page = context.new_page()
    page.goto(Path(opening_file(str(tmp_path), address, ticket)).as_uri())
    page.wait_for_url(f"{server.base}/")  # the ticket is in no address
    expect(page.get_by_text("What is known here")).to_be_visible()
    assert context.cookies(server.base.rpartition("/")[0]) == []
    page.goto(f"{server.base}/errors")
    page.get_by_label("Paste what a command printed").fill("database is locked\n")
    page.get_by_role("button", name="Recognise").click()  # a form of a page without referrers
    expect(page.get_by_text("error in the output")).to_be_visible()
    context.close()
    assert server.end() == 0


def test_another_origin_can_not_show_or_ask_it(browser: Browser, server: Server, cookies: Path) -> None:
    """A page from elsewhere, in the browser that has the cookie."""
    context = browser.new_context(storage_state=cookies)
    page = context.new_page()
    page.route("http://evil.example/**", lambda route: route.fulfill(body="<h1>Win</h1>", content_type="text/html"))
    page.goto("http://evil.example/")
    ask = f"fetch('{server.base}/?q=lock', {{credentials: 'include'}}).then(() => 'read', () => 'refused')"
    assert page.evaluate(ask) == "refused"
    frame = "const frame = document.createElement('iframe'); frame.src = ADDRESS; document.body.append(frame)"
    page.evaluate(frame.replace("ADDRESS", f"'{server.base}/'"))
    page.wait_for_timeout(500)
    assert all("What is known here" not in one.content() for one in page.frames)
    context.close()
