"""A known error is recognised with a grade and reasons; what something speaks against is not, however alike."""

import random
from collections.abc import Iterator
from math import nextafter
from pathlib import Path
from typing import Any

import pytest
from builders import make_store
from exported import ELSEWHERE, asked_store

from ctxrank.indexer.errors import lookup, patterns
from ctxrank.indexer.errors.lookup import Whose
from ctxrank.indexer.errors.parse.frames import Frame
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import Signature, sign
from ctxrank.indexer.store.ids import origin_and_number
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.errors import match as matching
from ctxrank.ranking.errors.confidence import SAME_ERROR, SURE_BY_WORD
from ctxrank.ranking.errors.match import MatchAnswer, consider, match_errors, score_of
from ctxrank.ranking.errors.similarity import Alignment, align, compare, frames_agree, gaps

AT = 'Traceback (most recent call last):\n  File "/srv/shop/{}.py", line {}, in {}\n    {}\n{}\n'


@pytest.fixture(params=["own", ELSEWHERE])
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """Where errors are saved; they are asked for there, or in a store that has them from there alone."""
    with make_store(tmp_path) as made:
        if request.param == ELSEWHERE:
            (tmp_path / ELSEWHERE).mkdir()
        yield made


only_own = pytest.mark.parametrize("store", ["own"], indirect=True)


def signed(text: str) -> Signature:
    return sign(error_units(text)[0])


def save(store: Store, text: str, *, project: str = "default", confirmations: int = 0, refutations: int = 0) -> int:
    """A pattern with its signature and a record."""
    unit = error_units(text)[0]
    signature = sign(unit)
    with store.write() as change:
        number = patterns.upsert(
            change,
            patterns.ErrorPattern(
                project, signature.instance + signature.report, signature.error_type, text[:60], "Fix it.", 1, 1
            ),
        )
        lookup.put(change, number, project, signature)
        change.connection.execute(
            "UPDATE error_patterns SET confirmations = ?, refutations = ? WHERE id = ?",
            (confirmations, refutations, number),
        )
    return number


def ask(store: Store, text: str, project: str = "default", limit: int = 3) -> MatchAnswer:
    with asked_store(store) as asked:
        answers = [match_errors(asked.primary, sign(unit), Whose(project), limit) for unit in error_units(text)]
    answer = next((one for one in answers if one.matches), answers[0])
    assert all((match.pattern_id < 0) == (asked is not store) for match in answer.matches)
    own = (match._replace(pattern_id=origin_and_number(match.pattern_id)[1]) for match in answer.matches)
    return answer._replace(matches=tuple(own))


def grades(store: Store, text: str) -> list[str]:
    return [match.grade for match in ask(store, text).matches]


def test_the_same_error_is_exact_and_the_same_message_with_other_values_a_template(store: Store) -> None:
    save(store, "error: the lockfile of 'shop' cannot be read by this version")
    assert grades(store, "error: the lockfile of 'shop' cannot be read by this version") == ["exact"]
    assert grades(store, "error: the lockfile of '/tmp/a.lock' cannot be read by this version") == []
    save(store, "error: the lockfile at port 8080 cannot be read by this version")
    assert grades(store, "error: the lockfile at port 9090 cannot be read by this version") == ["template"]


@pytest.mark.parametrize(
    "stored, asked, found",
    [
        ("database is locked", "sqlite3.OperationalError: database is locked", ["near"]),
        ("sqlite3.OperationalError: database is locked", "database is locked", ["near"]),
        ("sqlite3.OperationalError: database is locked", "ValueError: database is locked", []),
        ("sqlite3.OperationalError: database is locked", "database is full", []),
        ("sqlite3.OperationalError: locked", "locked", []),
    ],
)
def test_a_type_may_be_said_on_one_side_alone(store: Store, stored: str, asked: str, found: list[str]) -> None:
    save(store, stored)
    assert grades(store, asked) == found


def test_another_name_is_another_failure_of_the_same_kind(store: Store) -> None:
    number = save(store, "error: the lockfile of 'shop' cannot be read by this version")
    answer = ask(store, "error: the lockfile of 'other' cannot be read by this version")
    assert answer.matches == ()
    (other,) = answer.same_kind
    assert (abs(origin_and_number(other.pattern_id)[1]), other.word, other.grade) == (number, "same kind", "template")
    assert other.differences == ("other, not shop",) and "another name: other, not shop" in answer.reason


def test_what_was_typed_wrong_is_one_failure_and_another_operation_is_not(store: Store) -> None:
    save(store, "E: Invalid operation isntall")
    assert grades(store, "E: Invalid operation saerch") == ["template"]
    assert grades(store, "E: Invalid operation search") == []


def test_a_bare_name_at_the_end_may_be_another_one_of_the_same_kind(store: Store) -> None:
    save(store, "Error: Unbound variable: count")
    answer = ask(store, "Error: Unbound variable: level")
    assert (answer.matches, [one.word for one in answer.same_kind]) == ((), ["same kind"])
    assert ask(store, "Error: Undeclared variable: level").same_kind == ()


API = "Error: the call to 'store' failed\n\n* {}\n"


def test_the_same_message_for_another_reason_is_another_failure(store: Store) -> None:
    save(store, API.format("the vault is sealed"))
    assert grades(store, API.format("the vault is sealed")) == ["exact"]
    answer = ask(store, API.format("permission denied"))
    assert answer.matches == () and [one.word for one in answer.same_kind] == ["same kind"]
    assert grades(store, "Error: the call to 'store' failed\n") == ["exact"]  # an output that was cut


