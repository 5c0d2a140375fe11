"""What `doctor`, `optimize`, `rebuild` and `status` say of what was found and done, and the exit codes."""

from pathlib import Path
from typing import Any, cast

import pytest
from builders import always, answer_of, make_store, save

from ctxrank.cli.actions.upkeep import doctor, stores
from ctxrank.cli.main import run
from ctxrank.indexer.care import repair as care
from ctxrank.indexer.care.compaction import CompactedFile, Compaction
from ctxrank.indexer.care.finding import Finding, Repair, Result
from ctxrank.indexer.care.new_file import SalvageReport, TableReport
from ctxrank.indexer.care.repair import RepairReport
from ctxrank.indexer.care.status import Status
from ctxrank.indexer.engine import ClusterStatus
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.store.config import Config
from ctxrank.indexer.store.wide_settings import WideSettings
from ctxrank.ranking.context.floor import Floor

_OK = Finding("integrity", Result.OK, "all is well")
_WARN = Finding("folder", Result.WARN, "others may read it", "chmod 700", Repair.PERMISSIONS)
_FAIL = Finding("pages", Result.FAIL, "a page is damaged", "", Repair.SALVAGE)
_BUSY = Finding("index", Result.WARN, "another process has it", is_locked=True)


@pytest.fixture
def db(tmp_path: Path) -> str:
    with make_store(tmp_path) as store:
        save(store, "a.md", "walrus\n", summary="x")
        return store.location.primary


