"""One file of a tree: every spelling that is accepted, every problem with its line, three levels of text."""

import json

from hypothesis import given
from hypothesis import strategies as st
from tables import each_row

from ctxrank.extensions.links.artifact import Link, LinkedArtifact, first_section, level_texts, safe
from ctxrank.extensions.links.globs import MAX_PATTERNS
from ctxrank.extensions.links.graph import Node
from ctxrank.extensions.links.reading import parse_artifact

SPEC = ".contextia/system/specs/a.md"


def parsed(yaml: str, body: str = "", *, path: str = SPEC) -> LinkedArtifact:
    return parse_artifact(path, f"---\n{yaml}\n---\n{body}")


def rules(artifact: LinkedArtifact) -> list[tuple[str, int]]:
    return [(problem.rule, problem.line) for problem in artifact.problems]


@each_row(
    "yaml, wanted",
    [
        (
            "links:\n  specs: [SPEC-B-1]\n  norms: [NORM-A-1]",
            [Link("specs", "SPEC-B-1", 5), Link("norms", "NORM-A-1", 6)],
        ),
        ("links: [DEC-A-1, NORM-A-1]", [Link("", "DEC-A-1", 4), Link("", "NORM-A-1", 4)]),
        ("decisions:\n- DEC-A-1\n- DEC-A-1", [Link("decisions", "DEC-A-1", 5)]),
        ("norms: NORM-A-1, NORM-B-1", [Link("norms", "NORM-A-1", 4), Link("norms", "NORM-B-1", 4)]),
        ("links:", []),
    ],
)
def test_links_may_be_nested_flat_or_at_the_top(yaml: str, wanted: list[Link]) -> None:
    assert list(parsed(f"id: SPEC-A-1\ntitle: A\n{yaml}").links) == wanted


@each_row(
    "path, yaml, wanted",
    [
        (SPEC, "id: DEC-A-1", "spec"),
        (".contextia/system/rationale/deep/a.md", "id: X-1", "decision"),
        (".contextia/work/a.md", "id: X-1\ntype: norm", "norm"),
        (".contextia/work/a.md", "id: TASK-1", "task"),
        (".contextia/work/README.md", "title: about", ""),
    ],
)
def test_the_type_is_the_folders_else_the_files_else_the_ids(path: str, yaml: str, wanted: str) -> None:
    assert parsed(yaml, path=path).type == wanted


@each_row(
    "path, typed, wanted",
    [
        (SPEC, "approved", "current"),
        (SPEC, "Implemented", "current"),
        (".contextia/work/tasks/a.md", "in progress", "in_progress"),
        (".contextia/work/tasks/a.md", "completed", "done"),
        (".contextia/system/rationale/a.md", "superseded", "superseded"),
    ],
)
def test_a_status_is_read_in_our_words(path: str, typed: str, wanted: str) -> None:
    artifact = parsed(f"id: A-1\ntitle: A\nstatus: {typed}", path=path)
    assert (artifact.status, artifact.problems) == (wanted, ())


def test_an_unknown_status_warns_and_the_artifact_stays() -> None:
    artifact = parsed("id: SPEC-A-1\ntitle: A\nstatus: cooking")
    assert (artifact.id, artifact.status, rules(artifact)) == ("SPEC-A-1", "cooking", [("unknown-status", 4)])


def test_missing_fields_are_named() -> None:
    artifact = parsed("paths: [a]")
    assert [problem.message for problem in artifact.problems] == [
        "'id' is missing",
        "'title' is missing",
        "'status' is missing",
    ]
    assert rules(parsed("id: lower-1\ntitle: A\nstatus: draft")) == [("missing-required-field", 2)]


def test_broken_frontmatter_is_one_problem_and_not_four() -> None:
    assert rules(parse_artifact(SPEC, "---\nid: [\n---\n")) == [("malformed-frontmatter", 3)]


def test_an_identity_needs_no_frontmatter() -> None:
    artifact = parse_artifact(".contextia/system/identity.md", "# Acme\n\nBills.\n")
    assert (artifact.id, artifact.title, artifact.problems) == ("IDENTITY", "Acme", ())


def test_the_scope_of_a_norm_may_be_called_paths() -> None:
    norm = ".contextia/system/norms/a.md"
    assert parsed("scope: 'src/*.{py,ts}, lib/'", path=norm).globs == ("src/*.{py,ts}", "lib/")
    assert parsed("paths: [src]", path=norm).globs == ("src",)