def test_a_message_that_two_stored_failures_share_tells_neither(store: Store) -> None:
    save(store, API.format("the vault is sealed"))
    save(store, API.format("permission denied"), project="default")
    assert grades(store, API.format("permission denied")) == ["exact"]
    answer = ask(store, "Error: the call to 'store' failed\n")
    assert answer.matches == () and "not what" in answer.reason


@only_own
def test_a_fix_that_is_an_edit_of_one_file_is_bound_to_it(store: Store) -> None:
    text = "src/{}.rs:7:5: error[E0599]: no method named `total` found for struct `Basket` in the current scope"
    number = save(store, text.format("shop"))
    for solution, words in (("Call sum() in src/shop.rs.", "same kind"), ("cargo update -p basket", "known")):
        with store.write() as change:
            change.connection.execute("UPDATE error_patterns SET solution = ? WHERE id = ?", (solution, number))
        answer = ask(store, text.format("cart"))
        assert [one.word for one in (*answer.matches, *answer.same_kind)] == [words]
        assert [one.word for one in ask(store, text.format("shop")).matches] == ["known"]


@only_own
def test_a_value_that_differed_in_a_confirmed_match_varies(store: Store) -> None:
    number = save(store, "error: the lockfile of 'shop' cannot be read by this version")
    with store.write() as change:
        lookup.let_vary(change, number, ("shop",))
    assert grades(store, "error: the lockfile of 'other' cannot be read by this version") == ["template"]


@only_own
def test_a_tool_of_which_little_is_stored_is_at_best_like_what_is_known(store: Store) -> None:
    text = "src/main.rs:{}:5: error[E0599]: no method named `{}` found for struct `Basket` in the current scope"
    for number, name in enumerate(("total", "sum", "price")):
        words = [match.word for match in ask(store, text.format(9, "weight")).matches]
        assert words == ([] if not number else ["looks like"] * number)
        save(store, text.format(number, name))
    assert {match.word for match in ask(store, text.format(9, "weight")).matches} == {"known"}


def test_what_a_module_lacks_is_known_from_any_place_and_another_name_is_not(store: Store) -> None:
    save(
        store, AT.format("prices", 3, "load", "np.float(1)", "AttributeError: module 'numpy' has no attribute 'float'.")
    )
    other = AT.format("rates", 9, "main", "np.float(2)", "AttributeError: module 'numpy' has no attribute 'float'.")
    assert len(grades(store, other)) == 1
    assert grades(store, "AttributeError: module 'collections' has no attribute 'Mapping'") == []


def test_what_pip_says_at_the_end_is_no_part_of_the_message(store: Store) -> None:
    text = "Error: pg_config executable not found.\n\n    Add its folder to the PATH.\n\n"
    save(store, f'{text}Command "python setup.py egg_info" failed with error code 1 in /tmp/pip-build-a1/psycopg2/\n')
    assert grades(store, text) == ["exact"]


def test_a_condition_by_name_speaks_for_a_message_in_a_longer_one(store: Store) -> None:
    save(store, "Error: ENOSPC: System limit for number of file watchers reached, watch '/srv/shop/a.json'")
    reached = "Error: ENOSPC: System limit for number of file watchers reached, watch '/app/b.js'"
    assert grades(store, f"web_1 | Error from chokidar (/app): {reached}") == ["near"]


_BOUND = "driver failed programming external connectivity on endpoint {} ({:064x}): Bind for 0.0.0.0:{} failed: {}"


def test_who_passes_a_message_on_is_no_part_of_it(store: Store) -> None:
    in_use = "port is already allocated"
    said = _BOUND.format("shop-gateway-1", 0x5493, 8080, in_use)
    save(store, f"Error response from daemon: failed to set up container networking: {said}")
    asked = f"Error response from daemon: {_BOUND.format('web_db', 0xA0994, 9432, in_use)}"
    assert grades(store, asked) == ["near"]
    assert grades(store, asked.replace("daemon: ", "daemon: never: ")) == []
    assert grades(store, asked.replace(in_use, "port is reserved")) == []


@pytest.mark.parametrize(
    "known, other",
    [
        ("libfoo.so.1: cannot open shared object file: No such file or directory", "libbar.so.2"),
        ("database: connection refused", "redis"),
        ("numpy: no matching distribution", "scipy"),
        ("eslint: rule not found in plugin", "prettier"),
    ],
)
def test_what_stands_before_a_message_is_what_it_is_about(store: Store, known: str, other: str) -> None:
    save(store, known)
    assert grades(store, f"{other}:{known.partition(':')[2]}") == []


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        (  # the same beside two messages
            "no package named `cart` found\nlocation searched: shop index\n",
            "no package named `till` found\nlocation searched: shop index\n",
        ),
        ("cart: option --till: is unknown: 'cart --help'", "cart: option --bill: wants a number: 'cart --help'"),
        ("In procedure raise: Unbound variable: cart: Entering a new prompt: ',bt'",
         "In procedure raise: Unbound variable: till: Entering a new prompt: ',bt'"),
        ("Couldn't find a valid cart.", "cart: No such file while trying to open x.img\nCouldn't find a valid cart."),
        ("the shop is open: the cart of ana is full", "the shop is not open: the cart of ana is full"),
    ],
)  # fmt: skip
def test_what_two_failures_have_beside_their_messages_is_neither(store: Store, known: str, asked: str) -> None:
    save(store, known)
    assert grades(store, asked) == []


