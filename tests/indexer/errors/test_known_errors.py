"""What fixed an error is saved once and counted; its record decides its state; what fails is remembered."""

import io
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from builders import make_store, run_child, search_ids, start_child
from exported import ELSEWHERE, asked_store, bring, exported_bytes
from ranking_builders import TODAY, know_error
from tables import each_row

from ctxrank.indexer.clock import DAY_US, now_us
from ctxrank.indexer.errors import lookup, patterns
from ctxrank.indexer.errors.failure_text import NO_TEXT, NOTHING_PRINTED, read_failure_text, told_failure
from ctxrank.indexer.errors.failures import FailurePlace, Sighting, last_failure, record_failure, resolve, seen_before
from ctxrank.indexer.errors.listing import get_error, list_errors, recognition_of
from ctxrank.indexer.errors.lookup import Whose, put_signature
from ctxrank.indexer.errors.parse.capture import HEAD_BYTES, TAIL_BYTES, Capture, capture_file, capture_stream
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.patterns import ErrorPattern
from ctxrank.indexer.errors.signature import sign, terms_of
from ctxrank.indexer.errors.solutions import NewKnownError, SavedKnownError, confirm, save_error
from ctxrank.indexer.exceptions import NotFoundError, UsageError
from ctxrank.indexer.privacy.retention import prune_expired
from ctxrank.indexer.records.sessions import find_session
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.store.ids import origin_and_number
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.errors.answer import Asked, ErrorAnswer, recognise
from ctxrank.ranking.errors.calibration import record_bound

LOCKFILE = "error: the lockfile of '{}' cannot be read by this version"
MODE = RedactionMode.PATTERN_ONLY
_SAVE = """
import sys
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.opening import open_store
with open_store(sys.argv[1]) as store:
    for _ in range(10):
        save_error(store, NewKnownError("error: the lockfile of 'shop' cannot be read", "Upgrade it."))
"""


@pytest.fixture
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """Where errors are saved; they are asked for there, or in a store that has them from there alone."""
    with make_store(tmp_path) as made:
        if getattr(request, "param", "own") == ELSEWHERE:
            (tmp_path / ELSEWHERE).mkdir()
        yield made


everywhere = pytest.mark.parametrize("store", ["own", ELSEWHERE], indirect=True)


def saved(store: Store, failure: str, solution: str = "Upgrade it.", **values: object) -> SavedKnownError:
    return save_error(store, NewKnownError(failure, solution)._replace(**values))  # type: ignore[arg-type]


def ask(
    store: Store, failure: str, project: str = "default", lang: str | None = None, now: int | None = None
) -> ErrorAnswer:
    with asked_store(store) as asked:
        answer = recognise(asked.primary, failure, Asked(project, now_us() if now is None else now, lang))
    matches = (fix.match for fix in answer.fixes)
    own = (match._replace(pattern_id=origin_and_number(match.pattern_id)[1]) for match in matches)
    return answer._replace(fixes=tuple(fix._replace(match=match) for fix, match in zip(answer.fixes, own, strict=True)))


def age(store: Store, days: int) -> None:
    with store.write() as change:
        change.connection.execute("UPDATE error_patterns SET last_seen = last_seen - ?", (days * DAY_US,))


# Saving


@everywhere
def test_a_saved_error_is_recognised_found_and_shown(store: Store) -> None:
    done = saved(store, LOCKFILE.format("shop"), hints=("npm 6", "CI"))
    assert (done.id, done.is_new, done.occurrences, done.state, done.solution) == (1, True, 1, "sighted", "new")
    (fix,) = ask(store, LOCKFILE.format("shop")).fixes
    assert (fix.solution, fix.match.grade, fix.occurrences) == ("Upgrade it.", "exact", 1)
    assert search_ids(store, "lockfile") == search_ids(store, "upgrade") == ["error:1"]
    stored, recognition = get_error(store.primary, 1), recognition_of(store.primary, 1)
    assert stored.hints == ("npm 6", "CI") and stored.expires_at - stored.last_seen == 90 * DAY_US
    assert recognition is not None and recognition.values == ("shop",)


