"""Who may ask for a page."""

import json
from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest
from tables import each_row

pytest.importorskip("jinja2", reason="the extra web is not installed")

from web_builders import BASE, Markup, Served, served

from ctxrank.extensions.web.guard import MAX_BODY_BYTES
from ctxrank.indexer.store.location import Location


@pytest.fixture
def page(loaded: Location) -> Iterator[Served]:
    found = served(loaded.primary)
    with found.browser:
        yield found


def _value(loaded: Location, query: str) -> object:
    with closing(apsw.Connection(loaded.primary)) as connection:
        found: object = connection.execute(query).get
        return found


def _counts(loaded: Location) -> list[object]:
    tables = ("receipts", "deliveries", "error_sightings", "events", "settings", "documents")
    return [_value(loaded, "SELECT seq FROM store"), *(_value(loaded, f"SELECT count(*) FROM {one}") for one in tables)]


def test_without_the_cookie_there_is_no_page(loaded: Location) -> None:
    stranger = served(loaded.primary, is_open=False).browser
    for path in ("/", "/?q=retry", "/status", "/static/page.css", "/nothing"):
        answer = stranger.get(path)
        assert answer.status_code == 401 and "ctxrank web" in answer.text, path


def test_a_ticket_is_good_once(loaded: Location) -> None:
    found = served(loaded.primary, is_open=False)
    ticket = found.access.ticket()
    assert found.browser.get("/open", params={"ticket": "x" * len(ticket)}).status_code == 401
    answer = found.browser.get("/open", params={"ticket": ticket})
    assert answer.status_code == 200 and Markup(answer.text).links == ["/"]  # a way that begins at our own page
    cookie = answer.headers["set-cookie"]
    assert cookie.endswith(f"; Path={found.access.folder}/; HttpOnly; SameSite=Strict") and ticket not in cookie
    found.browser.cookies.clear()
    assert found.browser.get("/open", params={"ticket": ticket}).status_code == 401


def test_a_ticket_comes_from_a_file_and_nothing_else_does(loaded: Location) -> None:
    found = served(loaded.primary, is_open=False)
    of_a_file = {"origin": "null", "sec-fetch-site": "cross-site"}
    given = {"ticket": found.access.ticket()}
    assert found.browser.post("/open", data={"ticket": "x" * 2000}, headers=of_a_file).status_code == 401
    assert found.browser.post("/open", data=given, headers=of_a_file | {"host": "evil.example"}).status_code == 421
    assert found.browser.post("/open", data=given, headers=of_a_file).status_code == 200
    assert found.browser.get("/").status_code == 200
    assert found.browser.get("/", headers=of_a_file).status_code == 403


def test_the_pages_are_in_a_secret_folder_and_the_cookie_goes_nowhere_else(page: Served) -> None:
    cookie = {"cookie": "; ".join(f"{one.name}={one.value}" for one in page.browser.cookies.jar)}
    stranger = page.browser.get
    for folder in ("", "/x", page.access.folder[:-1], f"{page.access.folder}x", f"/x{page.access.folder}"):
        assert stranger(f"{BASE}{folder}/", headers=cookie).status_code == 401, folder
        assert stranger(f"{BASE}{folder}/static/page.css", headers=cookie).status_code == 401, folder
    assert stranger(f"{BASE}{page.access.folder}/", headers=cookie).status_code == 200
    assert {one.path for one in page.browser.cookies.jar} == {f"{page.access.folder}/"}


def test_a_used_address_leads_on_who_has_the_cookie(page: Served) -> None:
    answer = page.browser.get("/open", params={"ticket": "used"})
    assert answer.status_code == 200 and "set-cookie" not in answer.headers


def test_every_answer_carries_the_policy(page: Served) -> None:
    for path in ("/", "/nothing", "/static/page.css", "/blocks"):
        headers = page.browser.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';"), path
        assert "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"


_REFUSED = (
    ("another name", {"host": "evil.example:8000"}, 421),
    ("a name that begins like ours", {"host": "127.0.0.1.evil.example"}, 421),
    ("no name", {"host": ""}, 421),
    ("another page", {"origin": "http://evil.example"}, 403),
    ("a page of another port", {"origin": "http://127.0.0.1:9999"}, 403),
    ("a page without an origin", {"origin": "null"}, 403),
    ("a page over TLS", {"origin": BASE.replace("http:", "https:")}, 403),
    ("a link elsewhere", {"referer": "http://evil.example/x"}, 403),
    ("a link from a name like ours", {"referer": f"{BASE}.evil.example/"}, 403),
    ("what the browser calls foreign", {"sec-fetch-site": "cross-site"}, 403),
    ("another port of this machine", {"sec-fetch-site": "same-site"}, 403),
)


@each_row("name, headers, status", _REFUSED)
def test_who_is_refused(page: Served, name: str, headers: dict[str, str], status: int) -> None:
    answer = page.browser.get("/", headers=headers)
    assert answer.status_code == status and answer.headers["content-type"].startswith("text/plain"), name