def test_what_npm_passes_on_is_the_failure(store: Store) -> None:
    said = "gyp ERR! stack Error: Could not find any Python installation to use\n"
    save(store, f"gyp ERR! configure error\n{said}")
    frame = "gyp ERR! stack     at Finder.fail (C:\\shop\\find.js:330:47)\n"
    passed_on = f"gyp ERR! configure error\n{said}{frame}".replace("gyp", "npm ERR! gyp")
    assert grades(store, passed_on) == ["exact"]


@pytest.mark.parametrize(
    ("known", "asked", "grade"),
    [
        (  # a driver's arguments, with and without its traceback
            'Traceback (most recent call last):\n  File "/srv/a.py", line 3, in load\n    connect()\n'
            """db.Error: ('01000', "Can't open lib 'Driver 17 for carts' : file not found (0)")\n""",
            """Error: ('01000', "Can't open lib 'Driver 17 for carts' : file not found (0)")""",
            "near",
        ),
        (  # below what passes a failure on, what failed
            "Cart location not found. Define it with cart.dir in the local.properties file.",
            "* What went wrong:\nA problem occurred configuring project ':app'.\n"
            "> Cart location not found. Define it with cart.dir in the local.properties file.\n\n* Try:\nRun again\n",
            "near",
        ),
        (  # what is tried again is no failure, and the class of an object no message
            "E: Could not get lock /var/lib/cart. It is held by process 2448 (upgrade)\n",
            "E: Could not get lock /var/lib/cart. It is held by process 1719 (upgrade)\n"
            "Attempt 1 failed! Trying again in 5s... (1/5)\n",
            "template",
        ),
        (
            "Error: Could not find a build of the cart in the shop. Try the command build first\n",
            "web      | Error: Could not find a build of the cart in the shop. Try the command build first\n"
            "web      |     at async start (/app/start.js:196:31) {\nweb      |   type: 'Error'\nweb      | }\n",
            "exact",
        ),
        (
            "Message: session not created: this driver only supports version 89 of the browser",
            "java.lang.IllegalStateException: Could not start. Message: session not created: this driver only supports"
            " version 115 of the browser\n\tat cart.Main.run(Main.java:140)\n",
            "near",
        ),
        (  # by two that put other words before it
            'cart failed: runner.go:348: starting the process caused "exec: cartd": executable not found: unknown',
            'rpc error: runner.go:247: starting the process caused "exec: cartd": executable not found: unknown',
            "near",
        ),
        (  # in quotes
            "pdfcart: cannot connect to the server of the shop",
            """The process ended: stderr: "pdfcart: cannot connect to the server of the shop" command: 'pdfcart x'""",
            "near",
        ),
        (  # as an exception's message, and with its class behind it
            "NameError: uninitialized constant Shop::CartOfTheDay",
            "uninitialized constant Shop::CartOfTheDay (NameError)",
            "exact",
        ),
        (  # behind the seconds of a build's step, with a version that varies
            "Could not determine the version of the cart from '11.0.2'.",
            "12.34 Could not determine the version of the cart from '17.0.1'.",
            "template",
        ),
        (  # behind the echo of the command
            "A server is already running. Check /srv/cart/server.pid.",
            "ana@shop:/srv/cart# rails s\nA server is already running. Check /srv/cart/server.pid.\nExiting\n",
            "exact",
        ),
    ],
)
def test_a_failure_is_the_one_that_is_passed_on(store: Store, known: str, asked: str, grade: str) -> None:
    save(store, known)
    assert grades(store, asked) == [grade]


@pytest.mark.parametrize(
    ("speaker", "ends"),
    [
        ("[server] ", "[server] npm run dev exited with code 1"),
        ("@acme/web:build: ", "@acme/web:build: ERROR: command finished with error"),
        ("0|api      | ", ""),
        ("packages/web build: ", "packages/web build: Failed"),
        ("cart-6c4879f4f7-8bmdn cart ", ""),
        ("12:00:01 web.1    | ", "12:00:02 system   | SIGTERM received"),
        (
            "2026-05-01T10:00:00.409345+00:00 app[web.1]: ",
            "2026-05-01T10:00:01.409345+00:00 heroku[web.1]: State changed",
        ),
        ("2026-05-01T10:00:00.1111111Z [build] ", "2026-05-01T10:00:01.1111111Z ##[error]Process completed"),
    ],
)
def test_a_failure_is_known_whoever_speaks_before_each_line(store: Store, speaker: str, ends: str) -> None:
    said = (
        "> cart@1.0.0 start\n\nError: Cannot find module '{}'\n    at Module._resolve (node:internal/loader:1048:15)\n"
        "    at Object.<anonymous> (/srv/cart/main.js:{}:1) {{\n  code: 'MODULE_NOT_FOUND'\n}}"
    )
    save(store, said.format("koa", 3))
    for name, answered in (("koa", 1), ("koa-router", 0)):
        told = "\n".join(f"{speaker}{line}".rstrip() for line in said.format(name, 7).split("\n"))
        assert len(grades(store, f"{told}\n{ends}\n")) == answered