def test_d14_sixty_saves_at_once_are_sixty(store: Store) -> None:
    children = [start_child(_SAVE, store.location.primary) for _ in range(6)]
    for child in children:
        child.communicate(timeout=60)
    assert [child.returncode for child in children] == [0] * 6
    assert [error.occurrences for error in list_errors(store.primary)] == [60]


@pytest.mark.parametrize(
    ("old", "new", "done", "stands"),
    [
        ("Upgrade it.", "Upgrade it.", "same", "Upgrade it."),
        ("Upgrade it.", "Upgrade it with --force.", "replaced", "Upgrade it with --force."),
        ("Upgrade it.", "Buy one.", "kept", "Upgrade it."),
    ],
)
def test_of_two_untried_solutions_the_longer_stands(store: Store, old: str, new: str, done: str, stands: str) -> None:
    saved(store, LOCKFILE.format("shop"), old)
    again = saved(store, LOCKFILE.format("shop"), new)
    assert (again.solution, again.occurrences, again.is_new) == (done, 2, False)
    assert [error.solution for error in list_errors(store.primary)] == [stands]


def test_a_confirmed_solution_stands_and_a_refuted_one_goes_with_its_record(store: Store) -> None:
    saved(store, LOCKFILE.format("shop"))
    confirm(store, 1, has_helped=True)
    assert saved(store, LOCKFILE.format("shop"), "Something much longer than that.").solution == "kept"
    for _ in range(4):
        confirm(store, 1, has_helped=False)
    assert get_error(store.primary, 1).state == "refuted"
    again = saved(store, LOCKFILE.format("shop"), "Buy one.")
    assert (again.solution, again.reason, again.state) == ("replaced", "the known one is refuted", "sighted")
    assert get_error(store.primary, 1)[7:9] == (0, 0) and search_ids(store, "buy") == ["error:1"]
    confirm(store, 1, has_helped=False)
    longer = saved(store, LOCKFILE.format("shop"), "Buy one. It must be a new one.")
    assert (longer.reason, longer.state) == ("the known one is refuted", "sighted")


def test_a_solution_that_says_more_keeps_its_record_and_any_takes_the_place_if_asked(store: Store) -> None:
    saved(store, LOCKFILE.format("shop"))
    confirm(store, 1, has_helped=True)
    assert saved(store, LOCKFILE.format("shop"), "Upgrade it. Version 7 does.").state == "confirmed"
    assert saved(store, LOCKFILE.format("shop"), "No.", is_final=True).state == "sighted"
    assert get_error(store.primary, 1).solution == "No."


def test_a_proposal_takes_the_place_of_no_solution(store: Store) -> None:
    saved(store, LOCKFILE.format("shop"))
    proposal = "After this failure, `npm ci` succeeded once these changed: package.json"
    assert saved(store, LOCKFILE.format("shop"), proposal, is_proposal=True).solution == "kept"


def test_an_error_with_other_values_or_at_another_place_is_another_one(store: Store) -> None:
    trace = "Traceback (most recent call last):\n  File \"{}.py\", line 3, in f\n    x[k]\nKeyError: 'name'\n"
    assert saved(store, LOCKFILE.format("shop")).id == 1
    assert saved(store, LOCKFILE.format("other"), "Delete it.").id == 2
    assert saved(store, trace.format("a"), "Set the name.").id == 3
    assert saved(store, trace.format("b"), "Ask for the name.").id == 4
    assert saved(store, trace.format("b").replace("line 3", "line 9"), "Ask for the name.").id == 4


def test_what_the_matcher_recognised_is_counted_where_the_solution_is_the_same(store: Store) -> None:
    saved(store, LOCKFILE.format("shop"))
    assert saved(store, LOCKFILE.format("other"), known_id=1).occurrences == 2
    assert saved(store, LOCKFILE.format("third"), "Delete it.", known_id=1).id == 2


