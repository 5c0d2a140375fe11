"""A signature stays the same where only names, numbers and places change, and differs where the error does."""

from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.errors.masks import MAX_WORDS, lasting, masked
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import NORMALISER_VERSION, Signature, sign, terms_of


def signed(text: str) -> Signature:
    return sign(error_units(text)[0])


# Two texts of one template: one test for each kind of variable part.
SAME_TEMPLATE = {
    "paths": ("error: cannot open /srv/a/x.toml", "error: cannot open ../other/place.yaml"),
    "line numbers": ("a.c:3:5: error: unknown type name 'x'", "lib/b.c:1042:7: error: unknown type name 'node_t'"),
    "numbers and plurals": (
        "error: this function takes 1 argument but 2 arguments were supplied",
        "error: this function takes 2 arguments but 1 argument was supplied",
    ),
    "lists": ("error: expected one of `;`, `.`, or `}`, found `x`", "error: expected one of `,` or `;`, found `foo`"),
    "identifiers": ("Error: getUserById failed for user_id", "Error: parseToken2 failed for my_token"),
    "UUIDs": (
        "Error: job 123e4567-e89b-12d3-a456-426614174000 failed",
        "Error: job 00000000-e89b-12d3-a456-42661417ffff failed",
    ),
    "addresses and ports": ("Error: connect ECONNREFUSED 127.0.0.1:5432", "Error: connect ECONNREFUSED 10.0.0.7:80"),
    "URLs": ("fatal: unable to access 'https://a.example/b.git/'", "fatal: unable to access 'https://c.example/d/e.git/'"),
    "durations": ("Error: timed out after 30s", "Error: timed out after 1500ms"),
    "bare names in Go": ("./a.go:1:2: undefined: file", "./b.go:3:4: undefined: frobnicate"),
    "bare types in Go": (
        "./a.go:1:2: cannot use x (variable of type int) as string value in assignment",
        "./a.go:7:2: cannot use req.Body (variable of type io.ReadCloser) as []byte value in assignment",
    ),
    "bare names in Java": (
        "A.java:1: error: variable count is already defined in method main(String[])",
        "B.java:9: error: variable result is already defined in method run()",
    ),
    "commands": ("bash: line 3: frob: command not found", "bash: line 90: file: command not found"),
}  # fmt: skip
DIFFERENT_TEMPLATE = {
    "a word": ("Error: worker started twice", "Error: worker paused twice"),
    "a keyword": ("error: 'get' accessor must return", "error: 'set' accessor must return"),
    "a code": ("a.ts(1,1): error TS2304: Cannot find name 'x'.", "a.ts(1,1): error TS2552: Cannot find name 'x'."),
    "a type": ("KeyError: 'x'", "IndexError: 'x'"),
    "a lint": ("a.c:1:2: error: x is bad [-Werror=shadow]", "a.c:1:2: error: x is bad [-Werror=unused]"),
}


@each_row("kind", SAME_TEMPLATE)
def test_a_template_survives_other(kind: str) -> None:
    one, other = map(signed, SAME_TEMPLATE[kind])
    assert one.headline == other.headline
    assert one.template == other.template


@each_row("kind", DIFFERENT_TEMPLATE)
def test_a_template_differs_with(kind: str) -> None:
    one, other = map(signed, DIFFERENT_TEMPLATE[kind])
    assert one.template != other.template


def test_the_instance_needs_what_was_masked() -> None:
    one, again, other = (signed(f"ModuleNotFoundError: No module named '{name}'") for name in ("yaml", "yaml", "tomli"))
    assert one.instance == again.instance != other.instance
    assert one.template == other.template
    assert one.values == ("yaml",)


def test_a_message_that_says_nothing_is_one_instance_only_at_one_place() -> None:
    at = 'Traceback (most recent call last):\n  File "/srv/{}.py", line 1, in test\n    assert x\nAssertionError\n'
    assert signed(at.format("a")).instance != signed(at.format("b")).instance


def test_frames_of_packages_are_left_out_where_there_are_own_ones() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/srv/shop/pay.py", line 7, in charge\n    load(x)\n'
        '  File "/usr/lib/python3.11/site-packages/yaml/__init__.py", line 1, in load\n    boom()\nValueError: bad\n'
    )
    assert [frame.place for frame in signed(text).frames] == ["pay.py:charge"]


