"""The predecessor's error patterns: the same signature and hash, and nothing lost, leaked or let to expire."""

import json
from pathlib import Path

import pytest
from bazinga_project import Project
from builders import run_child, search_ids, start_child
from tables import each_row

from ctxrank.extensions.bazinga.commands.errors import masked, signature_hash
from ctxrank.indexer.clock import DAY_US, now_us

MESSAGE = "No module named 'foo.bar' at /home/u/app/src/x.py line 42"
ERROR = ("shop", "ModuleNotFoundError", MESSAGE, "install it")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_the_signature_and_its_hash_are_the_predecessors() -> None:
    message = masked(MESSAGE)
    assert message == "No module named '...' at .../x.py line N"
    signed = signature_hash("ModuleNotFoundError", message, ("import", "venv"))
    assert signed == "5e5a9e7812db023cb496854e3df43b0420442a582dec079d8e9ce86651ea85fb"
    assert signature_hash("ModuleNotFoundError", message, ("venv", "import")) == signed


@each_row(
    "message, pattern",
    [
        (r"cannot open C:\Users\me\x.txt", r"cannot open ...\x.txt"),
        ("Line 4, line 5: \"a\" and 'b'", "Line 4, line N: \"...\" and '...'"),
        ("https://api.x.com/v1/users/42", "https:.../42"),
        ("  padded " + "x" * 600, "padded " + "x" * 493),
    ],
)
def test_a_message_is_masked_in_the_predecessors_order(message: str, pattern: str) -> None:
    assert masked(message) == pattern


def test_an_error_is_created_then_counted_and_the_longer_solution_stays(project: Project) -> None:
    first = project.json("save-error-pattern", *ERROR, "--lang", "python", "--context_hints", '["venv"]')
    assert list(first) == ["success", "pattern_hash", "operation", "occurrences", "confidence", "redacted"]
    assert (first["operation"], first["occurrences"], first["confidence"]) == ("created", 1, 0.5)
    other = "No module named 'baz' at /srv/x.py line 7"
    again = project.json(
        "save-error-pattern",
        "shop",
        "ModuleNotFoundError",
        other,
        "install it in the venv",
        "--context_hints",
        '["venv"]',
    )
    assert (again["pattern_hash"], again["operation"], again["occurrences"]) == (first["pattern_hash"], "updated", 2)
    project.json("save-error-pattern", *ERROR, "--context_hints", '["venv"]')
    (found,) = project.json("get-error-patterns", "shop", "--min_confidence", "0.5")
    assert (found["solution"], found["occurrences"], found["lang"]) == ("install it in the venv", 3, "python")
    assert found["signature"] == {
        "error_type": "ModuleNotFoundError", "message_pattern": "No module named '...' at .../x.py line N",
        "context_hints": ["venv"], "stack_pattern": [],
    }  # fmt: skip


def test_a_saved_error_is_found_by_a_search(project: Project) -> None:
    project.json("save-error-pattern", *ERROR)
    with project.store() as store:
        assert search_ids(store, "install module") == ["error:1"]


@each_row(
    "flags",
    [("--colour", "red"), ("--context_hints", "nope"), ("--context_hints", '{"a": 1}'), ("--lang",), ("one more",)],
)
def test_an_error_with_bad_flags_is_refused(project: Project, flags: tuple[str, ...]) -> None:
    answer = project.bazinga("save-error-pattern", *ERROR, *flags)
    assert answer.code == 1 and answer.out == "" and answer.err
    assert project.json("query", "SELECT count(*) AS n FROM error_patterns") == [{"n": 0}]


def test_d05_a_secret_at_the_end_of_a_message_is_redacted_and_the_pattern_saved(project: Project) -> None:
    saved = project.json("save-error-pattern", "shop", "AuthError", "login failed password=hunter22", "rotate it")
    assert saved["redacted"] is True
    (found,) = project.json("get-error-patterns", "shop", "--min_confidence", "0")
    assert "hunter22" not in json.dumps(found) and "login failed" in found["signature"]["message_pattern"]