@pytest.mark.parametrize(
    ("known", "asked", "other"),
    [
        (  # a loader's class around what went wrong
            "TypeError: this.getOptions is not a function\n    at loader (/a/node_modules/sass-loader/index.js:25:24)",
            "ModuleBuildError: Module build failed (from ./node_modules/sass-loader/dist/cjs.js):\n"
            "TypeError: this.getOptions is not a function\n    at loader (/ci/node_modules/sass-loader/index.js:25:24)",
            "ModuleBuildError: Module build failed (from ./node_modules/sass-loader/dist/cjs.js):\n"
            "Error: Cannot find module 'sass'\n    at loader (/ci/node_modules/sass-loader/index.js:25:24)",
        ),
        (  # a mark before a mark
            'ERROR:  relation "carts" already exists',
            'Error: ERROR: relation "carts" already exists (SQLSTATE 42P07)',
            'Error: ERROR: relation "carts" does not exist (SQLSTATE 42P01)',
        ),
        (  # a short name in quotes before what is passed on
            'FATAL: password authentication failed for user "cart"',
            'psycopg.OperationalError: connection to server at "db" (10.0.0.2), port 5432 failed: '
            'FATAL:  password authentication failed for user "cart"',
            'psycopg.OperationalError: connection to server at "db" (10.0.0.2), port 5432 failed: '
            'FATAL:  password authentication failed for user "shop"',
        ),
        (  # what is asked for is not there, wherever in the program it is asked for
            "MongoError: getaddrinfo ENOTFOUND cartdb\n    at connect (/srv/cart/server.js:170:10)",
            "MongoError: getaddrinfo ENOTFOUND cartdb\n    at connect (/app/src/database.js:11:45)",
            "MongoError: getaddrinfo ENOTFOUND shopdb\n    at connect (/app/src/database.js:11:45)",
        ),
        (  # the frames below are no reasons
            "PHP Fatal error:  Uncaught PDOException: could not find driver in /srv/db.php:12\nStack trace:\n"
            "#0 /srv/db.php(12): PDO->__construct('mysql:host=db')\n#1 {main}\n",
            "PHP Fatal error:  Uncaught PDOException: could not find driver in /app/Database.php:33\nStack trace:\n"
            "#0 /app/Database.php(33): PDO->__construct('mysql:host=mysql')\n#1 {main}\n",
            "PHP Fatal error:  Uncaught PDOException: invalid data source name in /app/Database.php:33\nStack trace:\n"
            "#0 /app/Database.php(33): PDO->__construct('mysql:host=mysql')\n#1 {main}\n",
        ),
        (  # an address is the point
            "Error: 403 Forbidden https://index.cart.example/simple/a",
            "error: 403 Forbidden https://index.cart.example/simple/a",
            "Error: 403 Forbidden https://index.cart.example/simple/b",
        ),
    ],
)
def test_a_failure_is_known_in_another_setting_and_another_one_is_not(
    store: Store, known: str, asked: str, other: str
) -> None:
    save(store, known)
    assert len(grades(store, asked)) == 1
    assert grades(store, other) == []


def test_what_says_it_of_another_name_hides_nothing(store: Store) -> None:
    own = save(store, 'psql: error: FATAL:  password authentication failed for user "cart"')
    save(store, 'FATAL:  password authentication failed for user "shop"')
    asked = '2026-05-01 10:00:00.000 UTC [33] FATAL:  password authentication failed for user "cart"'
    assert [match.pattern_id for match in ask(store, asked).matches] == [own]
    assert grades(store, asked.replace("cart", "till")) == []


def test_a_name_that_others_code_does_not_have_is_missing_wherever_it_is_asked(store: Store) -> None:
    raised = 'Traceback (most recent call last):\n  File "/srv/{}.py", line 3, in {}\n    rows.append(row)\n{}{}\n'
    inside = '  File "/venv/lib/python3.11/site-packages/pandas/core/generic.py", line 5989, in __getattr__\n'
    message = "AttributeError: 'DataFrame' object has no attribute 'append'"
    save(store, raised.format("shop/prices", "load", inside, message))
    assert grades(store, raised.format("wallet/rates", "main", inside, message)) == ["template"]
    assert grades(store, raised.format("wallet/rates", "main", "", message)) == []
    assert grades(store, raised.format("wallet/rates", "main", inside, message.replace("append", "ix"))) == []


def test_a_message_below_its_exception_is_its_message(store: Store) -> None:
    compiled = "has been compiled by a more recent version of the Java Runtime (class file version {}.0)"
    head = 'Exception in thread "main" java.lang.UnsupportedClassVersionError:'
    at = "\tat java.lang.ClassLoader.defineClass1(Native Method)\n"
    save(store, f"{head} com/shop/Main {compiled.format(55)}\n{at}")
    assert grades(store, f"{head}\norg/wallet/Start {compiled.format(53)}\n") == ["template"]


def test_the_same_message_in_the_same_function_is_as_sure_as_from_anywhere(store: Store) -> None:
    text = (
        "Error: error:0308010C:digital envelope routines::unsupported\n"
        "    at Object.createHash (node:crypto:130:10)\n    at module.exports ({0}/lib/util/createHash.js:{1}:53)\n"
        "    at NormalModule._initBuildHash ({0}/lib/NormalModule.js:{1}:16)\n"
    )
    save(store, text.format("/srv/shop/node_modules/webpack", 135) + "    at run (/srv/shop/lib/run.js:3:1)\n")
    assert len(grades(store, text.format("/home/ada/wallet/node_modules/webpack", 137))) == 1


def test_another_wording_is_near_and_says_what_differs(store: Store) -> None:
    save(store, "error: only traits defined in the current crate can be implemented for the kinds and friends")
    (match,) = ask(
        store, "error: only traits defined in the current crate can be implemented for kinds and friends"
    ).matches
    assert (match.grade, match.word) == ("near", "looks like")
    assert match.differences == ("(nothing), not the",)


