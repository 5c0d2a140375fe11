"""A search for a name alone: what has the name comes before what repeats its parts."""

from pathlib import Path

from builders import found, make_store, save
from linked_builders import tree_of, write_artifact

from ctxrank.indexer.links.sync import sync_tree
from ctxrank.indexer.records.packages import supersede


def _first(folder: Path, query: str) -> str:
    with make_store(folder) as store:
        if (folder / ".contextia").exists():
            sync_tree(store, tree_of(store))
        return found(store, query).hits[0].title


def test_an_artifact_comes_first_for_its_own_id_whoever_else_names_it(tmp_path: Path) -> None:
    write_artifact(tmp_path, "SPEC-BILLING-001", body="Words of no matter. " * 300)
    for number in range(2, 12):
        body = "SPEC-BILLING-001 and SPEC-BILLING-001\n" * number
        write_artifact(tmp_path, f"SPEC-BILLING-{number:03}", body=body, title="SPEC-BILLING-001 once more")
    for asked in ("SPEC-BILLING-001", "spec-billing-001", "kind:linked SPEC-BILLING-001"):
        assert _first(tmp_path, asked) == "SPEC-BILLING-001 Spec-Billing-001"


def test_a_text_that_holds_a_name_comes_before_those_that_repeat_its_parts(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        for number in range(8):
            save(store, f"{number}.md", "042 is no task here\n" * 9, summary="042 and a task.")
        save(store, "held.md", "long words " * 400 + "for TASK-042.\n", summary="Held.")
        save(store, "named.md", "words " * 400, summary="What TASK-042 needs.")
        assert [hit.path for hit in found(store, "TASK-042").hits][:2] == ["named.md", "held.md"]


def test_a_name_among_other_words_is_one_of_them(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "named.md", "words\n" * 50, summary="What TASK-042 needs.")
        save(store, "meant.md", "lock timeouts and lock timeouts\n", summary="Lock timeouts.")
        assert found(store, "TASK-042 lock timeouts").hits[0].path == "meant.md"


def test_what_is_superseded_stays_behind_what_is_current(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        old = save(store, "old.md", "x\n", summary="TASK-042, as it was.")
        new = save(store, "new.md", "TASK-042\n", summary="New.")
        supersede(store, old.id, new.id)
        assert [hit.path for hit in found(store, "TASK-042").hits] == ["new.md", "old.md"]
