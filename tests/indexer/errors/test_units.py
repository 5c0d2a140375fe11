"""Console output is cut into errors, the one that explains the rest first; whatever is fed in, it ends well."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tables import each_row

from ctxrank.indexer.errors.parse.console import MAX_HEAD_BYTES, MAX_TAIL_BYTES, read_failure
from ctxrank.indexer.errors.parse.summaries import is_summary
from ctxrank.indexer.errors.parse.units import MAX_UNITS, ErrorUnit, error_units
from ctxrank.indexer.errors.signature import sign

TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/shop/pay.py", line 7, in charge
    rate = rates[currency]
           ~~~~~^^^^^^^^^^
KeyError: 'CHF'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/shop/app.py", line 30, in main
    charge("CHF")
  File "/srv/shop/pay.py", line 9, in charge
    raise PaymentError(f"no rate for {currency}")
shop.errors.PaymentError: no rate for CHF
"""


def first(text: str) -> ErrorUnit:
    return error_units(text)[0]


# What a tool prints, and what its primary error is: tool, type, first code, message.
OUTPUTS = {
    "rustc": (
        "error[E0599]: no method named `frob` found for struct `Widget` in the current scope\n"
        " --> src/lib.rs:4:7\n  |\n\n"
        "error: could not compile `shop` (lib) due to 1 previous error\n",
        ("rust", "", "E0599", "no method named `frob` found for struct `Widget` in the current scope"),
    ),
    "gcc": (
        "gcc -c a.c\na.c: In function 'main':\na.c:3:5: error: unknown type name 'foo' [-Wextra]\n    3 | foo x;\n",
        ("cc", "", "-Wextra", "unknown type name 'foo'"),
    ),
    "tsc": ("src/a.ts(3,7): error TS2304: Cannot find name 'x'.\n", ("tsc", "", "TS2304", "Cannot find name 'x'.")),
    "go": ("# shop/cmd\n./main.go:9:2: undefined: frob\n", ("go", "", "", "undefined: frob")),
    "javac": ("Shop.java:3: error: ';' expected\n    int a\n         ^\n1 error\n", ("javac", "", "", "';' expected")),
    "java": (
        'Exception in thread "main" java.lang.IllegalStateException: cannot start\n\tat shop.App.main(App.java:5)\n'
        "Caused by: java.net.BindException: Address already in use\n\tat shop.Net.open(Net.java:17)\n\t... 1 more\n",
        ("java", "BindException", "", "Address already in use"),
    ),
    "node": (
        "/srv/app.js:3\n  x.y()\n    ^\n\nTypeError: Cannot read properties of undefined (reading 'y')\n"
        "    at start (/srv/app.js:3:5)\n    at node:internal/main:17:47\n",
        ("node", "TypeError", "", "Cannot read properties of undefined (reading 'y')"),
    ),
    # Tools that no notation is made for: what leads is the message, not a place, a title, a box, counts or advice.
    "a cross before it": (
        "\u2718 [ERROR] Could not resolve \"left-padder\"\n\n    cart.js:1:14:\n\n"
        "  You can mark the path \"left-padder\" as external to exclude it, which will remove this error.\n\n1 error\n",
        ("", "", "", 'Could not resolve "left-padder"'),
    ),
    "a place above it": (
        "ERROR in ./cart.js 1:10-26\nModule not found: Error: Can't resolve 'uuidx' in '/srv/a'\n\n"
        "compiled with 1 error\n",
        ("", "", "", "Module not found: Error: Can't resolve 'uuidx' in '/srv/a'"),
    ),
    "a place and code above it": (
        "Error: cart.pug:3:1\n    1| div(class='a'\n  > 3| \n-------^\n\n"
        "The end was reached with no closing bracket.\n",
        ("", "", "", "The end was reached with no closing bracket."),
    ),
    "a piece of code below it": (
        "Error: Undefined variable.\n  \u2577\n1 \u2502 .a { color: $brand; }\n  \u2502             ^^^^^^\n  \u2575\n",
        ("", "", "", "Undefined variable: `$brand`"),
    ),
    "a piece of code above it": (
        "    def count(:\n             ^\nParseError: bad input\n", ("", "ParseError", "", "bad input: `(`"),
    ),
    "a sentence below its title": (
        'Error: Unsupported argument\n\n  on cart.tf line 2:\n   2:   typo = string\n\nAn argument named "typo" is not '
        'expected here. Did you\nmean "type"?\n',
        ("", "", "", 'Unsupported argument: An argument named "typo" is not expected here'),
    ),
    "a box around it": (
        "Usage: cart.py [OPTIONS]\n\u256d\u2500 Error \u2500\u2500\u2500\u256e\n"
        "\u2502 No such option: --verbos \u2502\n"
        "\u2570\u2500\u2500\u2500\u2500\u256f\n",
        ("", "", "", "No such option: --verbos"),
    ),
    "a frame of code below it": (
        "  \u26a0 eslint(no-debugger): `debugger` statement is not allowed\n   \u256d\u2500[cart.js:1:1]\n"
        " 1 \u2502 debugger;\n"
        "   \u00b7 \u2500\u2500\u2500\n   \u2570\u2500\u2500\u2500\u2500\n\nFound 1 warning and 0 errors.\n",
        ("", "", "", "eslint(no-debugger): `debugger` statement is not allowed"),
    ),
    "a structure around it": (
        'ZodError: [\n  {\n    "code": "too_big",\n    "message": "Too big: expected number to be <=3"\n  }\n]\n',
        ("", "ZodError", "", "Too big: expected number to be <=3"),
    ),
    "a code above it": (
        "Error: ERR_PNPM_NO_SCRIPT\n\n  \u00d7 Missing script: biuld\n",
        ("", "", "", "ERR_PNPM_NO_SCRIPT: Missing script: biuld"),
    ),
    "a heading above it": (
        "Error compiling Cython file:\n-----\n...\nshop.pyx:2:11: undeclared name not builtin: amont\n",
        ("", "", "", "undeclared name not builtin: amont"),
    ),
    "a list below it": (
        "PackagesNotFoundError: The following packages are not available from current channels:\n\n  - acmex\n",
        ("", "PackagesNotFoundError", "", "The following packages are not available from current channels: acmex"),
    ),
    "a traceback without its heading": (
        'Traceback\n=========\n\n      File "/srv/a/x.py", line 2, in load\n        raise Bad(\n'
        "    pkg.ExtensionError: Could not import extension tabs\n\n\n"
        "Please also report this if it was a user error.\n",
        ("python", "ExtensionError", "", "Could not import extension tabs"),
    ),
    "the first complaint of a program": (
        "gpg: error retrieving 'ana@example.org' via WKD: No name\ngpg: cart.txt: encryption failed: No name\n",
        ("", "", "", "gpg: error retrieving 'ana@example.org' via WKD: No name"),
    ),
    "advice below it": (
        "dpkg-query: package 'libfrob' is not installed\nUse dpkg --info to examine archive files.\n",
        ("", "", "", "dpkg-query: package 'libfrob' is not installed"),
    ),
    "an exception's class behind it": (
        "ERROR:  While executing gem ... (Gem::CommandLineError)\n    Please specify a gem name\n",
        ("sql", "CommandLineError", "", "While executing gem ... (Gem::CommandLineError)"),
    ),
    "counts below it": (
        "    ^ Tag must be paired, missing: [ </p> ] on line 1.\n\nScanned 1 files, found 1 errors in 1 files (8 ms)\n",
        ("", "", "", "Tag must be paired, missing: [ </p> ] on line 1."),
    ),
    "jasmine": (
        "Failures:\n1) cart adds up\n  Message:\n    Expected 404 to be 200.\n  Stack:\n"
        "        at UserContext.<anonymous> (/srv/a/cart.spec.js:1:60)\n\n1 spec, 1 failure\n",
        ("jasmine", "", "", "Expected 404 to be 200."),
    ),
    "robot": (
        "Buys                         | FAIL |\nNo keyword with name 'Open Cart' found.\n-------------------------\n"
        "Shop                         | FAIL |\n1 test, 0 passed, 1 failed\n=========================\n",
        ("robot", "", "", "No keyword with name 'Open Cart' found."),
    ),
    "perl's tests": (
        "#   Failed test 'adds up'\n#   at shop.t line 2.\n#          got: '3'\n#     expected: '4'\n"
        "# Looks like you failed 1 test of 1.\nResult: FAIL\n",
        ("perl", "", "", "got: '3'"),
    ),
    "npm": (
        "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\nnpm ERR! Found: react@18.2.0\n",
        ("npm", "", "ERESOLVE", "ERESOLVE unable to resolve dependency tree"),
    ),
    "pip": (
        "Collecting frob\nERROR: Could not find a version that satisfies the requirement frob (from versions: none)\n",
        ("pip", "", "", "Could not find a version that satisfies the requirement frob (from versions: none)"),
    ),
    "pytest": (
        "___ test_total ___\n\n    def test_total():\n>       assert total() == 3\n"
        "E       AssertionError: assert 2 == 3\n"
        "E        +  where 2 = total()\n\ntests/test_shop.py:9: AssertionError\n"
        "FAILED tests/test_shop.py::test_total - AssertionError: assert 2 == 3\n",
        ("pytest", "AssertionError", "", "assert 2 == 3"),
    ),
    "go test": (
        "--- FAIL: TestTotal (0.00s)\n    shop_test.go:9: got 2, want 3\nFAIL\n",
        ("go", "", "", "got 2, want 3"),
    ),
    "panic": (
        "thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds: the len is 3 but the index is 9\n",
        ("rust", "", "", "index out of bounds: the len is 3 but the index is 9"),
    ),
    "shell": ("bash: line 3: frob: command not found\n", ("shell", "", "", "frob: command not found")),
    "cp": (
        "cp: cannot stat 'a.txt': No such file or directory\n",
        ("shell", "", "", "cp: cannot stat 'a.txt': No such file or directory"),
    ),
    "git": (
        "Auto-merging a.py\nCONFLICT (content): Merge conflict in a.py\nAutomatic merge failed; fix conflicts\n",
        ("git", "", "", "CONFLICT (content): Merge conflict in a.py"),
    ),
    "docker": (
        "docker: Error response from daemon: pull access denied for shop.\nSee 'docker run --help'.\n",
        ("docker", "", "", "pull access denied for shop."),
    ),
    "postgres": (
        'psql:init.sql:3: ERROR:  relation "orders" does not exist\nLINE 1: SELECT * FROM orders;\n',
        ("sql", "", "", 'relation "orders" does not exist'),
    ),
    "segfault": (
        "./run.sh: line 2:  4711 Segmentation fault      (core dumped) ./shop\n",
        ("shell", "", "", "Segmentation fault"),
    ),
    "port": (
        "Error: listen EADDRINUSE: address already in use :::8080\n",
        ("", "", "EADDRINUSE", "listen EADDRINUSE: address already in use :::8080"),
    ),
}  # fmt: skip