def test_d06_a_secret_with_slashes_is_redacted_before_paths_are_masked(project: Project) -> None:
    secret = "wJalrXUtnFEMI/K7MDENG/bPx" + "RfiCYKQ3ZJT9WLM"
    saved = project.json("save-error-pattern", "shop", "S3", f"refused aws_secret_access_key={secret}", "rotate")
    (found,) = project.json("get-error-patterns", "shop", "--min_confidence", "0")
    assert saved["redacted"] is True and secret[-12:] not in json.dumps(found)


def test_d08_only_the_projects_own_living_patterns_are_returned(project: Project) -> None:
    for name, age_days in (("shop", 1), ("shop", 91), ("other", 1)):
        saved = project.json("save-error-pattern", name, "E", f"after {age_days} days", "wait")
        with project.store() as store, store.write() as change:
            change.connection.execute(
                "UPDATE error_patterns SET last_seen = ? WHERE pattern_hash = ? AND project = ?",
                (now_us() - age_days * DAY_US, saved["pattern_hash"], name),
            )
    found = project.json("get-error-patterns", "shop", "--min_confidence", "0")
    assert [pattern["signature"]["message_pattern"] for pattern in found] == ["after 1 days"]
    assert project.json("cleanup-error-patterns", "shop") == {
        "success": True, "deleted_count": 1, "project_id": "shop",
    }  # fmt: skip
    assert project.json("cleanup-error-patterns")["deleted_count"] == 0
    with project.store() as store:
        assert sorted(search_ids(store, "wait")) == ["error:1", "error:3"]


def test_confidence_moves_in_its_steps_within_its_bounds_and_without_drift(project: Project) -> None:
    pattern = project.json("save-error-pattern", *ERROR)["pattern_hash"]

    def moved(outcome: str) -> float:
        answer = project.json("update-error-confidence", pattern, "shop", outcome)
        return float(answer["new_confidence"])

    assert [moved("success") for _ in range(6)] == [0.6, 0.7, 0.8, 0.9, 1.0, 1.0]
    assert [moved("FAILURE") for _ in range(6)] == [0.8, 0.6, 0.4, 0.2, 0.1, 0.1]
    answer = project.json("update-error-confidence", pattern, "shop", "success")
    assert (answer["previous_confidence"], answer["new_confidence"], answer["injectable"]) == (0.1, 0.2, False)


def test_the_threshold_includes_its_own_value_and_a_language_leaves_out_what_has_none(project: Project) -> None:
    pattern = project.json("save-error-pattern", *ERROR)["pattern_hash"]
    for _ in range(2):
        project.json("update-error-confidence", pattern, "shop", "success")
    assert len(project.json("get-error-patterns", "shop")) == 1
    assert project.json("get-error-patterns", "shop", "--lang", "python") == []


def test_d13_a_pattern_that_is_not_there_is_a_failure(project: Project) -> None:
    answer = project.bazinga("update-error-confidence", "0" * 64, "shop", "success")
    assert answer.code == 1 and answer.json() == {"success": False, "error": "Pattern not found"}
    assert project.bazinga("update-error-confidence", "0" * 64, "shop", "perhaps").code == 1


_SAVER = """
import contextlib, io, sys
from ctxrank.extensions.bazinga.run import run
from ctxrank.cli.call import Call
save = ("--project-root", sys.argv[1], "save-error-pattern", "shop", "E", "it broke", "mend it")
with contextlib.redirect_stdout(io.StringIO()):
    assert [run(Call(), save) for _ in range(10)] == [0] * 10
"""


@pytest.mark.slow
def test_d14_sixty_concurrent_saves_are_sixty_occurrences(project: Project) -> None:
    children = [start_child(_SAVER, project.folder) for _ in range(6)]
    assert [child.communicate(timeout=120) and child.returncode for child in children] == [0] * 6
    (found,) = project.json("get-error-patterns", "shop", "--min_confidence", "0")
    assert found["occurrences"] == 60


def test_a_saved_pattern_imports_no_command_line_library(project: Project) -> None:
    code = (
        "import sys; sys.argv = ['ctxrank', 'bazinga', '--project-root', sys.argv[1], 'get-error-patterns', 'shop'];"
        "import os; os._exit = lambda code: print('click' in sys.modules, 'argparse' in sys.modules, code);"
        "from ctxrank.extensions.bazinga import run; run.main()"
    )
    assert run_child(code, project.folder).split() == ["[]", "False", "False", "0"]