def test_what_calls_of_the_project_led_to_is_traced_and_what_a_tool_printed_is_not() -> None:
    traced = sign(error_units('Traceback (most recent call last):\n  File "a.py", line 3, in f\nKeyError: 1\n')[0])
    assert traced.is_traced and traced.frames
    assert not traced._replace(frames=()).is_traced
    assert not traced._replace(family="diagnostic").is_traced


def test_language_and_lint_are_read_from_the_output() -> None:
    text = (
        "error: length comparison to zero\n  --> src/a.rs:8:4\n   |\n"
        "   = note: `-D clippy::len-zero` implied by `-D warnings`\n"
    )
    signature = signed(text)
    assert (signature.language, signature.codes) == ("rust", ("clippy::len_zero",))
    assert signature.normaliser == NORMALISER_VERSION
    assert signed("E3003 'Role' is a required property\nx.yaml:1:2").language == ""  # is none of rustc's


@settings(max_examples=examples(150))
@given(st.text(max_size=3000))
def test_any_text_can_be_signed(text: str) -> None:
    for unit in error_units(text):
        signature = sign(unit)
        assert len(signature.words) <= MAX_WORDS
        assert len(signature.template) == len(signature.instance) == 32
        assert len(terms_of(signature)) < 60


@given(st.from_regex(r"[a-z]{2,8}_[a-z]{2,8}", fullmatch=True), st.integers(0, 10**9), st.uuids())
def test_renamed_things_do_not_change_a_template(name: str, number: int, uuid: object) -> None:
    text = "Error: {0} lost {1} rows of '{0}' in /data/{0}/part-{1}.csv ({2})"
    plain = masked(text.format("some_name", 7, "123e4567-e89b-12d3-a456-426614174000"))
    assert masked(text.format(name, number, uuid)).words == plain.words


@given(st.sampled_from([text for pair in SAME_TEMPLATE.values() for text in pair]))
def test_colour_and_line_ends_do_not_change_a_signature(text: str) -> None:
    assert signed(f"\x1b[31m{text}\x1b[0m\r\n") == signed(text)


def test_what_a_newer_interpreter_suggests_is_no_part_of_the_message() -> None:
    plain = signed("AttributeError: 'Frame' object has no attribute 'append'")
    assert (
        signed("AttributeError: 'Frame' object has no attribute 'append'. Did you mean: '_append'?").template
        == plain.template
    )


def test_what_a_type_stands_for_is_no_part_of_the_message() -> None:
    plain = masked("cannot convert 'Basket' to 'int'")
    assert masked("cannot convert 'std::string' {aka 'std::__cxx11::basic_string<char>'} to 'int'").words == plain.words


def test_an_option_of_the_tool_is_a_word_and_its_value_is_masked() -> None:
    assert masked("helper x1 does not support --atomic").words[-1] == "'--atomic'"
    assert masked("'-mcmodel=large' is not supported")[:2] == (("'-mcmodel='", "is", "not", "supported"), ("large",))


def test_what_changes_from_run_to_run_is_not_what_lasts() -> None:
    one = lasting("at /home/ana/shop/cart.py:7 after 12 ms: <Cart at 0x7f3a> != 5")
    assert one == lasting("at /srv/b/cart.py:31 after 3 ms: <Cart at 0x55c1> != 5")
    assert one != lasting("at /srv/b/cart.py:31 after 3 ms: <Cart at 0x55c1> != 6")


def test_names_in_old_quotation_marks_are_one_value_each() -> None:
    assert masked("no `a' for `b' in it").values == ("a", "b")
    assert masked("it is `a('b')`").values == ("a('b')",)
    assert masked("table not found: count").values == ("count",)


def test_an_option_is_a_word_and_what_is_set_by_it_a_value() -> None:
    assert masked("no such option '--verbose'") == (("no", "such", "option", "'--verbose'"), ())
    assert masked("no such option '--level=3'") == (("no", "such", "option", "'--level='"), ("3",))


def test_of_a_shared_notation_the_file_says_the_language() -> None:
    for place, language in (("a.cs", "csharp"), ("a.ts", "typescript"), ("a.targets", "")):
        assert sign(error_units(f"{place}(3,1): error XY0103: 'x' is not there")[0]).language == language
    for folder in ("", "C:\\shop\\", "D:/shop/"):
        zig = sign(error_units(f"{folder}a.zig:3:1: error: 'x' is not there")[0])
        assert (zig.language, zig.file) == ("", "a.zig")
