"""The stored tree follows the disk, and reads no more than what changed."""

import os
import shutil
from collections.abc import Iterator
from math import ceil
from pathlib import Path

import pytest
from builders import make_store, search_ids, write_file
from linked_builders import age, copy_fixture, tree_of, write_artifact

from ctxrank.extensions.links.graph import load_graph
from ctxrank.extensions.links.store import stored_texts
from ctxrank.extensions.links.sync import count_tokens, index_linked, sync_tree
from ctxrank.extensions.links.tree import find_tree
from ctxrank.indexer.beneath import OpenFile, Root
from ctxrank.indexer.bounds import MAX_FILE_BYTES
from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.files.scan import index_artifacts
from ctxrank.indexer.redaction.linear_patterns import LinearPattern
from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.indexer.redaction.user_rules import UserRule, UserRules
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.text.tokens import cautious_tokens


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    copy_fixture(tmp_path)
    with make_store(tmp_path) as opened:
        yield opened


def test_an_unchanged_tree_is_not_read_and_nothing_is_written(store: Store) -> None:
    first = sync_tree(store, tree_of(store))
    assert len(first.read) == len(first.written) == first.files == 17
    before = store.primary.total_changes()
    assert sync_tree(store, tree_of(store))[1:] == ((), (), ())
    assert store.primary.total_changes() == before


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.slow)])
def test_changing_one_of_ten_thousand_reads_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    for number in range(count):
        write_artifact(tmp_path, f"NORM-N-{number}", body="")
    with make_store(tmp_path) as store:
        assert sync_tree(store, tree_of(store)).files == count
        path = write_artifact(tmp_path, "NORM-N-77", "scope: [src]\n")
        opened: list[str] = []
        real = Root.open

        def recorded(root: Root, place: str, *, follow_link: bool = False) -> OpenFile:
            opened.append(os.path.join(root.path, place))
            return real(root, place, follow_link=follow_link)

        monkeypatch.setattr(Root, "open", recorded)
        report = sync_tree(store, tree_of(store))
        assert opened == [str(path)]
        assert report.written == (".contextia/system/norms/norm-n-77.md",)


def test_a_touched_file_is_read_and_not_written(store: Store, tmp_path: Path) -> None:
    sync_tree(store, tree_of(store))
    age(tmp_path / ".contextia/system/norms/errors.md", seconds=50)
    report = sync_tree(store, tree_of(store))
    assert (report.read, report.written) == ((".contextia/system/norms/errors.md",), ())
    assert sync_tree(store, tree_of(store)).read == ()


def test_a_file_written_a_moment_ago_is_read_again(store: Store, tmp_path: Path) -> None:
    """Its next version could have the same size and the same time."""
    write_file(store, ".contextia/system/norms/errors.md", "---\nid: NORM-ERROR-001\ntitle: a\n---\n")
    sync_tree(store, tree_of(store))
    write_file(store, ".contextia/system/norms/errors.md", "---\nid: NORM-ERROR-001\ntitle: b\n---\n")
    sync_tree(store, tree_of(store))
    assert load_graph(store.primary, tree_of(store)).nodes["NORM-ERROR-001"].title == "b"


def test_a_deleted_file_leaves_primary_and_index(store: Store, tmp_path: Path) -> None:
    sync_tree(store, tree_of(store))
    assert search_ids(store, "half to even", kinds=("linked",))
    (tmp_path / ".contextia/system/rationale/round-once.md").unlink()
    assert sync_tree(store, tree_of(store)).removed == (".contextia/system/rationale/round-once.md",)
    assert "DEC-BILLING-003" not in load_graph(store.primary, tree_of(store)).nodes
    assert not search_ids(store, "fractions", kinds=("linked",))


def test_a_tree_that_is_gone_is_forgotten_by_index(store: Store, tmp_path: Path) -> None:
    index_linked(store)
    shutil.rmtree(tmp_path / ".contextia")
    assert index_linked(store) is None
    assert search_ids(store, "invoice", kinds=("linked",)) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_folder_that_cannot_be_looked_at_is_not_gone(store: Store, tmp_path: Path) -> None:
    sync_tree(store, tree_of(store))
    folder = tmp_path / ".contextia/system/norms"
    folder.chmod(0)
    with pytest.raises(CtxrankError, match="cannot be read"):
        sync_tree(store, tree_of(store))
    folder.chmod(0o755)
    assert "NORM-ERROR-001" in load_graph(store.primary, tree_of(store)).nodes


@pytest.mark.parametrize("query", ['"SPEC-BILLING-001"', "Invoice generation", "byte for byte", "superseded"])
def test_an_artifact_is_found_by_id_title_text_and_status(store: Store, query: str) -> None:
    sync_tree(store, tree_of(store))
    wanted = "DEC-BILLING-002" if query == "superseded" else "SPEC-BILLING-001"
    number = load_graph(store.primary, tree_of(store)).nodes[wanted].number
    assert search_ids(store, query, kinds=("linked",))[0] == f"linked:{number}"


def test_artifacts_are_found_once_and_by_type(store: Store) -> None:
    """Not as files too: `index` leaves the tree to its own reader."""
    assert not [path for path in index_artifacts(store).added if ".contextia" in path]
    index_linked(store)
    assert len(search_ids(store, "specification dunning overdue", type="task")) == 1


