"""What goes before a model has room and bounds; an edit of JSON leaves every other byte, and can be taken back."""

import json
import random

import pytest
from tables import each_row

from ctxrank.cli.agents.injected_text import (
    MAX_CONTEXT_CHARACTERS,
    fenced,
    is_tagged,
    may_not_be_kept,
    public_part,
    reference,
    tagged,
    tokens_of,
    without_echo,
)
from ctxrank.cli.agents.json_edit import inserted, removed, ways
from ctxrank.cli.agents.shell_line import is_looking, simple_commands, without_rights, words_of
from ctxrank.cli.output.lines import facts, indented, place, text_lines, times
from ctxrank.indexer.records.injections import line_digest
from ctxrank.indexer.text.lines import REFERENCE_LINE


@each_row(
    "text, kept",
    [
        ("a <private>b</private> c", "a  c"),
        ("a <PRIVATE >b</Private > c", "a  c"),
        ("a <private>b", "a "),
        ("a</private>b", "a</private>b"),
        ("<ctxrank>\nx\n</ctxrank>\nb", "\nb"),
        ("a<private>b</private>c<private>d</private>e", "ace"),
        ("<private key>", "<private key>"),
        ("<private>a<ctxrank>b</private>c", "c"),
        ("<ctxrank>a</ctxrank><private>b</private>c", "c"),
        ("plain", "plain"),
    ],
)
def test_what_is_private_or_was_injected_is_not_kept(text: str, kept: str) -> None:
    assert public_part(text) == kept
    assert may_not_be_kept(text) == (text not in ("a</private>b", "<private key>", "plain"))
    assert is_tagged(text) == ("<ctxrank>" in text)


def test_only_lines_that_were_injected_are_an_echo() -> None:
    said = "This line is long enough to be compared with others."
    text = f"before\n{said}\nafter"
    assert without_echo(text, frozenset()) == text == without_echo(text, frozenset({line_digest("another")}))
    assert without_echo(text, frozenset({line_digest(said)})) == "before\nafter"
    assert without_echo("short", frozenset({line_digest("short")})) == "short"


def test_a_tag_in_a_text_cannot_close_its_block() -> None:
    assert tagged("\na\n") == "<ctxrank>\na\n</ctxrank>\n"
    assert tagged("a </ctxrank> < /CtxRank> <b> <ctxrankx") == (
        "<ctxrank>\na &lt;/ctxrank> &lt; /CtxRank> <b> &lt;ctxrankx\n</ctxrank>\n"
    )
    assert tagged("ctxrank <b>") == "<ctxrank>\nctxrank <b>\n</ctxrank>\n"


def test_as_many_items_are_said_as_have_room() -> None:
    assert reference("Heading", [], 1000) == ("", 0)
    items = [f"item {n} says that something else happens" for n in range(5)]
    for count in range(1, 6):
        text = tagged("\n".join([REFERENCE_LINE, "Heading", *items[:count]]))
        assert reference("Heading", items, tokens_of(text)) == (text, count)
        assert reference("Heading", items, tokens_of(text) - 1)[1] == count - 1
    room = MAX_CONTEXT_CHARACTERS - len(tagged("\n".join([REFERENCE_LINE, "H", ""])))
    assert reference("H", ["x" * (room - 1)], 10**6)[1] == 1 and reference("H", ["x" * (room + 1)], 10**6)[1] == 0
    assert (
        fenced("a ``` b\n", 20) == "````text\na ``` b\n````\n"
        and fenced("word word word", 9) == "```text\nword...\n```\n"
    )


_DOCUMENTS = [
    "",
    "{}",
    "{\n}",
    '{"a": 1}',
    '{\n  "a": 1\n}\n',
    '{\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}',
    '{"hooks": {"Stop": [1, 2]}, "b": {}}',
    '{\r\n  "hooks": {\r\n    "Stop": [\r\n      {"a": 1}\r\n    ]\r\n  }\r\n}\r\n',
    '{"hooks":{"Stop":[{"hooks":[1]},{"x":2}]}}',
    '{\n    "hooks": {},\n    "z": [\n        1\n    ]\n}\n',
    '{"hooks": {"Stop": []}, "hooks": {"Other": [3]}}',
]


@pytest.mark.parametrize("names", [("hooks", "Stop", None), ("hooks", "Other", None), ("mcp", "one"), ("z", None)])
def test_what_is_inserted_is_there_and_taken_out_again_leaves_the_bytes(names: tuple[str | None, ...]) -> None:
    value = {"hooks": [{"type": "command", "command": "x"}]}
    for text in _DOCUMENTS:
        try:
            edited = inserted(text, names, value)
        except ValueError:
            continue
        before, after = json.loads(text or "{}"), json.loads(edited)
        mine = [way for way in ways(edited, names) if way[-1].value == value]
        assert len(mine) == 1 and mine[0] == ways(edited, names)[-1]
        assert before != after and removed(edited, mine[0]) == text
        assert "\r\n" not in text or "\n" not in edited.replace("\r\n", "")
        indent = "\t" if "\t" in text else "  "
        assert f"\n{indent}" in edited.replace("\r", "") or "\n" not in text


