"""What a task reaches: each artifact once, in the order of the links, with the tier and the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linked_builders import graph_of

from ctxrank.extensions.links.closure import MAX_CHAIN, Closure, find_task, reach
from ctxrank.extensions.links.graph import Graph
from ctxrank.extensions.links.store import Annotation
from ctxrank.indexer.exceptions import NotFoundError, UsageError

IDS = [f"{prefix}-{number}" for prefix in ("SPEC", "DEC", "NORM") for number in range(5)]
GRAPHS = st.fixed_dictionaries(
    {"TASK-1": st.lists(st.sampled_from(IDS), max_size=6)},
    optional={id_: st.lists(st.sampled_from(IDS), max_size=4) for id_ in IDS},
)
STATUSES = st.dictionaries(st.sampled_from(IDS), st.sampled_from(["current", "deprecated", "superseded"]))
GLOBS = st.dictionaries(
    st.sampled_from([id_ for id_ in IDS if not id_.startswith("DEC")]),
    st.lists(st.sampled_from(["src/**", "src/a/**", "src/b.py", "lib/**", "*.md"]), max_size=2),
)


def closure_of(graph: Graph, *, hops: int | None = None) -> Closure:
    return reach(graph, graph.nodes["TASK-1"], hops=hops)


def ids(closure: Closure, tier: int | None = None) -> list[str]:
    return [one.node.id for one in closure.reached if tier is None or one.tier == tier]


def test_links_are_followed_breadth_first_in_the_order_of_the_lists() -> None:
    graph = graph_of(
        {
            "TASK-1": ["SPEC-1", "SPEC-2", "DEC-1"], "SPEC-1": ["DEC-1", "DEC-3", "NORM-2"],
            "SPEC-2": ["DEC-2", "NORM-1"], "DEC-1": ["DEC-4"], "DEC-2": [], "DEC-3": [], "DEC-4": [],
            "NORM-1": [], "NORM-2": [],
        }
    )  # fmt: skip
    closure = closure_of(graph)
    assert ids(closure) == ["TASK-1", "SPEC-1", "SPEC-2", "NORM-2", "NORM-1", "DEC-1", "DEC-3", "DEC-2", "DEC-4"]
    assert {one.node.id: one.chain for one in closure.reached}["DEC-4"] == ("TASK-1", "DEC-1", "DEC-4")


def test_hops_bound_how_far_links_are_followed() -> None:
    graph = graph_of({"TASK-1": ["SPEC-1"], "SPEC-1": ["DEC-1"], "DEC-1": ["DEC-2"], "DEC-2": []})
    assert [ids(closure_of(graph, hops=hops), 1) for hops in (0, 1, 2)] == [[], ["SPEC-1"], ["SPEC-1", "DEC-1"]]


def test_a_cycle_ends_where_it_began() -> None:
    graph = graph_of({"TASK-1": ["DEC-1"], "DEC-1": ["DEC-2"], "DEC-2": ["DEC-1"]})
    assert ids(closure_of(graph)) == ["TASK-1", "DEC-1", "DEC-2"]


def test_decisions_lead_to_decisions_alone_and_norms_nowhere() -> None:
    graph = graph_of(
        {"TASK-1": ["DEC-1", "NORM-1"], "DEC-1": ["SPEC-1"], "NORM-1": ["DEC-2"], "SPEC-1": [], "DEC-2": []}
    )
    assert ids(closure_of(graph)) == ["TASK-1", "NORM-1", "DEC-1"]


def test_a_missing_id_is_named_with_who_links_to_it() -> None:
    graph = graph_of({"TASK-1": ["SPEC-1", "DEC-9"], "SPEC-1": ["DEC-9", "NORM-9"]})
    assert closure_of(graph).missing == (("DEC-9", "TASK-1"), ("NORM-9", "SPEC-1"))


def test_patterns_and_annotations_reach_what_governs_the_same_code() -> None:
    links = {
        "TASK-1": ["SPEC-1"],
        "SPEC-1": [],
        "SPEC-2": [],
        "SPEC-3": [],
        "NORM-1": [],
        "NORM-2": [],
        "DEC-1": [],
        "DEC-2": [],
    }
    globs = {"SPEC-1": ["src/a/**"], "SPEC-2": ["src/*/x.py"], "NORM-1": ["src/**"], "NORM-2": ["lib/**"]}
    annotations = (
        Annotation("src/a/y.py", 3, "decision", "DEC-1"),
        Annotation("lib/z.py", 1, "spec", "SPEC-1"),
        Annotation("lib/z.py", 2, "decision", "DEC-2"),
        Annotation("other.py", 1, "spec", "SPEC-3"),
    )
    closure = closure_of(graph_of(links, globs=globs)._replace(annotations=annotations))
    assert ids(closure, 2) == ["SPEC-2", "NORM-1", "NORM-2", "DEC-1", "DEC-2"]
    assert {one.node.id: one.reason for one in closure.reached}["DEC-1"] == "via annotation at src/a/y.py:3"
    assert {one.node.id: one.reason for one in closure.reached}["NORM-2"] == "via scope: lib/**"


def test_what_is_retired_stays_by_link_with_a_warning_and_never_enters_by_pattern() -> None:
    graph = graph_of(
        {"TASK-1": ["SPEC-1"], "SPEC-1": ["DEC-1"], "DEC-1": [], "NORM-1": []},
        {"DEC-1": "superseded", "NORM-1": "deprecated"},
        {"SPEC-1": ["src/**"], "NORM-1": ["src/**"]},
    )
    closure = closure_of(graph)
    assert ids(closure) == ["TASK-1", "SPEC-1", "DEC-1"]
    assert closure.warnings == ("DEC-1 is superseded, and is linked from SPEC-1.",)


@given(GRAPHS, STATUSES, GLOBS, st.none() | st.integers(0, 3))
def test_each_reachable_artifact_is_reached_once_and_no_other(
    links: dict[str, list[str]], statuses: dict[str, str], globs: dict[str, list[str]], hops: int | None
) -> None:
    graph = graph_of(links, statuses, globs)
    closure = closure_of(graph, hops=hops)
    assert len(ids(closure)) == len(set(ids(closure)))
    assert set(ids(closure, 1)) == _naively_reached(links, hops)
    assert {one.id for one in closure.missing}.isdisjoint(links)
    for one in closure.reached:
        assert one.chain[0] == "TASK-1" and one.chain[-1] == one.node.id
        assert one.tier < 2 or not one.node.is_retired
        for before, after in zip(one.chain, one.chain[1:], strict=False):
            assert one.tier == 2 or after in links[before]


def _naively_reached(links: dict[str, list[str]], hops: int | None) -> set[str]:
    """The same by the definition: repeat one step until nothing is new."""
    allowed = {"TASK": ("SPEC", "DEC", "NORM"), "SPEC": ("SPEC", "DEC", "NORM"), "DEC": ("DEC",), "NORM": ()}
    reached = {"TASK-1"}
    for _ in range(len(links) if hops is None else hops):
        reached |= {
            target
            for source in reached
            for target in links[source]
            if target in links and target.split("-")[0] in allowed[source.split("-")[0]]
        }
    return reached - {"TASK-1"}


def test_a_chain_of_more_than_sixteen_keeps_its_beginning_and_its_end() -> None:
    links = {"TASK-1": ["DEC-1"], **{f"DEC-{n}": [f"DEC-{n + 1}"] for n in range(1, 17)}, "DEC-17": []}
    chains = {one.node.id: one.chain for one in closure_of(graph_of(links)).reached}
    assert chains["DEC-15"] == ("TASK-1", *(f"DEC-{n}" for n in range(1, 16)))
    beginning = ("TASK-1", *(f"DEC-{n}" for n in range(1, 8)))
    assert chains["DEC-16"] == (*beginning, "…", *(f"DEC-{n}" for n in range(10, 17)))


def test_a_way_of_more_than_four_is_shown_without_its_middle() -> None:
    links = {"TASK-1": ["DEC-1"], **{f"DEC-{n}": [f"DEC-{n + 1}"] for n in range(1, 5)}, "DEC-5": []}
    ways = {one.node.id: one.via for one in closure_of(graph_of(links)).reached}
    assert ways["DEC-4"] == "TASK-1 > DEC-1 > DEC-2 > DEC-3" and ways["DEC-5"] == "TASK-1 > … > DEC-3 > DEC-4"


def test_an_unknown_task_is_answered_with_near_ones() -> None:
    graph = graph_of({"TASK-42": [], "TASK-7": [], "SPEC-1": []})
    assert find_task(graph, "task-42").id == "TASK-42"
    with pytest.raises(NotFoundError) as unknown:
        find_task(graph, "TASK-24")
    assert "TASK-42" in unknown.value.hint
    with pytest.raises(UsageError, match="starts from a task"):
        find_task(graph, "SPEC-1")


@pytest.mark.slow
def test_ten_thousand_artifacts_are_reached_each_once() -> None:
    """A chain of 3,000 decisions, and specs that share norms: depth costs no stack, sharing no time."""
    links: dict[str, list[str]] = {"TASK-1": [f"SPEC-{n}" for n in range(3500)] + ["DEC-0"]}
    links |= {f"SPEC-{n}": [f"NORM-{n}", f"NORM-{(n * 7) % 3499}", "NORM-0"] for n in range(3500)}
    links |= {f"DEC-{n}": [f"DEC-{n + 1}"] for n in range(2999)} | {"DEC-2999": ["DEC-0"]}
    links |= {f"NORM-{n}": [] for n in range(3500)}
    closure = closure_of(graph_of(links))
    assert len(ids(closure)) == len(set(ids(closure))) == len(links) == 10_001
    last = next(one for one in closure.reached if one.node.id == "DEC-2999")
    assert last.via == "TASK-1 > … > DEC-2997 > DEC-2998" and len(last.chain) == MAX_CHAIN