def test_one_broken_artifact_does_not_stop_the_others(store: Store, tmp_path: Path) -> None:
    for name, data in (("binary.md", b"\0\1\2" * 99), ("bad.md", b"---\nid: [\xff\xfe\n---\n"), ("empty.md", b"")):
        (tmp_path / ".contextia/system/specs" / name).write_bytes(data)
    assert sync_tree(store, tree_of(store)).files == 20
    assert len(load_graph(store.primary, tree_of(store)).nodes) == 17


def test_secrets_do_not_reach_the_store(store: Store, tmp_path: Path) -> None:
    secret = "ghp" + "_" + "a1B2" * 9
    write_artifact(tmp_path, "NORM-S-1", f"ticket: {secret}\n", f"Use {secret}.\n")
    sync_tree(store, tree_of(store))
    node = load_graph(store.primary, tree_of(store)).nodes["NORM-S-1"]
    assert secret not in stored_texts(store.primary, [node.number])[node.number].texts.full
    assert not any(secret in body for (body,) in store.primary.execute("SELECT body FROM documents"))


def test_a_link_out_of_the_tree_is_no_artifact(store: Store, tmp_path: Path) -> None:
    (tmp_path / ".contextia/system/specs/passwd.md").symlink_to("/etc/passwd")
    (tmp_path / ".contextia/system/specs/etc").symlink_to("/etc")
    assert sync_tree(store, tree_of(store)).files == 17


def test_a_folder_of_artifacts_that_is_a_link_holds_none(store: Store, tmp_path: Path) -> None:
    """Neither the folder of one type nor one above it is followed."""
    elsewhere = tmp_path / "elsewhere"
    for name in ("work/tasks", "system"):
        folder = tmp_path / ".contextia" / name
        shutil.move(folder, elsewhere / name)
        folder.symlink_to(elsewhere / name)
    assert sync_tree(store, tree_of(store)).files == 0


def test_a_file_too_large_to_be_read_is_an_artifact_with_a_problem(store: Store, tmp_path: Path) -> None:
    with (tmp_path / ".contextia/system/norms/huge.md").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    sync_tree(store, tree_of(store))
    problems = store.primary.execute("SELECT problems FROM linked_artifacts WHERE path LIKE '%huge.md'").fetchone()
    assert problems is not None and "larger than 16 MiB" in str(problems[0])


def test_the_nearest_tree_upwards_counts_then_the_roots(store: Store, tmp_path: Path) -> None:
    inner = tmp_path / "packages" / "shop"
    (inner / ".contextia").mkdir(parents=True)
    (inner / "src").mkdir()
    found = [find_tree(store.location, str(place)) for place in (inner / "src", tmp_path / "src", "/")]
    assert [tree.name if tree else None for tree in found] == [str(inner.resolve()), ".", "."]


def test_two_trees_of_one_store_do_not_mix(store: Store, tmp_path: Path) -> None:
    inner = tmp_path / "packages"
    write_artifact(inner, "SPEC-BILLING-001", title="Another one")
    other = find_tree(store.location, str(inner))
    assert other is not None
    sync_tree(store, tree_of(store))
    sync_tree(store, other)
    titles = [load_graph(store.primary, tree).nodes["SPEC-BILLING-001"].title for tree in (tree_of(store), other)]
    assert titles == ["Invoice generation", "Another one"]


def test_a_budget_is_kept_by_stored_counts_that_are_those_of_the_texts(store: Store) -> None:
    sync_tree(store, tree_of(store))
    numbers = [node.number for node in load_graph(store.primary, tree_of(store)).nodes.values()]
    for stored in stored_texts(store.primary, numbers).values():
        assert stored.priced == tuple(ceil(cautious_tokens(text)) for text in stored.texts)


def test_tokens_are_counted_exactly_where_there_is_a_vocabulary(store: Store) -> None:
    sync_tree(store, tree_of(store))
    count_tokens(store)
    query = "SELECT count(*) FROM linked_texts WHERE token_counter <> 'estimate'"
    if not (counted := store.primary.execute(query).get):
        pytest.skip("there is no vocabulary on this machine")
    assert counted == 17


_ACME = UserRules((UserRule("acme", LinearPattern("ACME-[0-9]{4}", "acme"), (), "[REDACTED:acme]"),))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (RedactionMode.OFF, RedactionMode.PATTERN_ONLY),
        (RedactionMode.PATTERN_ONLY, RedactionMode.PATTERN_ONLY.with_rules(_ACME)),
    ],
)
def test_other_rules_of_redaction_read_every_file_again(
    store: Store, tmp_path: Path, before: RedactionMode, after: RedactionMode
) -> None:
    secret = "ACME-1234" if after.rules else "ghp" + "_" + "a1B2" * 9
    write_artifact(tmp_path, "NORM-S-1", f"ticket: {secret}\n", f"Use {secret}.\n")
    sync_tree(store, tree_of(store), before)
    assert any(secret in body for (body,) in store.primary.execute("SELECT body FROM documents"))
    report = sync_tree(store, tree_of(store), after)
    assert (len(report.read), report.written) == (18, (".contextia/system/norms/norm-s-1.md",))
    assert not any(secret in body for (body,) in store.primary.execute("SELECT body FROM documents"))
    assert sync_tree(store, tree_of(store), after).read == ()