class _Doctor:
    """`ctxrank doctor` on findings and a repair that are made up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, db: str) -> None:
        self.patch, self.db = monkeypatch, db

    def run(
        self, before: list[Finding], *words: str, after: list[Finding] | None = None, report: RepairReport | None = None
    ) -> tuple[int, list[str]]:
        """The exit code, and the lines without what is to be done about each finding."""
        looks = iter([before, after or []])

        def look(*_: object, **__: object) -> list[Finding]:
            return next(looks)

        def repair(*_: object, is_dry_run: bool) -> RepairReport:
            assert is_dry_run is ("dry-run" in words)
            return report or RepairReport((), "", None)

        self.patch.setattr(doctor, "examine", look)
        self.patch.setattr(care, "repair", repair)
        answer = answer_of(lambda: run(["--db", self.db, "doctor", *words]))
        return answer.code, answer.out.splitlines()


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch, db: str) -> _Doctor:
    return _Doctor(monkeypatch, db)


@pytest.mark.parametrize(
    "found, code, counts",
    [
        ([_OK], 0, "1 ok, 0 warnings, 0 failed"),
        ([_OK, _WARN], 0, "1 ok, 1 warning, 0 failed"),
        ([_WARN, _WARN], 0, "0 ok, 2 warnings, 0 failed"),
        ([_OK, _FAIL], 5, "1 ok, 0 warnings, 1 failed"),
        ([_OK, _BUSY], 7, "1 ok, 1 warning, 0 failed"),
        ([_BUSY, _FAIL], 5, "0 ok, 1 warning, 1 failed"),  # damage is more than a lock
    ],
)
def test_what_was_found_is_counted_and_decides_the_exit_code(
    examined: _Doctor, found: list[Finding], code: int, counts: str
) -> None:
    is_code, lines = examined.run(found)
    assert (is_code, lines[-1]) == (code, counts)


def test_the_findings_stand_in_columns_with_what_to_do_below(examined: _Doctor) -> None:
    assert examined.run([_OK, _WARN, _FAIL])[1] == [
        "ok    integrity  all is well",
        "warn  folder     others may read it",
        "                 → chmod 700",
        "fail  pages      a page is damaged",
        "1 ok, 1 warning, 1 failed",
    ]


def test_a_plan_is_numbered_and_changes_nothing(examined: _Doctor) -> None:
    code, lines = examined.run([_WARN, _FAIL], "--repair", "plan")
    assert code == 5 and lines[lines.index("") :] == [
        "",
        "1. permissions: make the store's folder and files private to their owner",
        "2. salvage: copy the store as it is, salvage every readable record, and write them back over it",
        "3. rebuild-index: rebuild the index from the store, after copying the store",
        "'ctxrank doctor --repair dry-run' tries it on a copy; '--repair apply' does it.",
    ]
    for how in ("plan", "dry-run", "apply"):
        assert examined.run([_OK], "--repair", how) == (
            0,
            [
                "ok    integrity  all is well",
                "1 ok, 0 warnings, 0 failed",
                "",
                "repair: nothing to do",
            ],
        )


def _table(name: str, saved: int, rebuilt: int, lost: int, *ids: int, is_known: bool = True) -> TableReport:
    return TableReport(name, saved, rebuilt, lost, ids, is_known, ())


_WHOLE = SalvageReport((_table("sessions", 3, 0, 0), _table("documents", 4, 2, 0)), 0)
_PARTLY = SalvageReport((_table("packages", 5, 0, 2, 7, 9), _table("events", 1, 0, 0, is_known=False)), 4)


def test_a_dry_run_says_what_it_did_to_the_copy(examined: _Doctor) -> None:
    code, lines = examined.run([_FAIL], "--repair", "dry-run", report=RepairReport(("salvaged",), "", _WHOLE))
    assert code == 5 and lines[lines.index("") :] == [
        "",
        "repair: salvaged",
        "        documents          4 saved, 2 rebuilt, 0 lost",
        "        nothing is lost",
        "Nothing was changed. 'ctxrank doctor --repair apply' does it.",
    ]


def test_a_repair_says_what_is_lost_and_what_is_left_and_fails_for_either(examined: _Doctor) -> None:
    report = RepairReport(("salvaged",), "/kept", _PARTLY)
    code, lines = examined.run([_FAIL], "--repair", "apply", after=[_OK, _WARN], report=report)
    assert code == 5 and lines[lines.index("") :] == [
        "",
        "repair: salvaged",
        "        packages           5 saved, 0 rebuilt, 2 lost (numbers 7, 9)",
        "        events             1 saved, 0 rebuilt, 0 or more lost",
        "        4 pages hold rows whose table is not known",
        "The store as it was: /kept",
        "afterwards: 1 ok, 1 warning, 0 failed",
        "        folder: others may read it",
    ]
    lost = SalvageReport((_table("documents", 0, 0, 1),), 0)
    told = examined.run([_FAIL], "--repair", "apply", after=[_OK], report=RepairReport((), "", lost))[1]
    assert "        'ctxrank index' reads the files again, and puts back the passages that are missing" in told
    whole = RepairReport(("done",), "", _WHOLE)
    assert examined.run([_FAIL], "--repair", "apply", after=[_OK], report=whole)[0] == 0
    assert examined.run([_FAIL], "--repair", "apply", after=[_FAIL], report=whole)[0] == 5
    assert examined.run([_FAIL], "--repair", "apply", after=[_BUSY], report=whole)[0] == 7


def test_an_optimisation_says_what_each_file_was_and_what_is_in_the_way(
    db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = (CompactedFile("ctxrank.db", 1234567, 1000),)
    for is_complete, trouble, code in ((True, "", 0), (False, "", 0), (False, "it is damaged", 6)):
        done = Compaction(files, is_complete, 0, trouble)
        monkeypatch.setattr(doctor, "compact", always(done))
        answer = answer_of(lambda: run(["--db", db, "doctor", "--repair", "optimize"]))
        assert (answer.code, answer.out) == (code, "ctxrank.db       1,234,567 → 1,000 bytes\n")
        assert ("another process reads" in answer.err, "it is damaged" in answer.err) == (
            not is_complete,
            bool(trouble),
        )


def test_a_rebuilt_index_says_how_much_it_holds(db: str) -> None:
    answer = answer_of(lambda: run(["--db", db, "doctor", "--repair", "rebuild"]))
    assert (answer.code, answer.out) == (0, "Rebuilt the index: 2 documents\n")


def _status(db: str, **changed: Any) -> Status:
    """The status of a store with nothing in it, but for what is given."""
    nothing = Status(db, "/shop", {}, {}, {}, "", 0, 7, 0, 0, {}, {}, ())
    return nothing._replace(**changed)


@pytest.mark.parametrize(
    "changed, line",
    [
        ({}, "holds     nothing yet"),
        ({"documents": {"artifact": 1, "package": 1}}, "holds     1 file, 1 package"),
        (
            {"documents": {"package": 2000, "reasoning": 1, "strategy": 2, "error": 0, "linked": 3, "skill": 1}},
            "holds     2,000 packages, 1 reasoning entry, 2 strategies, 0 errors, 3 linked artifacts, 1 skill output",
        ),
        ({"documents": {"artifact": 4, "reasoning": 2}, "artifacts": {"fresh": 3}}, "holds     2 reasoning entries"),
        ({"artifacts": {"fresh": 1200, "changed": 1}}, "files     1,200 fresh, 1 changed"),
        (
            {"origins": {"anna 9f3c27ab": 1200}},
            "others    1,200 of anna 9f3c27ab ('ctxrank purge --origin ID' takes them out)",
        ),
        ({}, "index     up to date with what is stored"),
        ({"stale": 3}, "index     3 changes behind"),
        ({"index_trouble": "it is damaged"}, "index     cannot answer: it is damaged; heuristics answer instead"),
        ({"counters": {"tiktoken": 3, "estimate": 1}}, "tokens    counted by tiktoken (3), estimate (1)"),
        ({"processes": {"serve": "12 127.0.0.1:80"}}, "served    by process 12 at 127.0.0.1:80"),
        ({"processes": {"watch": "12"}}, "followed  by process 12"),
        ({}, "redaction rules 7; 0 documents stored under older ones"),
        (
            {"older_ruleset": 5},
            "redaction rules 7; 5 documents stored under older ones"
            " (redacted when shown; 'ctxrank purge --redact' does it for good)",
        ),
        (
            {"older_ruleset": 5, "older_user_rules": 2},
            "redaction rules 7; 5 documents stored under older ones"
            " (2 of them before your own rules existed; 'ctxrank purge --redact' redacts them)",
        ),
    ],
)
def test_a_status_says_what_there_is_and_leaves_out_what_there_is_not(
    db: str, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], line: str
) -> None:
    monkeypatch.setattr(stores, "read_status", always(_status(db, **changed)))
    lines = answer_of(lambda: run(["--db", db, "status"])).out.splitlines()
    assert line in lines
    first_words = {one.split(" ")[0] for one in lines}
    absent = {"others": "origins", "files": "artifacts", "tokens": "counters", "served": "processes", "floor": ""}
    assert not [word for word, field in absent.items() if word in first_words and field not in changed]
    answer = answer_of(lambda: run(["--db", db, "status", "--json"])).json()
    trouble, stale = changed.get("index_trouble"), changed.get("stale")
    assert answer["outcome"] == ("degraded" if trouble else "stale" if stale else "matched")
    assert answer["engine"] == ("heuristic" if trouble else "fts5")


def test_a_floor_that_was_measured_is_said_with_its_promise(db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "measured_floor", always(Floor(0.4, 0.5, 10, 200, "of this project")))
    promise = "of 100 prompts about nothing here, 5 at most get an answer"
    said = f"floor     0.40, pasted 0.50: {promise}, by 200 of this project"
    assert said in answer_of(lambda: run(["--db", db, "status"])).out.splitlines()


class _Cluster:
    """An extension that says this of its cluster."""

    def __init__(self, said: ClusterStatus) -> None:
        self.said = said

    def status(self, *_: object, **__: object) -> ClusterStatus:
        return self.said


@pytest.mark.parametrize(
    "changed, sentence",
    [
        ({}, "a node: 1,200 documents, 3 changes behind"),
        ({"set_aside": 2}, "a node: 1,200 documents, 3 changes behind, 2 refused"),
        (
            {"is_used": False},
            "a node: 1,200 documents, 3 changes behind; asked by no search: engine is not opensearch",
        ),
        ({"trouble": "it does not answer"}, "a node: it does not answer"),
    ],
)
def test_a_cluster_is_said_how_it_is(
    db: str, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], sentence: str
) -> None:
    found = ClusterStatus("a node", "ctxrank", is_used=True, documents=1200, behind=3)._replace(**changed)
    monkeypatch.setattr(stores, "provided", always(_Cluster(found)))
    monkeypatch.setattr(stores, "load_config", always(Config()._replace(wide=cast("WideSettings", object()))))
    assert f"wide      {sentence}" in answer_of(lambda: run(["--db", db, "status"])).out.splitlines()


def test_a_store_is_trusted_by_its_project_its_folder_or_its_file(db: str, tmp_path: Path) -> None:
    for named in (tmp_path, tmp_path / ".ctxrank", db):
        assert answer_of(lambda: run(["trust", str(named)])).out == (  # noqa: B023  called at once
            f"You already trust the store in {tmp_path / '.ctxrank'}: 2 documents\n"
        )
    for wrong in ("none", "none.db"):
        answer = answer_of(lambda: run(["trust", str(tmp_path / wrong)]))  # noqa: B023  called at once
        assert answer.code == 3 and f"There is no store at {tmp_path / wrong}." in answer.err
    (tmp_path / "empty").mkdir()
    answer = answer_of(lambda: run(["trust", str(tmp_path / "empty")]))
    assert f"There is no store at {tmp_path / 'empty' / '.ctxrank' / 'ctxrank.db'}." in answer.err


@pytest.mark.parametrize(
    "is_kept, refusal, says", [(True, "", ""), (False, "", ""), (False, "No room.", "No room. Make some.")]
)
def test_a_new_store_is_its_makers_own_or_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_kept: bool, refusal: str, says: str
) -> None:
    remembered: list[str] = []

    def remember(_: str, primary: str) -> None:
        remembered.append(primary)
        if refusal:
            raise CtxrankError(refusal, "Make some.")

    monkeypatch.setattr(stores, "is_known", always(is_kept))
    monkeypatch.setattr(stores, "remember", remember)
    made = answer_of(lambda: run(["--json", "init", str(tmp_path)]))
    assert made.json()["trusted"] is (says == "") and says in made.err
    assert remembered == ([] if is_kept else [str(tmp_path / ".ctxrank" / "ctxrank.db")])