def test_who_is_let_in(page: Served) -> None:
    for headers in ({}, {"origin": BASE}, {"referer": f"{BASE}/blocks?x=1"}, {"sec-fetch-site": "same-origin"}):
        assert page.browser.get("/", headers=headers).status_code == 200, headers
    assert page.browser.get("/", headers={"host": "localhost:8000"}).status_code == 200


def test_other_methods_and_long_bodies_are_refused(page: Served) -> None:
    assert page.browser.put("/").status_code == 405
    assert page.browser.delete("/finding").status_code == 405
    long = page.browser.post(
        "/errors", content=b"x", headers={"origin": BASE, "content-length": str(MAX_BODY_BYTES + 1)}
    )
    assert long.status_code == 413


def test_a_long_body_is_refused_also_where_it_is_sent_in_chunks(page: Served) -> None:
    def chunks() -> Iterator[bytes]:
        yield from [b"x" * (1 << 20)] * ((MAX_BODY_BYTES >> 20) + 1)

    assert page.browser.post("/errors", content=chunks(), headers={"origin": BASE}).status_code == 413
    given = f"output=database+is+locked&form={page.access.form_token}".encode()
    headers = {"origin": BASE, "content-type": "application/x-www-form-urlencoded"}
    assert page.browser.post("/errors", content=iter([given[:9], given[9:]]), headers=headers).status_code == 200


def test_a_request_with_very_many_fields_is_a_mistake_of_who_asks(page: Served) -> None:
    many = "&".join(f"x{number}=1" for number in range(61))
    assert page.browser.get(f"/?{many}").status_code == 400
    assert "more than 60 fields" in page.browser.get(f"/blocks?{many}").text
    assert page.browser.post("/errors", content=many.encode(), headers={"origin": BASE}).status_code == 400
    assert page.browser.get(f"/?{many.rpartition('&')[0]}").status_code == 200


def test_a_form_says_where_it_is_from_and_has_the_token(page: Served) -> None:
    given = {"output": "database is locked", "form": page.access.form_token}
    assert page.browser.post("/errors", data=given).status_code == 403
    assert page.browser.post("/errors", data=given, headers={"origin": BASE}).status_code == 200
    of_a_page_without_referrers = {"origin": "null", "sec-fetch-site": "same-origin"}
    assert page.browser.post("/errors", data=given, headers=of_a_page_without_referrers).status_code == 200
    assert page.browser.post("/errors", data=given, headers={"origin": "null"}).status_code == 403
    for token in ("", "x", page.access.form_token[:-1]):
        assert page.browser.post("/errors", data=given | {"form": token}, headers={"origin": BASE}).status_code == 400


def test_a_page_that_only_reads_changes_nothing(page: Served, loaded: Location) -> None:
    given = {"what": "confirm", "id": "error:1", "form": page.access.form_token}
    answer = page.browser.post("/change", data=given, headers={"origin": BASE})
    assert answer.status_code == 403 and "--write" in answer.text


def test_looking_leaves_no_trace(page: Served, loaded: Location) -> None:
    before = _counts(loaded)
    for path in (
        "/?q=database+locked", "/finding?id=package:7&q=lock", "/blocks?session=shop-2026-10&agent=developer&task=lock",
        "/sessions", "/errors", "/status",
    ):  # fmt: skip
        assert page.browser.get(path).status_code == 200, path
    assert before == _counts(loaded)


class TestWriting:
    """With --write, and nothing else, the forms of the pages change the store."""

    @pytest.fixture
    def page(self, loaded: Location) -> Iterator[Served]:
        found = served(loaded.primary, is_writing=True)
        with found.browser:
            yield found

    def _send(self, page: Served, origin: str = BASE, **given: str) -> int:
        data = {"form": page.access.form_token} | given
        return page.browser.post("/change", data=data, headers={"origin": origin}).status_code

    def test_an_error_is_confirmed_and_refuted(self, page: Served, loaded: Location) -> None:
        def record() -> list[int]:
            found = _value(loaded, "SELECT json_array(confirmations, refutations) FROM error_patterns WHERE id = 1")
            counts: list[int] = json.loads(str(found))
            return counts

        yes, no = record()
        assert self._send(page, what="confirm", id="error:1") == 303
        assert self._send(page, what="refute", id="error:1") == 303
        assert record() == [yes + 1, no + 1]

    def test_a_package_is_superseded_and_a_session_ended(self, page: Served, loaded: Location) -> None:
        assert self._send(page, what="supersede", id="package:1", by="package:2") == 303
        assert _value(loaded, "SELECT superseded_by FROM packages WHERE id = 1") == 2
        assert self._send(page, what="end", session="shop-2026-10", status="completed") == 303
        assert _value(loaded, "SELECT status FROM sessions WHERE name = 'shop-2026-10'") == "completed"

    def test_another_page_can_not(self, page: Served, loaded: Location) -> None:
        assert self._send(page, origin="http://evil.example", what="confirm", id="error:1") == 403
        assert self._send(page, form="guess", what="confirm", id="error:1") == 400
        assert page.browser.get("/change", params={"what": "confirm", "id": "error:1"}).status_code in (404, 405)

    def test_what_no_form_has_is_refused(self, page: Served) -> None:
        assert self._send(page, what="purge", id="package:1") == 400
        assert self._send(page, what="confirm", id="error:999") == 404
