"""What the pages show, without a browser: they are read as HTML."""

import json
import re
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from builders import copy_store, make_store, save
from exported import bring, exported_bytes, uuid_of
from linked_builders import copy_fixture
from older_rules import leave_token
from runner_events import Runner
from tables import each_row

pytest.importorskip("jinja2", reason="the extra web is not installed")

from web_builders import BASE, Markup, Served, served

from ctxrank.cli.call import Call
from ctxrank.cli.main import run
from ctxrank.extensions.web import blocks_page
from ctxrank.extensions.web.error_story import fix_lines
from ctxrank.extensions.web.finding_page import compared
from ctxrank.extensions.web.rendering import ago, clock, headline, ordinal, pieces, said, share
from ctxrank.indexer.clock import DAY_US, format_us, now_us
from ctxrank.indexer.exchange.decisions import decide
from ctxrank.indexer.exchange.orders import FORGET, Order, enter
from ctxrank.indexer.records.events import record_event
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.store.ids import origin_code
from ctxrank.indexer.store.location import Location

_LARGEST_PAGE = 250_000  # bytes, with everything that it loads
_TASK = "customers are logged out when two requests refresh the token"


@pytest.fixture(scope="module")
def linked_once(loaded_once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture store beside a tree of linked artifacts, which the index knows."""
    folder = tmp_path_factory.mktemp("linked")
    location = copy_store(loaded_once, folder)
    copy_fixture(folder)
    assert run(["--db", location.primary, "--root", location.root, "-q", "index"]) == 0
    return folder


@pytest.fixture
def loaded(linked_once: Path, tmp_path: Path) -> Location:
    return copy_store(linked_once, tmp_path)


@pytest.fixture
def page(loaded: Location) -> Iterator[Served]:
    found = served(loaded.primary)
    with found.browser:
        yield found


def _get(page: Served, path: str, **parameters: object) -> Markup:
    answer = page.browser.get(path, params={name: str(value) for name, value in parameters.items()})
    assert answer.status_code == 200, answer.text
    return Markup(answer.text)


_PAGES: tuple[tuple[str, dict[str, str], str], ...] = (
    ("/", {}, "What is known here"),
    ("/", {"q": "database locked"}, "database is locked"),
    ("/finding", {"id": "package:7"}, "in the job queue"),
    ("/blocks", {"session": "shop-2026-10", "agent": "developer"}, "What developer gets"),
    ("/receipts", {}, "ctxrank assemble"),
    ("/sessions", {"name": "shop-2026-10"}, "Left to right"),
    ("/errors", {}, "Is this failure known?"),
    ("/links", {"task": "TASK-042"}, "SPEC-BILLING-001"),
    ("/status", {"doctor": "quick"}, "checks passed"),
)


@pytest.mark.slow
@each_row("path, given, words", _PAGES)
def test_every_page_says_what_it_is_for_and_loads_only_ours(
    page: Served, path: str, given: dict[str, str], words: str
) -> None:
    found = _get(page, path, **given)
    assert words in found.text
    assert found.elements["main"] == 1 and found.elements["h1"] == 1
    assert found.elements["style"] == 0 and found.attributes["style"] == 0
    assert not [name for name in found.attributes if name.startswith("on")]
    assert all(link.startswith(("/", "#")) and not link.startswith("//") for link in found.links), found.links
    assert all(script and script.startswith("static/page.js") for script in found.scripts)


def test_a_page_weighs_little(page: Served) -> None:
    found = page.browser.get("/", params={"q": "refresh token", "n": 20})
    static = [page.browser.get(f"/static/{name}") for name in ("page.css", "page.js", "mark.svg")]
    assert all(one.status_code == 200 and "immutable" in one.headers["cache-control"] for one in static)
    assert len(found.content) + sum(len(one.content) for one in static) < _LARGEST_PAGE


def test_what_is_not_there_is_said_with_the_next_step(page: Served) -> None:
    for path, status in (
        ("/finding?id=package:999", 404), ("/nowhere", 404), ("/finding?id=nonsense:x", 400),
        ("/finding?id=session:shop-2026-10", 400), ("/finding?id=package:9&other=session:shop-2026-10", 400),
    ):  # fmt: skip
        answer = page.browser.get(path)
        assert answer.status_code == status and 'role="alert"' in answer.text, path
    assert page.browser.get("/static/..%2fapplication.py").status_code == 404


class TestSearch:
    def test_filters_are_chips_and_links_of_the_query_language(self, page: Served) -> None:
        found = _get(page, "/", q="lock session:shop-2026-10 -path:docs/*")
        assert "session:shop-2026-10 ×" in found.text and "-path:docs/* ×" in found.text
        assert "/?q=lock+-path%3Adocs%2F%2A" in found.links  # the address without the session
        more = _get(page, "/", q="lock")
        assert "/?q=lock+session%3Ashop-2026-10" in more.links
        assert "/?q=lock+kind%3Apackage" in more.links
        assert {"/?q=lock+type%3Adecisions", "/?q=lock+agent%3Atech_lead"} <= {*more.links}

    def test_words_are_marked_lines_numbered_and_scores_taken_apart(self, page: Served) -> None:
        found = _get(page, "/", q="database locked")
        assert {"database", "locked"} <= set(found.marked.lower().split())
        assert re.search(r"database-is-locked\.md:\d+", found.text)
        assert "words" in found.text and "words together" in found.text
        assert found.elements["rect"] >= 3

    def test_who_got_the_chosen_one_is_said(self, page: Served, loaded: Location) -> None:
        assert "Not given to an agent yet." in _get(page, "/", q="refresh token", at=1).text
        words = ["assemble", "--session", "shop-2026-10", "--group", "AUTH", "--agent", "developer", "--task", _TASK]
        assert run(["--db", loaded.primary, "-q", *words]) == 0
        assert "Given to 1 agent. In 1 block." in _get(page, "/", q="customers logged out at random", at=1).text

    def test_a_page_without_a_part_that_changes_is_answered_whole(self, page: Served) -> None:
        for path in ("/finding?id=package:7", "/receipts", "/errors"):
            answer = page.browser.get(path, headers={"x-fragment": "1"})
            assert (answer.status_code, "documents, index up to date" in answer.text) == (200, True)

    def test_the_part_that_changes_is_the_same_alone(self, page: Served) -> None:
        whole = page.browser.get("/", params={"q": "database locked"}).text
        part = page.browser.get("/", params={"q": "database locked"}, headers={"x-fragment": "1"}).text
        assert not part.lstrip().startswith("<!doctype") and "<article" in part
        without_times = re.compile(r"[\d.,]+ ms")
        assert without_times.sub("", part).strip() in without_times.sub("", whole)

    def test_nothing_found_has_a_next_step(self, page: Served) -> None:
        found = _get(page, "/", q="xyzzyplugh")
        assert "Nothing found for xyzzyplugh" in found.text and "ctxrank index" in found.text

    def test_a_changed_file_is_said_to_be_out_of_date(self, page: Served, loaded: Location) -> None:
        file = next(Path(loaded.root).rglob("database-is-locked.md"))
        file.write_text(file.read_text() + "\nMore.\n")
        assert "Out of date" in _get(page, "/", q="database locked").text

    def test_filters_alone_list(self, page: Served) -> None:
        found = _get(page, "/", q="kind:error")
        assert found.elements["article"] == 3 and "error:1" in found.text

    def test_what_is_no_kind_is_said_in_the_page(self, page: Served) -> None:
        answer = page.browser.get("/", params={"q": "lock kind:nonsense"})
        assert answer.status_code == 400 and "Kinds are package" in answer.text
        assert Markup(answer.text).elements["form"] == 2 and 'value="lock kind:nonsense"' in answer.text  # and the keys


def test_a_few_letters_name_pages_conversations_and_findings(page: Served) -> None:
    answer = page.browser.get("/palette", params={"q": "shop"}, headers={"x-fragment": "1"}).text
    assert {"/sessions?name=shop-2026-10", "/sessions?name=shop-2026-11", "/?q=shop"} <= {*Markup(answer).links}
    found = Markup(page.browser.get("/palette", params={"q": "e"}).text)
    assert "/errors" in found.links and "/health" not in found.links
    assert page.browser.get("/palette", params={"q": "kind:nonsense"}).status_code == 200


class TestHome:
    def test_what_happened_since_yesterday_is_told_under_the_conversations_title(
        self, page: Served, loaded: Location
    ) -> None:
        runner = Runner(Path(loaded.root), "3f0c9a52-7d51-4c11-9b7e-0a1b2c3d4e5f")
        runner.prompt("make the walrus tests pass")
        runner.stops("## Decisions\n\nWe keep walruses in a table of their own, since they are no birds.")
        base = ["--db", loaded.primary, "-q"]
        failure = ["--type", "OperationalError", "--message", "database is locked", "--session", "shop-2026-10"]
        assert run([*base, "error", "match", *failure]) == 0
        assert run([*base, "error", "confirm", "error:1", "--session", "shop-2026-10"]) == 0
        found = _get(page, "/")
        assert "Lately" in found.text and "make the walrus tests pass" in found.text and "3f0c9a52" not in found.text
        lines = re.sub(r"\s+", " ", found.text)
        assert "decidedWe keep walruses in a table of their own" in lines
        assert "mendedOperationalError: database is locked" in lines
        assert "failedOperationalError: database is locked" in lines

    def test_what_a_colleague_found_is_hers_and_opens(self, page: Served, loaded: Location, tmp_path: Path) -> None:
        with make_store(tmp_path / "anna") as anna, Call(db=loaded.primary).open() as store:
            save(anna, "notes/walrus.md", "A walrus.", summary="The walrus waits.")
            bring(store, exported_bytes(anna))
            with store.write() as change:
                decide(change, uuid_of(anna), "accepted", "person", "anna")
            digits = uuid_of(anna)[:8]
        address = f"/finding?id=package%3A1%40{digits}"
        assert address in _get(page, "/").links
        assert "research by investigator · of anna" in Markup(page.browser.get(address).text).text
        found = _get(page, "/", q="walrus")
        assert "/?q=walrus+origin%3Aanna" in found.links and "· of anna" in found.text
        assert "Nothing found" in _get(page, "/", q="walrus origin:here").text
        health = _get(page, "/status")
        assert "accepted by person" in health.text and "/?q=origin%3A%22anna%22" in health.links

    def test_a_traceback_is_named_by_its_last_line(self) -> None:
        traceback = "Traceback (most recent call last):\n  File x\nKeyError: 1\n"
        assert headline(traceback) == "KeyError: 1"
        assert headline("make: *** [test] Error 1\nmore") == "make: *** [test] Error 1" and headline("") == ""
        assert headline("E       assert 1 == 2\nE        +  where") == "assert 1 == 2"

    def test_a_fix_that_is_not_confirmed_and_a_failure_without_one_wait(self, page: Served, loaded: Location) -> None:
        base = ["--db", loaded.primary, "-q"]
        failure = ["--type", "KeyError", "--message", "'walrus'"]
        for _ in range(2):
            assert run([*base, "error", "match", *failure, "--session", "shop-2026-10"]) in (0, 1)
        found = _get(page, "/")
        assert "Failures without a fix" in found.text and "seen 2 times" in found.text
        assert run([*base, "error", "save", *failure, "--solution", "Feed the walrus."]) == 0
        found = _get(page, "/")
        assert "Failures without a fix" not in found.text
        assert "Fixes that are not confirmed" in found.text and "Feed the walrus." in found.text

    def test_orders_of_other_stores_wait_and_are_refused_in_place(self, page: Served, loaded: Location) -> None:
        with Call(db=loaded.primary).open() as store, store.write() as change:
            uuid = "9f3c27ab-0000-4000-8000-000000000001"
            origin_code(change.connection, uuid)
            decide(change, uuid, "accepted", "person", "anna")
            enter(change, Order(uuid, FORGET, "path", "0" * 32, ""), "file", 12, is_obeyed=False)
            enter(change, Order(uuid, FORGET, "session", "1" * 32, ""), "log", 3, is_obeyed=True)
        found = _get(page, "/")
        assert (
            "anna: a path, which is in 12 records of others" in found.text and "ctxrank origins agree 1" in found.text
        )
        assert (
            "anna: a session, which was in 3 records of others" in found.text and "ctxrank origins undo 2" in found.text
        )
        writing = served(loaded.primary, is_writing=True)
        with writing.browser:
            assert "Forget them" in _get(writing, "/").text
            given = {"form": writing.access.form_token, "what": "decline", "id": "1"}
            assert writing.browser.post("/change", data=given, headers={"origin": BASE}).headers["location"] == "./"
            assert "Orders to forget" not in _get(writing, "/").text

    def test_where_nothing_happened_since_yesterday_the_last_is_shown(self, page: Served) -> None:
        found = _get(page, "/")
        assert "Nothing since yesterday" in found.text and "This was recorded last" in found.text
        assert "/sessions?name=shop-2026-11" in found.links

    def test_an_empty_store_says_what_fills_it(self, tmp_path: Path) -> None:
        assert run(["--root", str(tmp_path), "--db", str(tmp_path / ".ctxrank" / "ctxrank.db"), "-q", "init"]) == 0
        found = served(str(tmp_path / ".ctxrank" / "ctxrank.db"))
        with found.browser:
            for path, words in (
                ("/", "ctxrank install"),
                ("/errors", "ctxrank error run"),
                ("/links", "ctxrank index"),
            ):
                assert words in _get(found, path).text and _get(found, path).elements["h1"] == 1

    def test_a_task_that_is_written_as_the_empty_view_says_is_drawn(self, tmp_path: Path) -> None:
        here = ["--root", str(tmp_path), "--db", str(tmp_path / ".ctxrank" / "ctxrank.db"), "-q"]
        assert run([*here, "init"]) == 0
        found = served(here[3])
        with found.browser:
            path, *fields, fence = re.findall("<code>(.*?)</code>", found.browser.get("/links").text)[1:-1]
            task = tmp_path / path
            task.parent.mkdir(parents=True)
            task.write_text("\n".join([fence, *fields, fence, "# A task\n"]))
            assert run([*here, "index"]) == 0
            assert "TASK-1" in _get(found, "/links", task="TASK-1").text


class TestFinding:
    def test_text_has_line_numbers_and_the_query_its_reasons(self, page: Served) -> None:
        found = _get(page, "/finding", id="package:7", q="database locked")
        assert "WAL mode" in found.text and "The whole sum" in found.text and "place1" in re.sub(r"\s", "", found.text)

    def test_versions_stand_side_by_side(self, page: Served) -> None:
        found = _get(page, "/finding", id="package:9", other="package:3")
        assert "Beside package:3" in found.text and "Versions" in found.text

    def test_lines_of_two_texts_are_paired(self) -> None:
        left, right = compared(["a", "b", "c"], ["a", "B", "c", "d"])
        assert [line.change for line in left] == ["", "removed", ""]
        assert [(line.number, line.change) for line in right] == [(1, ""), (2, "added"), (3, ""), (4, "added")]

    def test_long_texts_of_few_different_lines_are_paired_at_once(self) -> None:
        begun = time.perf_counter()  # 77 s where every pair of equal lines was tried
        compared(["", "x", "y"] * 400, ["", "y", "x"] * 400)
        assert time.perf_counter() - begun < 10

    def test_the_code_that_it_names_has_its_state(self, page: Served, loaded: Location) -> None:
        code = Path(loaded.root) / "shelf.py"
        code.write_text("def put(book):\n    return book\n\n\ndef take(book):\n    return None\n")
        here = ["--db", loaded.primary, "--root", loaded.root, "-q"]
        assert run([*here, "save", "A walrus: `put` in shelf.py is slow", "--session", "shop-2026-10"]) == 0
        assert "drifted" not in _get(page, "/", q="walrus").text
        code.write_text("def put(book):\n    return [book]\n")
        assert run([*here, "index"]) == 0
        found = _get(page, "/", q="walrus")
        assert "its code has changed since" in found.text and "drifted" in found.text
        assert "Findings whose code has changed" in _get(page, "/").text
        assert "A walrus" in _get(page, "/", q="walrus", drifted=1).text
        (number,) = re.findall(r"package:(\d+)", found.text)[:1]
        shown = _get(page, "/finding", id=f"package:{number}").text
        assert "Code that it names" in shown and "shelf.py:1" in shown and "1 line" in shown

    def test_a_block_that_held_it_is_listed(self, page: Served, loaded: Location) -> None:
        words = ["assemble", "--session", "shop-2026-10", "--group", "AUTH", "--agent", "developer", "--task", _TASK]
        assert run(["--db", loaded.primary, "-q", *words]) == 0
        found = _get(page, "/finding", id="package:2")
        assert "Blocks that held or omitted it" in found.text and "matches" in found.text and "delivered" in found.text
        assert "/receipt?id=1" in found.links and "summary of 21 tokens" in found.text

    def test_where_it_was_opened_is_the_way_back_and_the_place_in_the_menu(self, page: Served) -> None:
        back = "blocks?session=shop-2026-10&task=refresh+token"
        answer = page.browser.get("/finding", params={"id": "package:2", "back": back})
        assert '<a href="blocks" aria-current="page">' in answer.text
        found = Markup(answer.text)
        assert f"/{back}" in found.links and "← Blocks" in found.text and "For “refresh token”" in found.text

    def test_no_way_back_leads_elsewhere(self, page: Served) -> None:
        for back in ("//evil.example/blocks", "javascript:alert(1)", "https://evil.example", "/blocks", "blocksx"):
            assert "← " not in _get(page, "/finding", id="package:2", back=back).text

    def test_an_error_shows_its_record(self, page: Served) -> None:
        found = _get(page, "/finding", id="error:1")
        assert "BEGIN IMMEDIATE" in found.text and "Recognised by" in found.text


class TestAnError:
    def test_it_says_when_and_where_it_was_seen(self, page: Served, loaded: Location) -> None:
        failure = ["--type", "OperationalError", "--message", "database is locked"]
        for name in ("shop-2026-10", "shop-2026-11", "shop-2026-10"):
            assert run(["--db", loaded.primary, "-q", "error", "match", *failure, "--session", name]) == 0
        found = _get(page, "/finding", id="error:1")
        text = re.sub(r"\s+", " ", found.text)
        assert "first seen" in text and "last seen" in text and "2conversations" in text
        assert found.elements["rect"] == 1  # all of one day
        assert "/sessions?name=shop-2026-11" in found.links and "not resolved" in text and "2 times" in text

    def test_an_edit_that_fixed_it_is_shown_as_what_went_and_what_came(self) -> None:
        lines = list(fix_lines("edit a/b.py: `old` → `new`, then edit c.txt: `more`, then run `make`"))
        assert [(line.text, line.change) for line in lines] == [
            ("a/b.py", "file"), ("old", "removed"), ("new", "added"), ("c.txt", "file"), ("more", "added"),
            ("run `make`", ""),
        ]  # fmt: skip
        assert [line.change for line in fix_lines("Say so.\n-gone\n+come\n- a point\n--flag")] == [
            "", "removed", "added", "", "",
        ]  # fmt: skip

    def test_it_is_confirmed_where_it_stands_by_a_page_that_may(self, page: Served, loaded: Location) -> None:
        assert "ctxrank error confirm error:1" in _get(page, "/finding", id="error:1").text
        writing = served(loaded.primary, is_writing=True)
        with writing.browser:
            assert "It did not" in _get(writing, "/finding", id="error:1").text

    def test_what_agents_did_before_it_was_over_is_what_was_tried(self, page: Served, loaded: Location) -> None:
        with Call(db=loaded.primary).open() as store, store.write() as change:
            query = "SELECT instance FROM error_signatures WHERE pattern_id = 1"
            known = next(iter(change.connection.execute(query)))[0]
            said = json.dumps({"instance": known, "actions": [["k", "edit db.py: `BEGIN`"]], "others": []})
            record_event(change, find_session(change.connection, "shop-2026-10").id, None, "transcript_repair", said)
        assert "edit db.py: `BEGIN`" in _get(page, "/finding", id="error:1").text


class TestBlocks:
    def test_a_budget_is_shown_by_class_and_what_it_leaves_out_with_reasons(self, page: Served) -> None:
        found = _get(page, "/blocks", session="shop-2026-10", group="AUTH", agent="developer", task=_TASK, budget=900)
        assert "of 900 tokens" in found.text and "packages" in found.text
        assert "over the budget of 900 tokens" in found.text and "## Context for developer" in found.text

    def test_a_budget_that_nobody_set_is_the_agent_s_share(self, page: Served) -> None:
        given = {"session": "shop-2026-10", "agent": "developer"}
        answer = page.browser.get("/blocks", params=given).text
        assert 'of 51,800 tokens (<span data-share="51800">developer' in answer and 'placeholder="51800"' in answer
        field = re.search(r'<input type="number"[^>]*name="budget"[^>]*>', answer)
        assert field and 'value=""' in field[0] and len(re.findall(r'name="budget"', answer)) == 1
        set_to = page.browser.get("/blocks", params={**given, "budget": "900"}).text
        assert "of 900 tokens ·" in set_to and 'value="900"' in set_to and "tokens (" not in set_to

    def test_what_is_left_out_has_its_title_its_tokens_and_its_place(self, page: Served) -> None:
        found = _get(page, "/blocks", session="shop-2026-10", group="AUTH", agent="developer", budget=900)
        assert "4th; developer gets 3" in found.text and "of limit" not in found.text
        assert "Where should the browser keep a session?" in found.text  # it names package:1
        assert re.search(r"\+ [\d,]+ tokens", found.text) and "shortened" in found.text

    def test_of_thousands_left_out_the_first_are_named(self, page: Served, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(blocks_page, "MOST_LEFT_OUT", 2)
        found = _get(page, "/blocks", session="shop-2026-10", agent="developer", budget=300)
        assert found.text.count("over the budget of 300") == 2 and re.search(r"and \d+ more", found.text)
        assert re.search(r"3 items, 9 left out", found.text)

    def test_a_task_that_is_not_there_says_so_as_the_terminal_does(self, page: Served) -> None:
        found = _get(page, "/blocks", session="shop-2026-10", agent="developer", task_id="TASK-420")
        assert "There is no task 'TASK-420'. Did you mean TASK-042" in found.text

    def test_two_agents_stand_side_by_side(self, page: Served) -> None:
        found = _get(page, "/blocks", session="shop-2026-10", agent="developer", second="qa_expert")
        assert "What developer gets" in found.text and "What qa_expert gets" in found.text


class TestReceipts:
    def _assemble(self, loaded: Location, *more: str) -> None:
        words = ["assemble", "--session", "shop-2026-10", "--group", "AUTH", "--agent", "developer", *more]
        assert run(["--db", loaded.primary, "-q", *words]) == 0

    def test_the_receipts_are_listed_by_session_and_agent(self, page: Served, loaded: Location) -> None:
        self._assemble(loaded)
        found = _get(page, "/receipts")
        assert "/receipt?id=1" in found.links and "shop-2026-10/AUTH" in found.text
        assert "/receipt?id=1" not in _get(page, "/receipts", agent="qa_expert").links

    def test_two_stand_side_by_side_with_what_differs(self, page: Served, loaded: Location) -> None:
        self._assemble(loaded, "--task", _TASK)
        self._assemble(loaded, "--budget", "900")
        found = _get(page, "/receipts", left=1, right=2)
        text = re.sub(r"\s+", " ", found.text)
        assert "Receipt 1 beside receipt 2" in text and "budgetnot set900" in re.sub(r"\s*\n\s*", "", found.text)
        assert _TASK in text and "left out" in text and "Why customers are logged out at random" in text
        assert "/finding?id=package%3A2" in found.links
        assert "/receipts?left=1&right=2" in _get(page, "/receipt", id=2).links

    def test_what_is_in_both_and_was_shortened_in_one_is_in_both(self, page: Served, loaded: Location) -> None:
        self._assemble(loaded, "--budget", "900")
        self._assemble(loaded, "--budget", "900")
        assert "Nothing differs" not in _get(page, "/receipts", left=1, right=2).text  # they are of two moments
        assert "In both, and not the same" not in _get(page, "/receipts", left=1, right=2).text

    def test_one_that_is_not_there_is_said(self, page: Served) -> None:
        assert page.browser.get("/receipts?left=98&right=99").status_code == 404


class TestSessions:
    def test_lanes_are_groups_or_agents(self, page: Served) -> None:
        by_group = _get(page, "/sessions", name="shop-2026-10")
        assert "QUEUE" in by_group.text and by_group.elements["circle"] > 8
        by_agent = _get(page, "/sessions", name="shop-2026-10", lanes="agent")
        assert "investigator" in by_agent.text

    def test_a_fix_is_linked_to_its_failure_and_opens_the_error(self, page: Served, loaded: Location) -> None:
        base = ["--db", loaded.primary, "-q"]
        failure = ["--type", "OperationalError", "--message", "database is locked"]
        session = ["--session", "shop-2026-10"]
        assert run([*base, "error", "match", *failure, *session, "--group", "QUEUE"]) == 0
        assert run([*base, "error", "confirm", "error:1", *session]) == 0
        found = _get(page, "/sessions", name="shop-2026-10")
        assert "failure" in found.text and "fix" in found.text and found.elements["path"] >= 1
        assert "/finding?id=error%3A1&back=sessions%3Fname%3Dshop-2026-10" in found.links

    def test_a_runners_session_is_named_by_its_title_and_says_what_came_of_it(
        self, page: Served, loaded: Location
    ) -> None:
        runner = Runner(Path(loaded.root), "3f0c9a52-7d51")
        runner.prompt("make the walrus tests pass")
        runner.stops("## Decisions\n\nWe keep walruses in a table of their own, since they are no birds.")
        found = _get(page, "/sessions", name="3f0c9a52-7d51")
        assert "make the walrus tests pass" in found.text and "We keep walruses in a table" in found.text
        assert "make the walrus tests pass" in _get(page, "/", q="walruses table").text

    def test_a_failure_that_nothing_explains_opens_as_it_was_seen(self, page: Served, loaded: Location) -> None:
        failure = ["--type", "KeyError", "--message", "'walrus'", "--session", "shop-2026-10"]
        assert run(["--db", loaded.primary, "-q", "error", "match", *failure]) in (0, 1)
        address = "/failure?name=shop-2026-10&id=failure%3A1"
        assert address in _get(page, "/sessions", name="shop-2026-10").links
        found = Markup(page.browser.get(address).text)
        assert "KeyError: 'walrus'" in found.text and "No fix is known" in found.text and "Not resolved" in found.text
        assert page.browser.get("/failure?name=shop-2026-10&id=failure:99").status_code == 404

    def test_a_block_of_the_past_is_opened_from_its_row(self, page: Served, loaded: Location) -> None:
        words = ["assemble", "--session", "shop-2026-10", "--group", "AUTH", "--agent", "developer", "--budget", "900"]
        assert run(["--db", loaded.primary, "-q", *words]) == 0
        assert "/receipt?id=1" in _get(page, "/sessions", name="shop-2026-10").links
        found = _get(page, "/receipt", id=1)
        assert "Block 1: what developer got" in found.text and "Left out or shortened" in found.text
        assert "4th; developer gets 3" in found.text and "Why customers are logged out at random" in found.text
        assert "/blocks?session=shop-2026-10&group=AUTH&agent=developer&budget=900" in found.links
        assert page.browser.get("/receipt?id=99").status_code == 404
        assert page.browser.get("/receipt").status_code == 404

    def test_what_a_task_reached_is_a_block_of_the_past_too(self, page: Served, loaded: Location) -> None:
        assert run(["--db", loaded.primary, "-q", "context", "TASK-042", "--budget", "900"]) == 0
        found = _get(page, "/receipt", id=1)
        assert "what TASK-042 reached" in found.text and "do not fit the budget" in found.text

    def test_every_record_opens_what_it_stands_for(self, page: Served, loaded: Location) -> None:
        words = ["assemble", "--session", "shop-2026-10", "--group", "AUTH", "--agent", "developer"]
        assert run(["--db", loaded.primary, "-q", *words]) == 0
        found = _get(page, "/sessions", name="shop-2026-10")
        opened = {link for link in found.links if link.startswith(("/finding", "/receipt", "/failure"))}
        assert len(opened) > 9 and all(page.browser.get(link).status_code == 200 for link in opened)

    def test_records_are_folded_by_day_and_a_day_opens_alone(self, page: Served, loaded: Location) -> None:
        found = _get(page, "/sessions", name="shop-2026-10")
        assert found.elements["details"] > 2 and re.search(r"\d+ records on \d+ days, the newest first", found.text)
        day = next(link for link in found.links if link.startswith("/sessions?") and "from=" in link)
        alone = Markup(page.browser.get(day).text)
        assert "on 1 day" in alone.text and "Whole session" in alone.text

    def test_what_a_block_holds_is_asked_alone(self, page: Served, loaded: Location) -> None:
        words = ["assemble", "--session", "shop-2026-10", "--group", "AUTH", "--agent", "developer"]
        assert run(["--db", loaded.primary, "-q", *words]) == 0
        held = page.browser.get("/receipt", params={"id": 1}, headers={"x-fragment": "1"})
        assert held.status_code == 200 and Markup(held.text).elements["h1"] == 0
        assert "Why customers are logged out at random" in held.text

    def test_a_time_is_zoomed_into(self, page: Served) -> None:
        found = _get(page, "/sessions", name="shop-2026-10", **{"from": 1, "to": 2})
        assert "0 records" in found.text and "Whole session" in found.text


class TestErrors:
    def _pasted(self, page: Served, output: str) -> Markup:
        data = {"output": output, "form": page.access.form_token}
        answer = page.browser.post("/errors", data=data, headers={"origin": BASE})
        assert answer.status_code == 200
        return Markup(answer.text)

    def test_a_known_failure_has_its_fix_and_how_sure_that_is(self, page: Served) -> None:
        found = self._pasted(page, "x.c:3:5: error: unknown type\nsqlite3.OperationalError: database is locked\n")
        assert "BEGIN IMMEDIATE" in found.text and "sure that this helps" in found.text
        assert "2 errors in the output" in found.text and "Compared as" in found.text

    def test_a_text_without_an_error_is_not_counted_as_one(self, page: Served) -> None:
        found = self._pasted(page, "all good\nnothing to see\n")
        assert "No error is announced in this" in found.text and "1 error" not in found.text

    def test_a_near_miss_says_what_ruled_it_out(self, page: Served) -> None:
        found = self._pasted(page, "sqlite3.OperationalError: database table is locked: jobs\n")
        assert "Not known" in found.text and "error:1, is ruled out: another word: table" in found.text
        assert "/finding?id=error%3A1&back=errors" in found.links and "error:1 is OperationalError" in found.text

    def test_nothing_of_it_is_recorded(self, page: Served, loaded: Location) -> None:
        self._pasted(page, "sqlite3.OperationalError: database is locked\n")
        assert "Seen " not in _get(page, "/finding", id="error:1").text


class TestLinks:
    def test_a_closure_is_drawn_by_tier(self, page: Served) -> None:
        found = _get(page, "/links", task="TASK-042", budget=900)
        assert "found by search" in found.text and "left out" in found.text and found.elements["path"] > 5

    def test_a_broken_link_is_shown(self, page: Served) -> None:
        found = _get(page, "/links", task="TASK-043")
        assert "broken link" in found.text and "DEC-BILLING-004" in found.text


def test_health_counts_the_answers_of_this_server(page: Served) -> None:
    for _ in range(3):
        _get(page, "/", q="lock")
    found = _get(page, "/status")
    assert "half of the last 3 answers" in found.text and "index.db" in found.text


def test_a_text_is_cut_at_its_marks() -> None:
    assert [piece.text for piece in pieces("one two", ((4, 7),))] == ["one ", "two"]
    assert [piece.text for piece in pieces("a **b** c", ((2, 7),), "**")] == ["a ", "b", " c"]


def test_a_moment_and_a_share_read_well() -> None:
    assert ago(format_us(now_us() - 2 * DAY_US - 1)) == "2 days ago"
    assert ago("nonsense") == "nonsense"
    assert clock("2026-10-08T08:10:00.123456Z") == "2026-10-08 08:10:00 UTC" and clock("nonsense") == "nonsense"
    assert [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 112)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "112th",
    ]  # fmt: skip
    assert said("rank 2 of limit 1; delivered", "qa") == "2nd; qa gets 1; delivered"
    assert (share(0.52), share(1.2), share(0)) == (".520", "1.200", "0")


def test_no_template_trusts_a_text() -> None:
    """Autoescape is of use only where nothing is called safe."""
    for template in files("ctxrank.extensions.web").joinpath("templates").iterdir():
        text = template.read_text("utf-8")
        assert not re.search(r"\|\s*safe|autoescape|Markup|style=|\son\w+=|<script(?! type=\"module\" src=)", text), (
            template
        )


def test_a_store_of_one_document_is_said_to_have_one(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", "zebras\n")
        found = served(store.location.primary)
    with found.browser:
        assert "1 document, index up to date" in _get(found, "/").text


def test_the_first_page_shows_nothing_that_older_rules_have_left(tmp_path: Path) -> None:
    token = leave_token(tmp_path)
    found = served(str(tmp_path / ".ctxrank/ctxrank.db"))
    with found.browser:
        text = _get(found, "/").text
    assert token not in text and "_REDACTED" in text