@everywhere
def test_patterns_belong_to_a_project_and_a_language(store: Store) -> None:
    saved(store, LOCKFILE.format("shop"), lang="Go", project="shop")
    assert saved(store, LOCKFILE.format("shop"), project="other").id == 2
    assert saved(store, LOCKFILE.format("shop"), lang="rust", project="shop").id == 3
    asked = ask(store, LOCKFILE.format("shop"), lang="go", project="shop")
    assert [fix.match.pattern_id for fix in asked.fixes] == [1]
    assert ask(store, LOCKFILE.format("shop"), project="third").fixes == ()
    assert [error.id for error in list_errors(store.primary, project="shop", lang="rust")] == [3]


@everywhere
def test_a_pattern_of_no_project_is_recognised_in_any_and_counted_in_its_own(store: Store) -> None:
    saved(store, LOCKFILE.format("shop"))
    assert [fix.match.pattern_id for fix in ask(store, LOCKFILE.format("shop"), project="shop").fixes] == [1]
    # Near, which is found by rare terms: their hashes hold the project.
    text = "error: only traits defined in the current crate can be implemented for {}kinds and friends"
    near = saved(store, text.format("the ")).id
    (fix,) = ask(store, text.format(""), project="shop").fixes
    assert (fix.match.pattern_id, fix.match.grade) == (near, "near")
    assert saved(store, LOCKFILE.format("shop"), project="shop").id == near + 1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"failure": " \n"}, "no error"), ({"solution": " "}, "no solution"), ({"project": ""}, "needs a project"),
        ({"solution": "x" * 4001}, "4,001 characters"),
    ],
)  # fmt: skip
def test_what_cannot_be_saved_is_refused_and_nothing_is_written(
    store: Store, values: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        saved(store, **{"failure": "error: x", **values})
    assert list_errors(store.primary) == []


@everywhere
def test_secrets_are_taken_out_of_all_that_is_saved_and_still_match(store: Store) -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    failure = read_failure_text(f"fatal: cannot push with \x1b[1m{secret[:9]}\x1b[0m{secret[9:]}\n".encode(), MODE).text
    done = saved(store, failure, f"Use {secret}", hints=(secret,))
    assert done.is_redacted
    dump = [str(tuple(row)) for table in ("error_patterns", "error_signatures", "documents")
            for row in store.primary.execute(f"SELECT * FROM {table}")]  # fmt: skip
    assert not any(secret in row or secret[9:] in row for row in dump)
    assert len(ask(store, failure).fixes) == 1


# Records and states


def test_a_state_says_that_the_bound_of_the_record_lies_on_that_side_of_a_half() -> None:
    for confirmations, refutations in product(range(12), repeat=2):
        if (confirmations - refutations) ** 2 == confirmations + refutations > 1:
            continue  # where the bound is one half exactly, a rounding error decides there
        state = patterns.state_of(confirmations, refutations)
        assert (state == "confirmed") == (record_bound(confirmations, refutations) >= 0.5)
        assert (state == "refuted") == (record_bound(refutations, confirmations) >= 0.5)


def test_sql_and_python_agree_on_every_state(store: Store) -> None:
    saved(store, LOCKFILE.format("shop"))
    for step, has_helped in enumerate([True] * 5 + [False] * 14 + [True] * 20):
        record = confirm(store, 1, has_helped=has_helped)
        assert record.confirmations + record.refutations == step + 1
        assert record.after == patterns.state_of(record.confirmations, record.refutations)


def test_a_record_is_read_back_from_the_predecessors_confidence() -> None:
    told = (0.5, 0.6, 0.9, 1.0, 0.3, 0.1)
    assert [patterns.record_of(one) for one in told] == [(0, 0), (1, 0), (4, 0), (5, 0), (0, 1), (0, 2)]


def test_confirming_what_is_not_there_is_an_error(store: Store) -> None:
    with pytest.raises(NotFoundError, match="no error 7"):
        confirm(store, 7, has_helped=True)


# Time


@everywhere
def test_d08_an_expired_error_is_not_answered_nor_listed_and_prune_removes_it(store: Store) -> None:
    saved(store, LOCKFILE.format("shop"))
    age(store, 91)
    answer = ask(store, LOCKFILE.format("shop"))
    assert answer.fixes == () and "has expired" in answer.reason
    assert list_errors(store.primary) == [] and len(list_errors(store.primary, with_expired=True)) == 1
    assert prune_expired(store, {}, is_dry_run=True).total == 1
    assert prune_expired(store, {}).deleted["error"] == 1
    for table in ("error_patterns", "error_signatures", "error_terms"):
        assert store.primary.execute(f"SELECT count(*) FROM {table}").get == 0
    assert search_ids(store, "lockfile") == []


@everywhere
def test_an_error_that_is_saved_again_lives_again(store: Store) -> None:
    saved(store, LOCKFILE.format("shop"))
    age(store, 91)
    assert saved(store, LOCKFILE.format("shop")).occurrences == 2
    assert len(ask(store, LOCKFILE.format("shop")).fixes) == 1


# Failures that were seen


def seen(store: Store, text: str, group: str | None = None, session: str = "S") -> int | None:
    answer = ask(store, text)
    assert answer.signature is not None
    pattern_id = answer.fixes[0].match.pattern_id if answer.fixes else None
    sighting = Sighting(answer.signature, answer.unit, now_us())
    return record_failure(store, FailurePlace(session, group), sighting, pattern_id, create_session=True)


def test_the_last_failure_of_a_group_is_its_own_or_the_sessions(store: Store) -> None:
    seen(store, "error: one", "A")
    seen(store, "error: two", "B")
    groups = [int(row[0]) for row in store.primary.execute("SELECT id FROM groups ORDER BY id")]
    last = [last_failure(store.primary, 1, group, now=now_us()) for group in (*groups, None)]
    assert last == ["error: one", "error: two", "error: two"]
    seen(store, "error: three")
    assert last_failure(store.primary, 1, groups[0], now=now_us()) == "error: three"
    assert last_failure(store.primary, 1, None, now=now_us() + 2 * DAY_US) == ""


def test_a_failure_that_is_over_is_no_current_one(store: Store) -> None:
    saved(store, LOCKFILE.format("shop"))
    seen(store, LOCKFILE.format("shop"))
    with store.write() as change:
        assert resolve(change, find_session(change.connection, "S").id, pattern_id=1) == 1
    assert last_failure(store.primary, 1, None, now=now_us()) == ""


@everywhere
def test_a_recorded_failure_counts_the_error_that_it_is(store: Store) -> None:
    saved(store, LOCKFILE.format("shop"))
    seen(store, LOCKFILE.format("shop"))
    assert get_error(store.primary, 1).occurrences == 2


def test_an_unknown_failure_is_known_to_have_been_seen_before(store: Store) -> None:
    for session in ("S", "S", "T"):
        seen(store, LOCKFILE.format("shop"), session=session)
    signature = ask(store, LOCKFILE.format("shop")).signature
    assert signature is not None
    before = seen_before(store.primary, "default", signature.instance)
    assert before is not None and (before.times, before.unsolved) == (3, 3)
    with store.write() as change:
        change.connection.execute("UPDATE sessions SET project = 'shop'")
    assert seen_before(store.primary, "shop", signature.instance) == before
    assert seen_before(store.primary, "other", signature.instance) is None


@pytest.mark.slow
def test_a_session_keeps_its_last_five_hundred_failures(store: Store) -> None:
    for number in range(503):
        seen(store, f"error: x {number}")
    assert store.primary.execute("SELECT count(*), min(id) FROM error_sightings").get == (500, 4)


def test_an_exported_error_is_recognised_where_it_comes_in_with_its_record(store: Store, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    saved(store, LOCKFILE.format("shop"))
    confirm(store, 1, has_helped=True)
    with make_store(tmp_path / "other") as other:
        bring(other, exported_bytes(store))
        (fix,) = ask(other, LOCKFILE.format("shop")).fixes
    assert (fix.match.grade, fix.match.state, fix.match.confirmations) == ("exact", "confirmed", 1)


# Input


def test_a_capture_keeps_whole_lines_of_the_beginning_and_the_end() -> None:
    capture = Capture()
    for number in range(200_000):
        capture.feed(b"%08d\n" % number)
    lines = capture.data().split(b"\n")
    assert (lines[0], lines[-2]) == (b"00000000", b"00199999")
    assert all(len(line) == 8 for line in lines[:-1]) and len(capture.data()) <= HEAD_BYTES + TAIL_BYTES
    short = Capture()
    short.feed(b"a")
    short.feed(b"b\n")
    assert short.data() == b"ab\n"


def test_a_long_file_reads_as_the_same_stream_would(tmp_path: Path) -> None:
    data = b"".join(b"%07d line\n" % number for number in range(400_000))
    (tmp_path / "log").write_bytes(data)
    assert capture_file(str(tmp_path / "log")).data() == capture_stream(io.BytesIO(data)).data()


@each_row(
    "data, trouble",
    [
        (b"", NOTHING_PRINTED), (b" \n\0\n", NOTHING_PRINTED), (b"\x1b[31m\x1b[0m\n", NOTHING_PRINTED),
        (bytes(range(256)) * 50, NO_TEXT), (b"\x7fELF\x02\x01\x01" + b"\0" * 200 + b"\x90\x0f" * 99, NO_TEXT),
        (b"error: " + b"\xe9" * 4, ""), (b"error: " + b"\xe9" * 5, NO_TEXT), (b"error:" + b" " * 50 + b"x", ""),
        (b"x" * 90 + b"\xe9" * 10, ""), (b"x" * 90 + b"\xe9" * 11, NO_TEXT),
        (b"error: caf\xe9 is closed\n", ""), ("\ufefferror: x".encode("utf-16"), ""), (b"x" * 5_000_000, ""),
    ],
)  # fmt: skip
def test_input_that_is_no_text_says_so_and_odd_text_is_read(data: bytes, trouble: str) -> None:
    failure = read_failure_text(data, MODE)
    assert failure.trouble == trouble and bool(failure.text) == (not trouble) and len(failure.text) < 600_000


def test_a_secret_in_a_line_that_is_cut_leaves_no_half_behind() -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    for place in range(1550, 1610):
        text = read_failure_text(f"error: {'x ' * (place // 2)}{secret} {'y ' * 3000}\n".encode(), MODE).text
        assert "a1B2a1B2" not in text


def test_a_told_failure_reads_as_a_program_prints_it() -> None:
    assert told_failure("KeyError", "'x'", MODE).text == "KeyError: 'x'"
    assert told_failure("KeyError", "KeyError: 'x'", MODE).text == "KeyError: 'x'"
    assert told_failure("KeyError", " ", MODE).trouble


def test_the_matcher_is_not_loaded_where_nothing_failed(tmp_path: Path) -> None:
    code = (
        "import sys, ctxrank.ranking.context.assembly.assemble;"
        " print([m for m in sys.modules if 'known_errors.match' in m or 'error_text' in m])"
    )
    assert run_child(code) == "[]\n"


@everywhere
def test_expired_and_foreign_errors_take_no_place_from_a_live_one(store: Store) -> None:
    text = "error: the lockfile of module number {} cannot be read by the older program"
    number = saved(store, text.format("x")).id
    with store.write() as change:
        for copy in range(40):
            pattern = ErrorPattern("default", f"h{copy}", "", "m", "Old.", 1, 1, lang="ruby" if copy % 2 else None)
            last_seen = 1 if copy % 2 == 0 else now_us()
            copied = patterns.upsert(change, pattern._replace(last_seen=last_seen))
            put_signature(change, copied, "default", text.format("x").replace("program", "programs today"))
    answer = ask(store, text.format("x"), lang="python")
    assert [fix.match.pattern_id for fix in answer.fixes] == [number]
    similar = lookup.similar(
        store.primary, Whose("default", now_us(), "python"), terms_of(sign(error_units(text.format("x"))[0]))
    )
    assert [known.pattern_id for known in similar] == [number]


@pytest.mark.parametrize(("most", "found"), [(2, ["heron"]), (3, ["heron", "pool", "tide", "reed"])])
def test_a_frequent_term_is_read_only_where_few_patterns_have_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, most: int, found: list[str]
) -> None:
    for word in ("pool", "tide", "reed"):
        saved(store, f"error: walrus {word}")
    saved(store, "error: heron")
    monkeypatch.setattr(lookup, "MAX_POSTINGS", most)
    asked = sign(error_units("error: walrus heron")[0])
    similar = lookup.similar(store.primary, Whose("default", now_us()), terms_of(asked))
    assert sorted(one.signature.words[-1] for one in similar) == sorted(found)


@everywhere
def test_of_equally_sure_solutions_the_refuted_one_comes_last_however_new_it_is(store: Store) -> None:
    text = "the lockfile of 'shop' cannot be read by this version"
    refuted = know_error(store, text, "Delete it.", confidence=0.1, last_seen=TODAY)
    with store.write() as change:
        change.connection.execute("UPDATE error_patterns SET pattern_hash = 'another', state = 'refuted'")
    sighted = know_error(store, text, "Upgrade it.", confidence=0.5, last_seen=TODAY - DAY_US)
    fixes = ask(store, f"E: {text}", now=TODAY).fixes
    assert [(fix.match.pattern_id, fix.match.state) for fix in fixes] == [(sighted, "sighted"), (refuted, "refuted")]
    assert fixes[0].match.recognition == fixes[1].match.recognition


def test_what_was_learned_of_an_error_is_exported_and_comes_in_again(store: Store, tmp_path: Path) -> None:
    number = save_error(store, NewKnownError(LOCKFILE.format("shop"), "Upgrade it.")).id
    assert b"varying" not in exported_bytes(store)
    with store.write() as change:
        lookup.let_vary(change, number, ("shop",))
    assert b'"varying": ["shop"]' in exported_bytes(store)
    (tmp_path / "other").mkdir()
    with make_store(tmp_path / "other") as other:
        bring(other, exported_bytes(store))
        answer = recognise(other.primary, LOCKFILE.format("cart"), Asked("default", now_us()))
        assert [fix.match.grade for fix in answer.fixes] == ["template"]


def test_what_is_kept_of_an_error_is_its_whole_report_where_that_is_read_as_the_same(store: Store) -> None:
    whole = f"Compiling a\n{LOCKFILE.format('a')}\nDone"
    recognised = recognition_of(store.primary, save_error(store, NewKnownError(whole, "Upgrade it.")).id)
    assert recognised is not None and recognised.unit == whole
    steps = "step of it\n" * 70
    cut = f"FAILED (failures=1)\n{steps}ValueError: bad zebra\n{steps}"
    recognised = recognition_of(store.primary, save_error(store, NewKnownError(cut, "Feed it.")).id)
    assert recognised is not None and recognised.unit.count("\n") in (0, 59)


def test_two_reports_with_one_closing_line_are_two_errors(store: Store) -> None:
    report = "The song says: {}\n\nParsing...\n\nError: the files of 'a.ly' did not compile\n"
    told = ["not a note name: x", "the file is too old", "not a note name: y"]
    saved = [save_error(store, NewKnownError(report.format(one), f"Edit {one}.")).id for one in told]
    assert saved[0] == saved[2] != saved[1]
