"""Bearing: what a task decides of a block, on stores at random."""

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from builders import make_store, save
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_builders import TODAY, block_for

from ctxrank.indexer.records.cloned_notes import note_commit
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.context.assembly.composition import CUT
from ctxrank.ranking.context.assembly.shapes import Assembly, IncludedDocument

_WORDS = ("walrus", "heron", "gannet", "pool", "lock", "index", "queue", "cache")
_OTHERS = ("lorem", "ipsum", "dolor", "sit")
_DETAILS = ("", "line", "summary", "passage", "full")
_TASK_WORDS = ("walrus", "pool", "lock", "heron", "queue")
_TASK = "why does the walrus pool lock the heron queue"
_random_stores = settings(max_examples=12, deadline=None, derandomize=True)


class Drawn(NamedTuple):
    """A package to be."""

    words: list[str]
    priority: str
    group: str | None
    consumers: tuple[str, ...]


_drawn = st.builds(
    Drawn,
    st.lists(st.sampled_from((*_WORDS, *_OTHERS)), min_size=1, max_size=12),
    st.sampled_from(("low", "medium", "high", "critical")),
    st.sampled_from(("G", "H", None)),
    st.sampled_from((("tech_lead",), ("developer",), ("qa_expert",), ("developer", "qa_expert"))),
)
_packages = st.lists(_drawn, min_size=1, max_size=10)
# One that has nothing of the task: what is shown then is in the order of a block without one.
_unrelated = st.lists(_drawn.map(lambda one: one._replace(words=list(_OTHERS))), min_size=1, max_size=6)


def _save(store: Store, number: int, drawn: Drawn) -> int:
    text = f"# Finding {number}\n\n" + "\n\n".join("\n".join(drawn.words) + "." for _ in range(3))
    values: dict[str, Any] = {"priority": drawn.priority, "group": drawn.group, "consumers": drawn.consumers}
    saved = save(store, f"{number}.md", text, summary=" ".join(drawn.words[:3]), created_at=TODAY, **values)
    return saved.id


def _block(store: Store, **values: Any) -> Assembly:
    return block_for(store, task=_TASK, reach="session", is_marking=False, **values)


def _depth(shown: IncludedDocument | None) -> tuple[int, int, int]:
    if shown is None:
        return 0, 0, 0
    return _DETAILS.index(shown.detail), len(shown.passages), sum(len(one.text) for one in shown.passages)