@each_row("name", OUTPUTS)
def test_the_error_of_each_tool_is_found(name: str) -> None:
    text, (tool, error_type, code, message) = OUTPUTS[name]
    unit = first(text)
    assert unit.message == message
    assert (unit.tool, unit.error_type) == (tool, error_type)
    assert not code or unit.codes[0] == code


@each_row("text", [*(text for text, _ in OUTPUTS.values()), TRACEBACK])
def test_what_is_kept_of_an_error_signs_to_the_same_signature(text: str) -> None:
    """A newer normaliser has nothing else to sign again."""
    for unit in error_units(text):
        kept, signature = sign(first(unit.text)), sign(unit)
        assert (kept.template, kept.instance, kept.frames) == (signature.template, signature.instance, signature.frames)


def test_the_last_exception_of_a_chain_leads_with_its_frames_and_their_code() -> None:
    unit = first(TRACEBACK)
    assert (unit.error_type, unit.message) == ("PaymentError", "no rate for CHF")
    assert [frame.place for frame in unit.frames] == ["app.py:main", "pay.py:charge"]
    assert unit.frames[-1].code == 'raise PaymentError(f"no rate for {currency}")'


def test_a_syntax_error_keeps_the_line_that_does_not_parse() -> None:
    unit = first("  File \"/srv/x.py\", line 3\n    if True\n           ^\nSyntaxError: expected ':'\n")
    assert (unit.error_type, unit.message) == ("SyntaxError", "expected ':'")


