"""The linked part of a context: hard, monotone, complete, and nothing in it is forged."""

import re
from collections.abc import Callable

import pytest
from examples import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from linked_builders import estimated, graph_of, texts_of

from ctxrank.extensions.links.artifact import LEVELS, level_texts
from ctxrank.extensions.links.closure import ReachedArtifact, reach
from ctxrank.extensions.links.graph import Graph
from ctxrank.extensions.links.pack import LinkedPart, PackOptions, pack_linked
from ctxrank.extensions.links.reading import parse_artifact
from ctxrank.extensions.links.store import StoredTexts
from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.text.tokens import estimate_tokens
from ctxrank.indexer.text.vocabulary import local_counter
from ctxrank.ranking.context.prices import Prices

IDS = [f"{prefix}-{number}" for prefix in ("SPEC", "DEC", "NORM") for number in range(4)]
_MOST_FOR_A_HEADER = 60  # what a section of its own costs beside its text, and its entry in the footer
LINKS = st.fixed_dictionaries(
    {"TASK-1": st.lists(st.sampled_from([*IDS, "DEC-99"]), max_size=5)},
    optional={id_: st.lists(st.sampled_from(IDS), max_size=3) for id_ in IDS},
)
SIZES = st.dictionaries(
    st.sampled_from(["TASK-1", *IDS]), st.tuples(st.integers(0, 120), st.integers(0, 300)), max_size=13
)
FORMS = st.sampled_from(["compact", "markdown"])


@pytest.fixture(scope="module")
def counter() -> Callable[[str], int]:
    found = local_counter()
    if found is None:
        pytest.skip("there is no vocabulary on this machine")
    return found.count


def found_in(graph: Graph) -> tuple[ReachedArtifact, ...]:
    """What is not reached, as if search had found it."""
    closure = reach(graph, graph.nodes["TASK-1"])
    taken = {one.node.id for one in closure.reached}
    return tuple(
        ReachedArtifact(node, 3, ("TASK-1", node.id), "found by search")
        for node in graph.nodes.values()
        if node.id not in taken
    )


def packed(
    graph: Graph,
    texts: dict[int, StoredTexts],
    limit: int | None,
    *,
    form: str = "compact",
    search: bool = True,
    depth: str = "full",
) -> LinkedPart:
    closure = reach(graph, graph.nodes["TASK-1"])
    found = found_in(graph) if search else ()
    return pack_linked(closure, texts, found, PackOptions(limit, depth, form), Prices(1.0))


def state_of(part: LinkedPart) -> dict[str, int]:
    return {shown.artifact.node.id: LEVELS.index(shown.level) for shown in part.shown}


def test_the_best_ten_that_were_found_may_be_whole_and_further_ones_no_more_than_their_first_section() -> None:
    graph = graph_of({"TASK-1": [], **{f"SPEC-{n:02}": [] for n in range(12)}})
    levels = {one.artifact.node.id: one.level for one in packed(graph, texts_of(graph), 100_000).shown}
    assert [levels[f"SPEC-{n:02}"] for n in range(12)] == ["full"] * 10 + ["summary"] * 2
    pointed = [one for one in packed(graph, texts_of(graph), None).shown if one.artifact.tier == 3]
    assert [one.level for one in pointed] == ["meta"] * 10


@given(LINKS, SIZES, st.integers(30, 2500), FORMS)
def test_everybody_is_shown_or_left_out_once_and_named(
    links: dict[str, list[str]], sizes: dict[str, tuple[int, int]], limit: int, form: str
) -> None:
    graph = graph_of(links)
    try:
        part = packed(graph, texts_of(graph, sizes), limit, form=form)
    except UsageError:
        return
    everybody = [one.artifact.node.id for one in part.shown] + [one.artifact.node.id for one in part.omitted]
    assert sorted(everybody) == sorted(graph.nodes)
    footer = part.text.partition("NOT SHOWN")[2]
    if "omitted: " in footer:
        linked = [one for one in part.omitted if one.artifact.tier < 3]
        assert all(f"{one.artifact.node.id} ({one.tokens})" in footer for one in linked)
    for missing in reach(graph, graph.nodes["TASK-1"]).missing:
        assert f"{missing.id} from {missing.source}" in part.text


@given(LINKS, SIZES, st.integers(30, 2500), FORMS)
def test_the_text_keeps_the_budget_by_its_own_prices(
    links: dict[str, list[str]], sizes: dict[str, tuple[int, int]], limit: int, form: str
) -> None:
    graph = graph_of(links)
    try:
        part = packed(graph, texts_of(graph, sizes), limit, form=form)
    except UsageError:
        return
    assert estimate_tokens(part.text) <= part.used <= limit


@given(LINKS, SIZES, st.integers(30, 2500), st.integers(1, 500))
def test_a_larger_budget_never_removes_or_lowers_not_even_what_search_found(
    links: dict[str, list[str]], sizes: dict[str, tuple[int, int]], limit: int, more: int
) -> None:
    graph = graph_of(links)
    texts = texts_of(graph, sizes)
    try:
        small = state_of(packed(graph, texts, limit))
    except UsageError:
        return
    large = state_of(packed(graph, texts, limit + more))
    assert all(large.get(id_, -1) >= level for id_, level in small.items())