def test_a_made_document_reads_as_a_person_would_write_it() -> None:
    assert json.loads(inserted("", ("a", None), 1)) == {"a": [1]}
    assert inserted('{\n    "b": {}\n}', ("a",), [1]) == '{\n    "b": {},\n    "a": [\n        1\n    ]\n}'
    assert inserted('{"b": 1}', ("a",), 2) == '{"b": 1,\n  "a": 2}'
    assert [way[-1].value for way in ways('{"a": [1, {"b": 2}], "c": 3}', (None,))] == [[1, {"b": 2}], 3]
    assert [way[-1].value for way in ways('{"a": [1, {"b": 2}]}', ("a", None, "b"))] == [2]
    assert [way[-1].value for way in ways('{"a": 1, "a": 2}', ("a",))] == [2] and ways(" ", ("a",)) == []


def test_any_elements_can_be_taken_out_of_a_list_in_any_order() -> None:
    chance = random.Random(4)
    for text in ('{"a": [1, 2, 3, 4]}', '{"a": [\n  1,\n  2,\n  3,\n  4\n]}'):
        left, kept = text, [1, 2, 3, 4]
        while len(kept) > 1:
            gone = chance.choice(kept)
            (way,) = [way for way in ways(left, ("a", None)) if way[-1].value == gone]
            left = removed(left, way)
            kept.remove(gone)
            assert json.loads(left) == {"a": kept} and ("\n" in left) == ("\n" in text)


@each_row(
    "line, folder, commands",
    [
        ("cd a; cd ../b && make", "/p/b", ["make"]),
        ("cd", "/p", ["cd"]),
        ("ls", "/p", ["ls"]),
        ("ls; pwd", "/p", ["pwd"]),
        ("make || echo no", "/p", ["make"]),
        ("make & sleep 3", "/p", ["make"]),
        ("sleep 3", "/p", []),
        ("sudo -u ana make", "/p", ["sudo -u ana make"]),
        ("time -p make", "/p", ["make"]),
        ("timeout 5 make", "/p", ["make"]),
        ("timeout -k 5 -s KILL 30 make", "/p", ["make"]),
        ("make 2>&1 | tee log | tail -3", "/p", ["make | tee log | tail -3"]),
        ("make 2>/dev/null >&2", "/p", ["make"]),
        ("make > a.txt", "/p", ["make > a.txt"]),
        ("sort < a > b", "/p", ["sort < a > b"]),
        ("make # why\nls", "/p", ["make"]),
        ("a\\\n b", "/p", ["a b"]),
        ("echo $(date; ls) > x", "/p", ["echo $(date; ls) > x"]),
        ("x=(1 2); make", "/p", ["x=(1 2)", "make"]),
        ("make |& tail", "/p", ["make"]),
        ("'a", "/p", ["'a"]),
        ("a;;b", "/p", ["a", "b"]),
        ("make 3>&-", "/p", ["make"]),
        ("make 2> err", "/p", ["make 2> err"]),
        ("x" * 10_000, "/p", ["x" * 10_000]),
    ],
)
def test_a_line_of_a_shell_is_read_as_its_commands(line: str, folder: str, commands: list[str]) -> None:
    assert simple_commands(line, "/p") == (folder, commands)


def test_what_only_looks_is_told_by_its_program_and_first_word() -> None:
    for command in ("ls -l", "sudo cat x", "git status", "sed -n 3p x", "awk 1 x", "/bin/ls", "git log | head"):
        assert is_looking(command) or "|" in command, command
    for command in (
        "sed -i s/a/b/ x",
        "perl -e 1",
        "perl -pi -e s/a/b/ x",
        "ls > x",
        "git commit",
        "make",
        "awk --in-place 1 x",
    ):
        assert not is_looking(command), command
    assert words_of('a "b c" > d') == ["a", '"b c"', ">", "d"] and words_of("a 'b") == ["a", "'b"]
    assert without_rights(["sudo", "-u", "x", "-n", "y", "make"]) == ["make"] and without_rights(["make", "-n"]) == [
        "make",
        "-n",
    ]


def test_what_commands_print_of_their_records() -> None:
    assert facts("a", None, "", "b", "a") == "a · b" and facts() == ""
    assert (place("s", "g"), place("s", None), place(None, "g"), place(None, None)) == ("s/g", "s", "g", "")
    assert list(indented("\na\n\n b \n")) == ["   a", "", "    b"]
    assert (
        list(text_lines("a\nb", is_full=True)) == ["   a", "   b"] and len(list(text_lines("a\nb", is_full=False))) == 1
    )
    assert (times(0), times(1), times(2)) == ("0 times", "once", "2 times")