def test_of_an_exception_group_a_member_is_found() -> None:
    text = (
        "  + Exception Group Traceback (most recent call last):\n  |   File \"/srv/a.py\", line 1, in main\n"
        "  |     run()\n"
        "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n"
        "  +-+---------------- 1 ----------------\n"
        '    | Traceback (most recent call last):\n    |   File "/srv/a.py", line 9, in task\n    |     1 / 0\n'
        "    | ZeroDivisionError: division by zero\n    +------------------------------------\n"
    )  # fmt: skip
    assert "ZeroDivisionError" in {unit.error_type for unit in error_units(text)}


def test_several_errors_are_several_units_and_a_summary_does_not_lead() -> None:
    text = "FAILED t.py::it - another\na.c:1:2: error: first thing\nb.c:1:2: error: second thing\n"
    units = error_units(text)
    assert [unit.message for unit in units] == ["first thing", "second thing", "another"]
    assert all(unit.why for unit in units)


SUMMARIES = (
    "make: *** [Makefile:2: all] Error 1", "make[1]: *** [Makefile:2: sub] Error 2\nmake: *** [all] Error 2",
    "make: *** Error 2", "gmake: *** Waiting for unfinished jobs....", "recipe for target 'all' failed",
    "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nnpm ERR! shop@1.0.0 test: `jest`\nnpm ERR! Exit status 1",
    "npm ERR! exit code 1", "npm error code ELIFECYCLE", " ELIFECYCLE  Command failed with exit code 1.",
    "npm error Lifecycle script `build` failed with error:\nnpm error code 1\nnpm error command sh -c tsc",
    "Command failed with exit code 1", "error Command failed with exit code 1.", "exit status 1",
    "error: could not compile `shop` (lib) due to 1 previous error", "error: aborting due to 2 previous errors",
    "error: process didn't exit successfully: `target/debug/shop` (exit status: 101)",
    "FAILED (failures=1)", "FAILED (failures=1, errors=2)", "1 failed, 2 passed in 0.10s", "FAIL\tshop/cart\t0.002s",
    "test result: FAILED. 1 passed; 1 failed; 0 ignored", "Error: Process completed with exit code 1.",
    "##[error]Process completed with exit code 1.", "ninja: build stopped: subcommand failed.", "BUILD FAILED in 3s",
    "FAILURE: Build failed with an exception.\n\n* What went wrong:\nExecution failed for task ':compileJava'.",
    "[INFO] BUILD FAILURE", "collect2: error: ld returned 1 exit status", "compilation terminated.",
    "The command '/bin/sh -c npm ci' returned a non-zero code: 1", "ERROR: Job failed: exit code 1",
)  # fmt: skip
SAYING = (
    "make: *** No rule to make target 'shop.o', needed by 'all'.  Stop.", "Makefile:2: *** missing separator.  Stop.",
    "make: *** [Makefile:2: all] Segmentation fault (core dumped)", "Error: Request failed with status code 404",
    "error: process didn't exit successfully: `target/debug/shop` (signal: 11, SIGSEGV: invalid memory reference)",
    "error: 3 failed logins for user bob", "fatal: could not read Username for 'https://example.org'",
    "npm error code 1\nnpm error path /srv/y\nnpm error command failed\nnpm error gyp ERR! find Python: no Python",
)  # fmt: skip