@_random_stores
@given(st.one_of(_packages, _unrelated), st.lists(st.integers(100, 1500), min_size=2, max_size=5))
def test_a_larger_budget_never_removes_or_lowers_an_item(packages: list[Drawn], budgets: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder, make_store(Path(folder)) as store:
        for number, drawn in enumerate(packages):
            _save(store, number, drawn)
        before: dict[int, IncludedDocument] = {}
        for budget in sorted(budgets):
            block = _block(store, budget=budget)
            now = {package.id: package for package in block.packages}
            assert block.used <= budget
            assert all(_depth(now.get(id_)) >= _depth(package) for id_, package in before.items())
            before = now


@_random_stores
@given(_packages)
def test_nothing_designated_for_the_agent_is_missing_while_a_place_is_free(packages: list[Drawn]) -> None:
    with tempfile.TemporaryDirectory() as folder, make_store(Path(folder)) as store:
        ids = [_save(store, number, drawn) for number, drawn in enumerate(packages)]
        block = _block(store)
        shown = {package.id for package in block.packages}
        missing = [
            id_ for id_, drawn in zip(ids, packages, strict=True) if "developer" in drawn.consumers and id_ not in shown
        ]
        routed = [package for package in block.packages if package.reason.endswith("no word of the task matches")]
        assert not missing or len(routed) >= 3
        assert len(shown) + sum((block.hidden or {}).values()) == block.available == len(ids)


@_random_stores
@given(_packages, st.sampled_from((("developer",), ("qa_expert",))))
def test_what_is_critical_and_holds_the_task_is_above_all_that_does_not(
    packages: list[Drawn], consumers: tuple[str, ...]
) -> None:
    with tempfile.TemporaryDirectory() as folder, make_store(Path(folder)) as store:
        for number, drawn in enumerate(packages):
            _save(store, number, drawn)
        wanted = _save(store, 99, Drawn(list(_TASK_WORDS), "critical", "G", consumers))
        block = _block(store)
        place = [package.id for package in block.packages].index(wanted)
        assert all("no word of the task" not in package.reason for package in block.packages[:place])
        assert block.packages[place].passages
        assert ("designated for other agents" in block.packages[place].label) is (consumers == ("qa_expert",))


def test_what_came_with_the_repository_is_shown_where_it_holds_the_task(tmp_path: Path) -> None:
    texts: list[list[str]] = [[*_TASK_WORDS], [_TASK_WORDS[0], *_OTHERS * 9], ["lock", *_OTHERS * 9]]
    with make_store(tmp_path) as store:
        whole, part, _ = (
            _save(store, number, Drawn(words, "low", "H", ("qa_expert",))) for number, words in enumerate(texts)
        )
        with store.write() as change:
            for package in (whole, part):
                note_commit(change, package, "0123456789abcdef")
        block = _block(store)
        assert [package.id for package in block.packages] == [whole]
        assert block.available == 3


@_random_stores
@given(_packages)
def test_a_new_package_that_neither_bears_on_the_task_nor_is_routed_removes_none(packages: list[Drawn]) -> None:
    with tempfile.TemporaryDirectory() as folder, make_store(Path(folder)) as store:
        for number, drawn in enumerate(packages):
            _save(store, number, drawn)
        _save(store, 98, Drawn(["walrus", "pool"], "low", "G", ("developer",)))
        before = [package.id for package in _block(store).packages]
        _save(store, 99, Drawn(list(_OTHERS), "high", "H", ("qa_expert",)))
        assert set(before) <= {package.id for package in _block(store).packages}


def test_the_best_passage_is_no_heading_and_no_repetition(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md", "# Walrus pool\n\n## Walrus\n\nThe heron waits.\n", summary="The heron waits.")
        save(store, "b.md", "# Other\n\nThe walrus pool is locked by a heron.\n", summary="Locks.")
        passages = {package.path: package.passages for package in _block(store).packages}
        assert passages["a.md"] == () and len(passages["b.md"]) == 1


def test_a_limit_bounds_what_is_shown_with_detail(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        for number in range(5):
            save(store, f"{number}.md", f"# {number}\n\nThe walrus pool is locked {number}.\n")
        assert [len(package.passages) for package in _block(store, limit=2).packages] == [1, 1, 0, 0, 0]
        assert [package.detail for package in _block(store, limit=0).packages] == ["line"] * 5


def test_of_a_passage_of_one_line_as_many_words_are_shown_as_do(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        sentences = " ".join(f"The walrus pool is locked by heron {number}." for number in range(60))
        save(store, "a.md", f"# Walrus\n\n{sentences}\n", summary="Locks.")
        shown = [""]
        for budget in range(300, 800, 50):
            block = _block(store, budget=budget)
            assert 0.85 * budget <= block.used <= budget
            text = block.packages[0].passages[-1].text.removesuffix(f"\n{CUT}")
            assert sentences.startswith(text.partition("\n\n")[2]) and text.startswith(shown[-1])
            shown.append(text)


def test_of_a_passage_that_does_not_fit_as_many_lines_are_shown_as_do(tmp_path: Path) -> None:
    """A block is filled to the last line; with more tokens the same passage goes on, until it is whole."""
    with make_store(tmp_path) as store:
        text = "# Walrus\n\n" + "\n".join(f"The walrus pool is locked by heron {number}." for number in range(60))
        save(store, "a.md", text, summary="Locks.")
        whole = _block(store, budget=3000)
        assert whole.is_complete and all(CUT not in one.text for one in whole.packages[0].passages)
        lengths = [0]
        for budget in range(300, whole.used, 60):
            block = _block(store, budget=budget)
            assert block.used <= budget and block.used >= 0.85 * budget and not block.is_complete
            (package,) = block.packages
            assert package.passages[-1].text.endswith(f"\n{CUT}") and package.detail == "passage"
            lines = [one.end_line - one.start_line for one in package.passages]
            lengths.append(sum(lines))
            assert any(entry.reason.startswith("lowered") for entry in block.omitted)
        assert lengths == sorted(lengths) and lengths[1] > 0


def test_a_passage_that_is_cut_is_shown_from_the_line_that_matches(tmp_path: Path) -> None:
    """With more tokens it goes on to its end, and then upwards, until it is whole."""
    with make_store(tmp_path) as store:
        lines = [f"Gannet {number} sits on the cliff and says nothing of it." for number in range(60)]
        lines[40] = "The walrus pool locks the heron queue."
        save(store, "a.md", "# Birds\n\n" + "\n".join(lines), summary="Cliffs.")
        whole = _block(store, budget=3000)
        shown = ""
        for budget in range(320, whole.used, 60):
            (package,) = _block(store, budget=budget).packages
            if not package.passages:
                continue
            (passage,) = package.passages
            text = passage.text.removeprefix(f"{CUT}\n").removesuffix(f"\n{CUT}")
            assert lines[40] in text and shown in text
            (file,) = whole.packages[0].passages
            stored = file.text.split("\n")[
                passage.start_line - file.start_line : passage.end_line - file.start_line + 1
            ]
            assert text.rstrip("\n") == "\n".join(stored).rstrip("\n")
            shown = text
        assert shown.startswith("Gannet") and shown.rstrip("\n").endswith(lines[-1])


def test_a_budget_that_has_room_for_one_line_names_the_first_package(tmp_path: Path) -> None:
    """The lines on what is not shown wait for a budget that has room for both."""
    with make_store(tmp_path) as store:
        for number in range(4):
            save(
                store, f"{number}.md", f"# Walrus {number}\n\nThe pool locks.\n", summary="Locks.", priority="critical"
            )
        blocks = [_block(store, budget=budget) for budget in range(60, 400, 10)]
        counts = [len(block.packages) for block in blocks]
        assert counts == sorted(counts) and counts[0] == 0 and counts[-1] > 1
        first = blocks[counts.index(1)]
        assert "more packages" not in first.text and first.used <= first.budget.limit and first.overflow == 3
        assert all("No package fits" not in block.text for block in blocks)
        assert "more packages" in next(block for block in blocks if block.used >= first.used + 60).text
