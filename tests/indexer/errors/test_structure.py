"""Where the line that was read first only concludes or names nothing, the line that says what is wrong leads."""

import pytest

from ctxrank.indexer.errors.parse.console import clean
from ctxrank.indexer.errors.parse.structure import concludes
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import as_passed_on, sign


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ('a.pas(7,9) Error: Identifier not found "x"\na.pas(9) Fatal: There were 1 errors\nFatal: It is aborted\n',
         'Identifier not found "x"'),
        ("%Error: a.sv:7:9: Pin not found: 'rst'\n  7 |  .rst(r),\n%Error: Exiting due to 1 error(s)\n",
         "Pin not found: 'rst'"),
        ("Error detected while processing /home/a/.vimrc:\nline   7:\nE185: Cannot find color scheme 'nord'\n",
         "Cannot find color scheme 'nord'"),
        ("a.m:012: In clause for `x'/1:\na.m:012:   mode error: `Y' is\na.m:012:   `free'.\n",
         "In clause for `x'/1: mode error: `Y' is `free'."),
        ("Error:\n   \u256d\u2500[ a.prql:7:9 ]\n 7 \u2502  filter x\n   \u2502         \u252c\n"
         "   \u2502         \u2570\u2500\u2500 Unknown name `x`\n\u2500\u2500\u2500\u256f\n",
         "Unknown name `x`"),
        (" ---- -----------\n  Line   src/A.php\n ---- -----------\n  12     It will always be false.\n"
         " ---- -----------\n\n [ERROR] Found 1 error\n",
         "12     It will always be false."),
        ("a.proto:7:9:Package name \"a\" is bare\n", 'Package name "a" is bare'),
        ("error: failed to connect to it\nerror: Failed to connect socket to '/run/x'\n",
         "failed to connect to it: Failed to connect socket to '/run/x'"),
    ],
)  # fmt: skip
def test_what_is_wrong_leads_and_signs_as_it_is_kept(report: str, message: str) -> None:
    first = error_units(report)[0]
    assert first.message == message
    assert sign(error_units(first.text)[0]).instance == sign(first).instance


@pytest.mark.parametrize("said", ["Compilation aborted", "Exiting due to 3 error(s)", "/usr/bin/x returned an error"])
def test_a_line_that_concludes_is_told_by_its_words(said: str) -> None:
    assert concludes(said)
    assert not concludes(f"{said}: 'name'")


@pytest.mark.parametrize("margin", ["> ", "  | ", "    ", "\t\t\t\t"])
def test_the_margin_of_a_quotation_is_no_part_of_it(margin: str) -> None:
    report = "FATAL: it is\n\nTypeError: no 'x'\n    at run (/srv/a.js:1:2)"
    quoted = "\n".join(f"{margin}{line}".rstrip() for line in report.split("\n"))
    assert [sign(unit) for unit in error_units(quoted)] == [sign(unit) for unit in error_units(report)]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("> it is", "> it is"),
        ("    it is", "    it is"),
        ("> it is\n> so", "it is\nso"),
        ("> it is\n>\n> so", "it is\n\nso"),
        ("> it is\n> so\nwell", "> it is\n> so\nwell"),
        (">  it is\n> so", " it is\nso"),
    ],
)
def test_what_all_lines_begin_with_is_a_margin(text: str, read: str) -> None:
    assert clean(text) == read


def test_what_is_told_for_information_is_no_error() -> None:
    assert (
        error_units("up.go:12: [debug] it begins\nError: it is 'x'\nup.go:13: [debug] it is 'x'")[0].message
        == "it is 'x'"
    )


def test_what_is_passed_on_may_stand_in_a_quotation() -> None:
    said = (
        "got 7: \"plugin 'x' could not be loaded: /lib/a/x.so: cannot open shared object file: No such file\"",
        "go() failed: x could not be loaded: /lib/b/x.so: cannot open shared object file: No such file",
    )
    new, stored = (sign(error_units(text)[0]) for text in said)
    told = as_passed_on(stored, new)
    assert (told.headline, told.missing) == (new.headline, new.missing)


def test_what_a_log_lists_behind_a_message_is_not_passed_on() -> None:
    said = ', client: 10.0.0.1, server: a.example, request: "GET /x HTTP/1.1", upstream: "b", host: "a.example"'
    asked, known = (sign(error_units(f"error: {one}{said}")[0]) for one in ("it timed out", "it was refused"))
    assert as_passed_on(known, asked) == known