def test_a_code_is_enough_and_another_code_is_never_known(store: Store) -> None:
    number = save(store, "error[E0015]: inline assembly is not allowed in constants")
    answer = ask(store, "error[E0015]: cannot call non-const fn `f` in constants")
    (match,) = answer.same_kind
    assert answer.matches == ()
    assert (origin_and_number(match.pattern_id)[1], match.grade, match.word) == (number, "near", "same kind")
    answer = ask(store, "error[E0016]: inline assembly is not allowed in constants")
    assert answer.matches == ()
    assert "another code" in answer.reason or "No known error" in answer.reason


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ("Error: the worker of the queue was started twice", "Error: the worker of the queue was paused twice"),
        ("Error: 'implements' clause already seen here", "Error: 'extends' clause already seen here"),
        ("Error: the file may be written by the owner", "Error: the file may not be written by the owner"),
        ("Error: upstream answered with status 404 for it", "Error: upstream answered with status 503 for it"),
        ("Error: open failed with ENOENT in this folder", "Error: open failed with EACCES in this folder"),
        ("KeyError: the rate is missing from the table", "IndexError: the rate is missing from the table"),
    ],
)  # fmt: skip
def test_a_change_of_meaning_is_another_error(store: Store, known: str, asked: str) -> None:
    save(store, known)
    assert ask(store, asked).matches == ()
    assert len(ask(store, known).matches) == 1


def test_a_bare_assertion_is_known_only_at_its_own_place(store: Store) -> None:
    save(store, AT.format("a", 3, "test_a", "assert x == 1", "AssertionError"))
    assert grades(store, AT.format("a", 90, "test_a", "assert x == 1", "AssertionError")) == ["exact"]
    answer = ask(store, AT.format("b", 3, "test_b", "assert y == 2", "AssertionError"))
    assert answer.matches == ()


def test_a_missing_module_is_the_same_error_wherever_it_is_imported(store: Store) -> None:
    save(store, AT.format("a", 3, "<module>", "import yaml", "ModuleNotFoundError: No module named 'yaml'"))
    asked = AT.format("b", 9, "load", "from yaml import load", "ModuleNotFoundError: No module named '{}'")
    assert len(ask(store, asked.format("yaml")).matches) == 1
    assert ask(store, asked.format("tomli")).matches == ()


def test_an_interpreter_that_words_it_otherwise_is_recognised_by_the_line(store: Store) -> None:
    save(store, AT.format("a", 3, "<module>", "if x = 1:", "SyntaxError: invalid syntax"))
    newer = "SyntaxError: cannot assign to name here. Maybe you meant '==' instead of '='?"
    (match,) = ask(store, AT.format("a", 8, "<module>", "if x = 1:", newer)).matches
    assert match.grade == "near"
    assert any("same line" in why for why in match.why)


def test_two_patterns_that_fit_equally_well_leave_it_unsure(store: Store) -> None:
    save(store, "error: usage of `Box<Rc<T>>`")
    save(store, "error: usage of `process::exit`")
    answer = ask(store, "error: usage of `mem::forget`")
    assert answer.matches == ()
    assert len(answer.unsure) == 2