def test_three_levels_each_say_more() -> None:
    texts = level_texts(parsed("id: SPEC-A-1\ntitle: A\npaths: [x, y]", "# A\n\nFirst.\n\n## More\n\nRest.\n"))
    assert texts.meta == "title: A\npaths: x, y\n"
    assert texts.summary == "title: A\npaths: x, y\n\nFirst.\n"
    assert texts.full == "title: A\npaths: x, y\n\nFirst.\n\n## More\n\nRest.\n"


@each_row(
    "body, wanted",
    [
        ("# T\n\n## One\n\na\n\n### Deeper\n\nb\n\n## Two\n\nc", "## One\n\na\n\n### Deeper\n\nb"),
        ("Text.\n\n# Later\n", "Text."),
        ("```\n# no heading\n```\n\n## Two", "```\n# no heading\n```"),
        ("", ""),
        ("# T", ""),
        ("T\n==\n\nText.\n\nMore\n--\n\na", "Text."),
    ],
)
def test_the_first_section_is_what_stands_under_the_title(body: str, wanted: str) -> None:
    assert first_section(body) == wanted


@each_row("line", ["=== SPEC: X ===", "  === END", "====x", "\uff1d\uff1d\uff1d TASK: X", "\u2550\u2550\u2550 NORM"])
def test_a_line_that_looks_like_a_header_is_escaped(line: str) -> None:
    assert "\\" in safe(f"before\n{line}\nafter\n").split("\n")[1]


def test_a_heading_underlined_in_markdown_stays() -> None:
    assert safe("Title\n=====\n") == "Title\n=====\n"


def test_more_patterns_than_an_artifact_may_have_are_reported_and_left_out() -> None:
    """Those of two artifacts may each be compared with each."""
    text = "---\nid: SPEC-A-1\nstatus: current\ntitle: T\npaths:\n" + "  - '*/a'\n" * (MAX_PATTERNS + 5) + "---\n"
    read = parse_artifact(".contextia/system/specs/a.md", text)
    assert len(read.globs) == MAX_PATTERNS
    assert [(one.rule, one.line) for one in read.problems] == [("malformed-frontmatter", 6 + MAX_PATTERNS)]


def test_a_pattern_that_is_too_long_is_reported_and_left_out() -> None:
    found = parsed(f"id: SPEC-A-1\ntitle: A\nstatus: current\npaths:\n- {'a?' * 501}\n- src/**")
    assert (found.globs, rules(found)) == (("src/**",), [("malformed-frontmatter", 6)])


@each_row(
    "text, wanted",
    [
        ("src/**, lib/*.{ts,tsx}", ("src/**", "lib/*.{ts,tsx}")),
        ("{a,{b,c},d}", ("{a", "{b,c}", "d}")),
        ("a{b,c", ("a{b", "c")),
    ],
)
def test_a_list_as_text_is_cut_at_commas_outside_of_braces(text: str, wanted: tuple[str, ...]) -> None:
    assert parsed(f"id: SPEC-A-1\ntitle: A\nstatus: current\npaths: '{text}'").globs == wanted


@given(st.text(max_size=200), st.text(alphabet="= \t\n\r\x0b\x0c\x1b\x85\u2028\u2029\u202eSPEC:|", max_size=80))
def test_no_text_forges_a_header(one: str, other: str) -> None:
    for text in (one, other, one + "\n" + other):
        lines = safe(text).splitlines()
        assert not any(line.lstrip().startswith("===") and line.strip().strip("=") for line in lines)


@given(st.text(max_size=300))
def test_no_bytes_raise(text: str) -> None:
    for path in (SPEC, ".contextia/system/identity.md", ".contextia/work/x.md"):
        level_texts(parse_artifact(path, text))
        level_texts(parse_artifact(path, f"---\n{text}\n---\n{text}"))


_NAMES = st.text() | st.text('"\\, []*/a1', max_size=12)


@given(st.lists(st.tuples(_NAMES, _NAMES, st.integers(0, 99)), max_size=4), st.lists(_NAMES, max_size=4))
def test_a_node_reads_its_links_and_patterns_as_they_were_written(
    links: list[tuple[str, str, int]], globs: list[str]
) -> None:
    node = Node(1, "a.md", "SPEC-A-1", "spec", "A", "current", "", json.dumps(links), json.dumps(globs))
    assert (list(node.links), list(node.globs)) == ([Link(*link) for link in links], globs)