@given(LINKS, SIZES, st.none() | st.integers(30, 2500), FORMS)
def test_search_adds_behind_and_changes_no_byte_before(
    links: dict[str, list[str]], sizes: dict[str, tuple[int, int]], limit: int | None, form: str
) -> None:
    graph = graph_of(links)
    texts = texts_of(graph, sizes)
    try:
        without = packed(graph, texts, limit, form=form, search=False)
    except UsageError:
        return
    before_rest = re.split(r"(?m)^(?:=== |## )\S.* rest(?: ===)?$", without.text)[0]
    assert packed(graph, texts, limit, form=form).text.startswith(before_rest.rstrip("\n"))


@given(LINKS, SIZES, st.integers(30, 2500), FORMS)
def test_what_search_leaves_of_its_share_goes_to_whoever_was_lowered(
    links: dict[str, list[str]], sizes: dict[str, tuple[int, int]], limit: int, form: str
) -> None:
    graph = graph_of(links)
    try:
        part = packed(graph, texts_of(graph, sizes), limit, form=form, search=False)
    except UsageError:
        return
    lowered = [one for one in part.shown if one.is_lowered and one.level == "summary"]
    assert all(one.whole - one.tokens + _MOST_FOR_A_HEADER > limit - part.used for one in lowered)


def test_the_rest_of_who_was_lowered_follows_behind_once() -> None:
    graph = graph_of({"TASK-1": ["SPEC-1", "SPEC-2"], "SPEC-1": [], "SPEC-2": []})
    texts = texts_of(graph, {"TASK-1": (0, 0), "SPEC-1": (10, 150), "SPEC-2": (10, 160)})
    text = packed(graph, texts, 620, search=False).text
    assert text.count("=== SPEC: SPEC-2 |") == 2 and text.endswith(f"| rest ===\n{'more ' * 160}\n")
    assert text.count("word") == 20 and text.count("more") == 310


@settings(max_examples=examples(60))
@given(LINKS, SIZES, st.integers(100, 1500), FORMS)
def test_the_real_tokens_keep_the_budget(
    counter: Callable[[str], int], links: dict[str, list[str]], sizes: dict[str, tuple[int, int]], limit: int, form: str
) -> None:
    graph = graph_of(links)
    estimated = texts_of(graph, sizes)
    counted = {
        number: stored._replace(tokens=tuple(counter(text) for text in stored.texts), counter="o200k_base")
        for number, stored in estimated.items()
    }
    for texts in (estimated, counted):
        try:
            part = packed(graph, texts, limit, form=form)
        except UsageError:
            continue
        assert counter(part.text) <= part.used <= limit


@pytest.mark.parametrize("depth", LEVELS)
def test_depth_caps_the_level_and_what_is_capped_is_not_lowered(depth: str) -> None:
    graph = graph_of({"TASK-1": ["SPEC-1"], "SPEC-1": []})
    part = packed(graph, texts_of(graph), None, depth=depth)
    assert {shown.level for shown in part.shown} == {depth}
    assert "NOT SHOWN" not in part.text


def test_an_artifact_without_a_body_is_whole_at_once() -> None:
    graph = graph_of({"TASK-1": ["SPEC-1"], "SPEC-1": []})
    part = packed(graph, texts_of(graph, {"SPEC-1": (0, 0)}), None)
    assert "=== SPEC: SPEC-1 | T1 via TASK-1 | full ===\ntitle: Spec-1\n" in part.text


@pytest.mark.slow
def test_a_large_closure_names_the_first_and_counts_the_rest() -> None:
    graph = graph_of({"TASK-1": [f"SPEC-{n}" for n in range(10_000)], **{f"SPEC-{n}": [] for n in range(10_000)}})
    part = packed(graph, texts_of(graph), 3000)
    assert part.used <= 3000 and len(part.shown) + len(part.omitted) == 10_001
    assert re.search(r"omitted: (SPEC-\d+ \(\d+\), ){15}SPEC-\d+ \(\d+\), and \d+ more \(\d+\)", part.text)


@given(
    st.text(max_size=120),
    st.text(alphabet="= \n`~|#SPEC:T0\u2028\x1b", max_size=60),
    st.sampled_from(["compact", "markdown"]),
)
def test_no_file_forges_a_header_or_closes_a_fence(one: str, other: str, form: str) -> None:
    graph = graph_of({"TASK-1": ["SPEC-1"], "SPEC-1": []})
    spec = parse_artifact(
        ".contextia/system/specs/a.md", f"---\nid: SPEC-1\ntitle: {other!r}\n{other!r}: x\n---\n{one}\n{other}"
    )
    texts = texts_of(graph)
    texts[graph.nodes["SPEC-1"].number] = estimated(level_texts(spec))
    lines = packed(graph, texts, None, form=form).text.splitlines()
    if form == "compact":
        headers = [line for line in lines if line.lstrip().startswith("===") and line.strip().strip("=")]
        assert headers == [
            "=== TASK: TASK-1 | T0 | full ===",
            f"=== SPEC: SPEC-1 | T1 via TASK-1 | {_level(headers)} ===",
        ]
    else:
        fences = [line for line in lines if re.fullmatch(r"`{3,}(text)?", line)]
        assume(fences)
        assert len([line for line in _outside(lines) if line.startswith("#")]) == 2


def _level(headers: list[str]) -> str:
    return headers[-1].removesuffix(" ===").rpartition(" ")[2]


def _outside(lines: list[str]) -> list[str]:
    """The lines that Markdown does not take for the inside of a fence."""
    outside: list[str] = []
    fence = ""
    for line in lines:
        if fence:
            fence = "" if re.fullmatch(rf"{fence}`*", line) else fence
        elif found := re.fullmatch(r"(`{3,})text", line):
            fence = found[1]
        else:
            outside.append(line)
    return outside