def test_what_is_recognised_just_enough_is_answered_and_a_hair_less_is_not(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "error: the lockfile of 'shop' cannot be read by this version"
    save(store, text)
    (match,) = ask(store, text).matches
    monkeypatch.setattr(matching, "LEAST_RECOGNITION", {"message": match.recognition})
    assert len(ask(store, text).matches) == 1
    monkeypatch.setattr(matching, "LEAST_RECOGNITION", {"message": nextafter(match.recognition, 1.0)})
    answer = ask(store, text)
    assert answer.matches == () and len(answer.unsure) == 1 and "not near enough" in answer.reason


PYTEST = """
____________________________ test_cart ____________________________
    def test_cart():
>       assert total() == 9
E       assert {} == 9
E        +  where {} = total()
test_cart.py:{}: AssertionError
"""


def test_another_outcome_of_the_same_test_is_another_error(store: Store) -> None:
    """A test always asks for the same: another value has another cause. Lines of the file may change."""
    save(store, PYTEST.format(8, 8, 7))
    assert len(ask(store, PYTEST.format(8, 8, 31)).matches) == 1
    answer = ask(store, PYTEST.format(7, 7, 7))
    assert answer.matches == () and "the same test, but another outcome" in answer.reason


def test_what_a_program_is_given_may_vary(store: Store) -> None:
    said = "ValueError: invalid literal for int(): '{}'"
    save(store, AT.format("shop", 3, "price", "return int(text)", said.format("7x")))
    assert ask(store, AT.format("shop", 3, "price", "return int(text)", said.format("q"))).matches


def test_the_same_function_at_another_line_is_answered_and_says_so(store: Store) -> None:
    save(store, AT.format("cart", 3, "total", "assert rate > 0", "AssertionError"))
    (match,) = ask(store, AT.format("cart", 9, "total", "assert tax > 0", "AssertionError")).matches
    assert "The same function failed, cart.py:total, at another line." in match.why
    assert match.recognition == pytest.approx(0.9627, abs=1e-4)
    (same,) = ask(store, AT.format("cart", 90, "total", "assert rate > 0", "AssertionError")).matches
    assert "The same line of cart.py:total failed." in same.why
    assert ask(store, AT.format("cart", 3, "refund", "assert rate > 0", "AssertionError")).matches == ()


def test_two_patterns_of_the_very_same_error_are_both_answered(store: Store) -> None:
    text = "error: the lockfile of 'shop' cannot be read by this version"
    one = save(store, text)
    with store.write() as change:
        change.connection.execute("UPDATE error_patterns SET pattern_hash = 'imported' WHERE id = ?", (one,))
    other = save(store, text, confirmations=2)
    assert [match.pattern_id for match in ask(store, text).matches] == [other, one]
    cut = ask(store, text, limit=1)
    assert (len(cut.matches), cut.total, ask(store, text).total) == (1, 2, 2)


def test_projects_do_not_see_each_other(store: Store) -> None:
    text = "error: the lockfile of 'shop' cannot be read by this version"
    save(store, text, project="other")
    assert ask(store, text).matches == ()
    assert len(ask(store, text, project="other").matches) == 1


def test_a_record_of_failures_lowers_confidence_but_not_recognition(store: Store) -> None:
    text = "error: the lockfile of 'shop' cannot be read by this version"
    save(store, text, refutations=4)
    (match,) = ask(store, text).matches
    assert match.confidence < 0.6 < 0.9 < match.recognition


def test_what_is_like_an_error_is_never_surer_than_that_error_itself(store: Store) -> None:
    save(store, "OSError: [Errno 98] Address already in use: port 8080")
    figures: list[tuple[str, float]] = []
    for port in (8080, 9090):
        (match,) = ask(store, f"OSError: [Errno 98] Address already in use: port {port}").matches
        figures.append((match.grade, match.confidence))
    assert figures == [("exact", SAME_ERROR), ("template", SURE_BY_WORD["looks like"])]


def test_a_secondary_error_answers_where_the_primary_one_is_unknown(store: Store) -> None:
    number = save(store, "b.c:1:2: error: unknown type name 'frob_t'")
    answer = ask(store, "a.c:1:2: error: stray backslash in the program\nb.c:9:9: error: unknown type name 'grob_t'\n")
    assert [match.pattern_id for match in answer.matches] == [number]


def test_removing_a_pattern_removes_its_terms(store: Store) -> None:
    number = save(store, "error: the lockfile of 'shop' cannot be read by this version")
    with store.write() as change:
        change.connection.execute("DELETE FROM error_patterns WHERE id = ?", (number,))
    (terms,) = store.primary.execute("SELECT count(*) FROM error_terms").fetchone() or (None,)
    assert terms == 0


def test_signatures_of_an_older_normaliser_are_signed_again(store: Store) -> None:
    text = "error: the lockfile of 'shop' cannot be read by this version"
    save(store, text)
    with store.write() as change:
        change.connection.execute(
            "UPDATE error_signatures SET normaliser_version = 0, template = 'old', instance = 'old'"
        )
    assert (lookup.sign_older(store), lookup.sign_older(store)) == (1, 0)
    assert grades(store, text) == ["exact"]


def test_an_empty_store_says_so(store: Store) -> None:
    answer = ask(store, "error: anything")
    assert (answer.matches, answer.reason) == ((), "No known error shares its codes, its message or its place.")


def test_alignment_is_symmetric_and_one_only_for_equal_headlines() -> None:
    one, other = (
        signed("error: the file 'x' was opened twice").words,
        signed("error: the file 'x' was opened by two").words,
    )
    assert align(one, other).share == pytest.approx(align(other, one).share)
    assert align(one, one).share == 1.0 > align(one, other).share


def test_notes_are_alike_where_the_words_that_say_something_are() -> None:
    notes = ("the expected rows are <n>", "expected of these <str> rows", "the missing files are <n>")
    one, alike, apart = (signed("error: no rate")._replace(notes=(note,)) for note in notes)
    assert not compare(one, alike).notes_apart
    assert compare(one, apart).notes_apart


def test_likeness_of_an_error_to_itself_is_an_instance_without_objections() -> None:
    signature = signed(AT.format("a", 3, "test_a", "assert x == 1", "AssertionError: x"))
    likeness = compare(signature, signature)
    assert (likeness.is_instance, likeness.frames, likeness.vetoes) == (True, 2, ())


def test_a_cause_outside_the_code_is_the_same_wherever_it_is_met(store: Store) -> None:
    save(store, AT.format("a", 3, "load", "db.execute(x)", "sqlite3.OperationalError: database is locked"))
    asked = ask(store, AT.format("b", 9, "sync", "con.commit()", "sqlite3.OperationalError: database is locked"))
    assert len(asked.matches) == 1
    other = ask(store, AT.format("b", 9, "sync", "con.commit()", "sqlite3.OperationalError: no such table: users"))
    assert other.matches == ()


@pytest.mark.parametrize(
    "text", ["make: *** [Makefile:2: all] Error 1", "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1", "FAILED (failures=1)"]
)
def test_a_summary_alone_is_never_known_and_says_why(store: Store, text: str) -> None:
    save(store, text)
    answer = ask(store, text)
    assert answer.matches == ()
    assert answer.reason == "The output says only that something failed, not what."


COLLECTED = """
=================================== ERRORS ====================================
___________________ ERROR collecting b/test_cart.py ___________________
import file mismatch: a/test_cart.py
=========================== short test summary info ============================
ERROR b/test_cart.py
"""


def test_a_report_of_which_no_line_is_its_message_is_known_again(store: Store) -> None:
    save(store, COLLECTED)
    assert grades(store, COLLECTED) == ["exact"]


def test_what_is_wrong_may_stand_below_a_place_and_the_word_error(store: Store) -> None:
    below = "\n    \u2022 No instance for `Show (Int -> Int)' arising from a use of `print'\n"
    save(store, f"src/Main.hs:42:9: error:{below}")
    found = ask(store, f"app/Tiles.hs:7:1: error:{below}")
    assert [match.word for match in found.matches] == ["known"]


CLOSED = "warning: cart.adoc: line {}: {}\nmake: *** [Makefile:{}: build/cart.html] Error 1\n"


def test_a_report_that_only_concludes_is_known_by_all_of_its_lines(store: Store) -> None:
    save(store, CLOSED.format(15, "unterminated listing block", 43))
    other = save(store, CLOSED.format(15, "no such macro", 43))
    again = ask(store, CLOSED.format(32, "no such macro", 66))
    assert [origin_and_number(match.pattern_id)[1] for match in again.matches] == [other]
    assert ask(store, CLOSED.format(15, "section out of sequence", 43)).matches == ()


def test_of_reports_with_one_closing_line_the_one_with_the_same_lines_is_known(store: Store) -> None:
    numbers = [save(store, REPORT.format(reason)) for reason in ("not a note name: x", "the file is too old")]
    for number, reason in zip(numbers, ("not a note name: x", "the file is too old"), strict=True):
        (match, *_) = ask(store, REPORT.format(reason)).matches
        assert origin_and_number(match.pattern_id)[1] == number
    answer = ask(store, REPORT.format("there is an unknown escaped string"))
    assert answer.matches == () and answer.same_kind


REPORT = "Processing the song\n\nThe song says: {}\n\nParsing...\n\nError: the files of 'a.ly' did not compile\n"


def test_a_summary_below_a_known_error_takes_nothing_from_it(store: Store) -> None:
    save(store, "cc -c a.c\na.c:1:2: error: unknown type name 'size'\nmake: *** [Makefile:2: a.o] Error 1\n")
    assert grades(store, "b.c:9:2: error: unknown type name 'size'\nmake[2]: *** [sub/Makefile:7: b.o] Error 2\n") == [
        "exact"
    ]


def test_notes_that_say_something_else_leave_it_unsure(store: Store) -> None:
    text = "error: the trait `Copy` may not be implemented for this type\n --> a.rs:1:2\n  |\n1 | code\n  | ^^^^ "
    save(store, text + "this field does not implement `Copy`\n")
    assert grades(store, text + "this field does not implement `Copy`\n") == ["exact"]
    assert grades(store, text + "the type is not a structure or enumeration\n") == []


def test_what_the_tool_advises_speaks_neither_for_nor_against_a_match(store: Store) -> None:
    text = "error: the type `A` does not fulfill the required lifetime\n --> a.rs:1:2\n  |\n1 | code\n  | ^^^^ "
    save(store, text + "type must outlive the static lifetime\n  = help: consider adding an explicit lifetime bound\n")
    text = text.replace("`A`", "`B`")
    assert grades(store, text + "help: consider an explicit lifetime bound\n") == []
    assert grades(store, text + "required by this trait\n  = help: consider adding an explicit lifetime bound\n") == []


def test_different_advice_leaves_the_same_message_known(store: Store) -> None:
    text = "error: cannot find the binding `A` in this crate\n --> a.rs:1:2\n  |\n1 | code\n  | ^^^^ help: "
    save(store, text + "a local variable with a similar name exists\n")
    assert grades(store, text.replace("`A`", "`B`") + "consider importing this constant instead\n") == ["template"]


def test_a_quoted_keyword_in_the_place_of_a_name_is_a_name(store: Store) -> None:
    save(store, "a.ts(1,2): error: Circular definition of import alias 'self'.")
    assert grades(store, "b.ts(3,4): error: Circular definition of import alias 'cjs'.") == ["near"]


@only_own
def test_a_lookup_reads_what_it_finds_and_not_the_project(store: Store) -> None:
    def steps_among(first: int, last: int) -> int:
        with store.write() as change:
            for number in range(first, last):
                unit = error_units(f"error: the frob {'ab' if number % 2 else 'cd'}{number:o} is bent")[0]
                pattern = patterns.ErrorPattern("default", f"p{number}", "", unit.message, "Fix it.", 1, 1)
                lookup.put(change, patterns.upsert(change, pattern), "default", sign(unit))
        steps = 0

        def step() -> bool:
            nonlocal steps
            steps += 1
            return False

        store.primary.set_progress_handler(step, 20)
        assert grades(store, "error: the lockfile of 'shop' cannot be read by this version") == ["exact"]
        store.primary.set_progress_handler(None)
        return steps

    save(store, "error: the lockfile of 'shop' cannot be read by this version")
    few = steps_among(0, 20)
    assert steps_among(20, 400) <= few + 5


def test_a_code_that_is_a_word_needs_the_message_to_agree(store: Store) -> None:
    save(store, "a.py:1: error: Missing positional argument 'b' in call to 'f'  [call-arg]")
    assert grades(store, "a.py:9: error: Too many arguments for 'g'  [call-arg]") == []
    assert grades(store, "a.py:9: error: Missing positional argument 'c' in call to 'g'  [call-arg]") == ["template"]


def test_calls_agree_by_line_by_function_or_not_at_all() -> None:
    """2 is the same line, 1 the same function, 0 nothing to compare, -1 another place."""
    here, top = Frame("a.py", "total", "f(x)"), Frame("a.py", "<module>", "f(x)")
    pairs = [
        (here, here), (here, here._replace(code="f(y)")), (here, here._replace(code="")),
        (here, here._replace(function="refund")), (top, top._replace(code="f(y)")), (top, top._replace(code="")),
    ]  # fmt: skip
    assert [frames_agree((one,), (other,)) for one, other in pairs] == [2, 1, 1, -1, 1, -1]
    assert frames_agree((), (here,)) == frames_agree((here,), ()) == 0
    assert frames_agree((top, here), (here,)) == 2  # the innermost call counts


def test_the_error_with_these_values_is_sure_of_itself_beside_those_with_others(store: Store) -> None:
    """However many values a sibling shares with it."""
    message = (
        "sqlalchemy: several heads for '{a}', 'head', 'revision', use 'branch@head' to name one of {a}_one and {a}_two"
    )
    for name in ("tenant", "badge", "voucher"):
        save(store, message.format(a=name))
    answer = ask(store, message.format(a="badge"))
    assert [one.grade for one in answer.matches] == ["exact"]
    assert answer.matches[0].recognition == pytest.approx(0.985)
    assert answer.matches[0].differences == ()


def test_a_line_or_a_position_in_the_message_makes_no_other_error(store: Store) -> None:
    save(store, "PHP Fatal error: class 'Shop\\Ledger' not found in /srv/shop/src/Book.php:295")
    assert grades(store, "PHP Fatal error: class 'Shop\\Ledger' not found in /srv/shop/src/Book.php:12") == ["exact"]
    save(store, "error: the lockfile 'shop' cannot be read: bad token at line 7 column 3 (char 93)")
    assert grades(store, "error: the lockfile 'shop' cannot be read: bad token at line 9 column 1 (char 4)") == [
        "exact"
    ]
    assert grades(store, "error: the lockfile 'cart' cannot be read: bad token at line 7 column 3 (char 93)") != [
        "exact"
    ]


@pytest.mark.parametrize(
    ("name", "value", "added"),
    [
        ("details", 0.0, 0.0),
        ("details", 0.5, 0.075),
        ("values", 0.5, 0.05),
        ("same_code", True, 1.0),
        ("frames", 2, 1.0),
        ("frames", 1, 0.0),
        ("frames", -1, 0.0),
    ],
)
def test_what_candidates_are_ranked_by_is_a_sum(name: str, value: Any, added: float) -> None:
    words_alone = compare(signed("error: no rate"), signed("error: no rate"))._replace(
        headlines=Alignment(0.25, 1.0), details=0.0, values=0.0, frames=0, same_code=False
    )
    assert score_of(words_alone._replace(**{name: value})) == pytest.approx(0.25 + added)


def test_one_negation_more_changes_what_is_said() -> None:
    said = ("the", "file", "may", "be", "written", "by", "the", "owner")
    assert align(said, said).decisive == ()
    assert align((*said[:3], "not", *said[3:]), said).decisive == ("not, not (nothing)",)
    assert align(said, (*said[:3], "not", *said[3:])).decisive == ("(nothing), not not",)


@only_own
def test_another_missing_module_is_named_beside_the_one_that_is_known(store: Store) -> None:
    text = "ModuleNotFoundError: No module named '{}'"
    save(store, AT.format("a", 3, "<module>", "import yaml", text.format("yaml")))
    answer = ask(store, AT.format("a", 3, "<module>", "import yaml", text.format("tomli")))
    assert answer.matches == () and "another name: tomli, not yaml" in answer.reason
    assert [(one.word, one.recognition) for one in answer.same_kind] == [("same kind", SURE_BY_WORD["same kind"])]


@only_own
def test_a_failure_of_the_same_kind_at_the_same_place_is_compared_as_a_trace(store: Store) -> None:
    text = "ModuleNotFoundError: No module named '{}'"
    save(store, AT.format("a", 3, "load", "import yaml", text.format("yaml")))
    asked = signed(AT.format("a", 3, "load", "import tomli", text.format("tomli")))
    (other,) = consider(store.primary, asked, Whose("default")).renamed
    assert (other.family, other.rivals, other.margin) == ("trace", 0, None)


def _longest(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """The length of the longest common subsequence, by its definition."""
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + _longest(one[1:], other[1:])
    return max(_longest(one[1:], other), _longest(one, other[1:]))


def test_what_lies_between_two_rows_leaves_the_longest_that_both_have_in_order() -> None:
    chance = random.Random(3)
    for _ in range(600):
        one, other = (tuple(chance.choices("abc", k=chance.randrange(7))) for _ in range(2))
        found = list(gaps(one, other))
        assert all(here.start < here.stop or there.start < there.stop for here, there in found)
        left = [list(row) for row in (one, other)]
        for here, there in reversed(found):
            del left[0][here], left[1][there]
        assert left[0] == left[1] and len(left[0]) == _longest(one, other)


@pytest.mark.parametrize(
    "inner, place",
    [("", "code in no file"), ('  File "/usr/lib/python3/site-packages/app/pool.py", line 3, in f\n', "pool.py:f")],
)
def test_what_was_typed_is_named_by_the_file_that_it_calls(store: Store, inner: str, place: str) -> None:
    call, said = 'Traceback (most recent call last):\n  File "{}", line 1, in {}\n', "KeyError: 'walrus'\n"
    save(store, call.format("/srv/shop/pay.py", "charge") + said)
    reason = ask(store, call.format("<string>", "<module>") + inner + said).reason
    assert f"another place in the code: pay.py:charge, not {place}." in reason
