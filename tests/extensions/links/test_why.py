"""`ctxrank why` for linked artifacts: each way to be in a context, and each way to be missing."""

from pathlib import Path
from typing import Any

import pytest
from builders import save
from linked_builders import write_artifact
from ranking_builders import block_for

from ctxrank.cli.main import run
from ctxrank.extensions.links.context import ContextRequest, make_context, record_context
from ctxrank.indexer.exceptions import NotFoundError
from ctxrank.indexer.records.receipts import Receipt, get_receipt, list_receipts
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.section import Why
from ctxrank.ranking.context.why import why as why_from


def context(store: Store, **wanted: Any) -> Receipt:
    made = make_context(store, ContextRequest("TASK-042", with_search=False)._replace(**wanted))
    return get_receipt(store.primary, record_context(store, made).receipt or 0)


def why(store: Store, id_: str, **wanted: Any) -> Why:
    return why_from(store, id_, context(store, **wanted))


def test_what_is_shown_says_at_which_level_and_by_which_chain(store: Store) -> None:
    answer = why(store, "norm-async-001")
    assert (answer.id, answer.is_included, answer.detail) == ("NORM-ASYNC-001", True, "full")
    assert answer.reasons == ("T1 via TASK-042 > SPEC-BILLING-001",)


def test_what_the_budget_dropped_says_what_it_takes(store: Store) -> None:
    answer = why(store, "DEC-CURRENCY-001", limit=700)
    assert not answer.is_included and answer.tokens == 81
    assert answer.reasons == ("T1 via TASK-042 > SPEC-CURRENCY-001", "dropped: 81 tokens do not fit the budget")


def test_what_nobody_links_to_says_so_and_which_specs_could(store: Store) -> None:
    assert why(store, "DEC-CURRENCY-002").reasons == (
        "no artifact links to it",
        "reached, and not listing it: SPEC-BILLING-001, SPEC-CURRENCY-001",
        "search was switched off by --no-search",
    )


def test_what_others_link_to_names_them(store: Store, tmp_path: Path) -> None:
    write_artifact(tmp_path, "NORM-MAIL-001", "scope: [src/mail/**]\n")
    write_artifact(tmp_path, "SPEC-MAIL-001", "links: [NORM-MAIL-001]\n")
    assert why(store, "NORM-MAIL-001").reasons[:2] == (
        "linked by no artifact that TASK-042 reaches",
        "SPEC-MAIL-001 lists it, but TASK-042 does not reach SPEC-MAIL-001",
    )


def test_links_of_what_only_patterns_reach_are_not_followed(store: Store, tmp_path: Path) -> None:
    write_artifact(tmp_path, "DEC-PAGE-001")
    write_artifact(tmp_path, "SPEC-LAYOUT-002", "paths: [src/billing/templates/**]\nlinks: [DEC-PAGE-001]\n")
    said = why(store, "DEC-PAGE-001").reasons[1]
    assert said == (
        "SPEC-LAYOUT-002 lists it, but was reached by patterns or annotations: links are followed from what links reach"
    )


def test_a_link_that_is_never_followed_says_so(store: Store, tmp_path: Path) -> None:
    write_artifact(tmp_path, "SPEC-ROUND-001")
    path = tmp_path / ".contextia" / "system" / "rationale" / "round-once.md"
    path.write_text(path.read_text().replace("status: accepted\n", "status: accepted\nlinks: [SPEC-ROUND-001]\n"))
    said = why(store, "SPEC-ROUND-001").reasons
    assert "DEC-BILLING-003 lists it, but no link is followed from a decision to a spec" in said


def test_a_norm_that_covers_a_spec_reached_by_patterns_is_a_missing_link(store: Store, tmp_path: Path) -> None:
    write_artifact(tmp_path, "NORM-FONT-001", "scope: [src/fonts/**]\n")
    write_artifact(tmp_path, "SPEC-LAYOUT-002", "paths: [src/billing/templates/**, src/fonts/**]\n")
    said = why(store, "NORM-FONT-001").reasons
    assert said[1] == (
        "missing-link: its scope 'src/fonts/**' covers 'src/fonts/**' of SPEC-LAYOUT-002, which does not list it"
    )
    assert "its scope src/fonts/** meet the code of no spec that TASK-042 links to" in said


def test_what_is_deprecated_never_enters_by_patterns_or_search(store: Store) -> None:
    assert why(store, "NORM-LOGGING-001", with_search=True).reasons == (
        "no artifact links to it",
        "it is deprecated: patterns, annotations and search never bring it, only a link does",
    )


def test_what_is_beyond_the_hops_says_how_many_it_takes(store: Store) -> None:
    said = why(store, "DEC-BILLING-002", hops=1).reasons
    assert said[0] == "beyond --hops 1: it takes 2, TASK-042 > DEC-BILLING-001 > DEC-BILLING-002"


def test_another_task_is_never_in_a_context(store: Store) -> None:
    assert why(store, "TASK-043").reasons[0].startswith("it is a task")


def test_what_was_written_later_says_so(store: Store, tmp_path: Path) -> None:
    receipt = context(store)
    write_artifact(tmp_path, "DEC-LATE-001")
    assert why_from(store, "DEC-LATE-001", receipt).reasons[-1] == "it was written after this context was made"


def test_an_unknown_id_is_not_found_and_near_ones_are_named(store: Store) -> None:
    with pytest.raises(NotFoundError, match="There is no artifact SPEC-BILING-001") as error:
        why(store, "SPEC-BILING-001")
    assert "SPEC-BILLING-001" in error.value.hint


def test_the_command_takes_the_newest_context_that_fits(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    context(store)
    context(store, task="TASK-043")
    save(store, "a.md")
    block_for(store)
    number = store.primary.execute("SELECT id FROM linked_artifacts WHERE name = 'SPEC-BILLING-001'").fetchone()
    assert run(["why", f"linked:{number[0] if number else 0}", "--task", "task-042"]) == 0
    assert capsys.readouterr().out.startswith("SPEC-BILLING-001 is in the context of receipt 1: full, ")
    assert run(["why", "SPEC-BILLING-001"]) == 0
    assert capsys.readouterr().out.startswith("SPEC-BILLING-001 is not in the context of receipt 2\n")
    assert run(["why", "package:1"]) == 0
    assert "in the block of receipt 3" in capsys.readouterr().out
    assert run(["why", "SPEC-BILLING-001", "--receipt", "3"]) == 0
    assert "this assembly named no task" in capsys.readouterr().out
    assert run(["why", "SPEC-BILLING-001", "--task", "TASK-9"]) == 1
    assert "no receipt of a context of 'TASK-9'" in capsys.readouterr().err


def test_an_assembly_with_a_task_answers_too(store: Store) -> None:
    save(store, "a.md")
    block_for(store, task_id="TASK-042")
    receipt = list_receipts(store.primary, limit=1)[0]
    assert why_from(store, "SPEC-BILLING-001", receipt).is_included
    assert why_from(store, "NORM-LOGGING-001", receipt).reasons[0] == "no artifact links to it"