@each_row("text", SUMMARIES)
def test_a_summary_says_only_that_something_failed_and_gives_way_to_what_says_more(text: str) -> None:
    assert is_summary(first(text).message)
    for both in (f"{text}\n\na.c:1:2: error: the cause\n", f"a.c:1:2: error: the cause\n{text}\n"):
        assert [unit.message for unit in error_units(both)] == ["the cause"]


@each_row("text", SAYING)
def test_a_line_that_says_what_failed_is_no_summary(text: str) -> None:
    assert not is_summary(first(text).message)


def test_a_line_that_speaks_of_failure_is_better_than_a_summary_below_it() -> None:
    assert first("frob: it cannot be done\nfrob ends\nmake: *** [all] Error 1\n").message == "frob: it cannot be done"
    assert first("frob ends\nmake: *** [all] Error 1\n").message == "*** [all] Error 1"


def test_an_exit_status_is_no_status_of_http() -> None:
    assert first("error: the child said exit status: 101\n").codes == ()
    assert first("error: the server said status: 503\n").codes == ("HTTP 503",)


def test_colours_and_carriage_returns_and_timestamps_change_nothing() -> None:
    plain = "building\nsrc/a.c:3:5: error: unknown type name 'foo'\nstopped\n"
    coloured = plain.replace("error:", "\x1b[1;31merror:\x1b[0m").replace("\n", "\r\n")
    stamped = "".join(f"2026-11-22T10:00:0{i}.123Z {line}\n" for i, line in enumerate(plain.splitlines()))
    for text in (coloured, stamped, f"10%\r50%\r100%\r\n{plain}"):
        assert first(text).message == first(plain).message


def test_what_announces_nothing_is_all_of_its_last_lines() -> None:
    assert first("one\ntwo\n\n").message == "one two"
    assert first("it all went wrong: unable to comply\nbye\n").message == "it all went wrong: unable to comply"
    assert error_units(" \n\n") == ()


@each_row(
    "text, message, place",
    [
        ("shop.rb:2:in `total': undefined method `net' for nil (NoMethodError)\n\tfrom shop.rb:5:in `<main>'",
         "undefined method `net' for nil", "shop.rb:total"),
        ("shop.rb:2:in `/': divided by 0 (ZeroDivisionError)\n\tfrom shop.rb:2:in `mean'\n\tfrom shop.rb:5:in `<main>'",
         "divided by 0", "shop.rb:mean"),
        ("TAP version 13\n# Subtest: adds up\nnot ok 1 - adds up\n  ---\n  error: |-\n    Expected values:\n\n"
         "    4 !== 2\n\n  name: 'AssertionError'\n  stack: |-\n"
         "    TestContext.<anonymous> (/srv/a.test.js:3:2)\n  ...\n1..1",
         "Expected values: 4 !== 2", "a.test.js:adds up"),
    ],
)  # fmt: skip
def test_ruby_and_tap_name_the_call_that_failed(text: str, message: str, place: str) -> None:
    unit = error_units(text)[0]
    assert (unit.message, unit.frames[-1].place) == (message, place)


@each_row(
    "text, message",
    [
        ("lua: a.lua:2: attempt to index a nil value\nstack traceback:\n\ta.lua:2: in local 'f'\n\t[C]: in ?",
         "lua: a.lua:2: attempt to index a nil value"),
        ('can\'t find package x\n    while executing\n"package require x"\n    (file "a.tcl" line 1)',
         "can't find package x"),
        ("tar: This does not look like a tar archive\ntar: Exiting with failure status due to previous errors",
         "tar: This does not look like a tar archive"),
        ("F401 [*] `os` imported but unused\n --> a.py:1:8\n  |\n1 | import os\n  |        ^^\n\nFound 1 error.",
         "`os` imported but unused"),
        ("a.c:2:9: error: expected ';' before 'x'\na.c:5:1: error: expected ')' before '}' token",
         "expected ';' before 'x'"),
    ],
)  # fmt: skip
def test_what_follows_a_message_is_no_message(text: str, message: str) -> None:
    units = error_units(text)
    assert (units[0].message, len(units)) == (message, 1)


def test_long_output_keeps_beginning_and_end() -> None:
    log = b"a.c:1:2: error: at the start\n" + b"noise " * 700_000 + b"\nb.c:1:2: error: at the end\n"
    text = read_failure(log)
    assert len(text) <= MAX_HEAD_BYTES + MAX_TAIL_BYTES
    assert {unit.message for unit in error_units(text)} == {"at the start", "at the end"}


@each_row("data", [b"", b"\x00\xff\xfe" * 3000, b"\x1b]0;" * 2000, b"error: " * 900_000, b"\r\b" * 50_000])
def test_odd_bytes_end_well(data: bytes) -> None:
    assert len(error_units(read_failure(data))) <= MAX_UNITS


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from([*(text for text, _ in OUTPUTS.values()), TRACEBACK, "  + |", "Caused by: x", "E   "])
        | st.text()
    )
)
def test_any_mixture_of_outputs_ends_well(parts: list[str]) -> None:
    units = error_units("".join(parts))
    assert len(units) <= MAX_UNITS
    assert all(len(unit.text) < 2100 and unit.rank >= 0 for unit in units)
