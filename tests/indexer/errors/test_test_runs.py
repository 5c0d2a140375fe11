"""A failed test has a place in the report of every runner, and a progress line is no message."""

import pytest

from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign

REPORTS = {
    "pytest": (
        "F                                    [100%]\n=== FAILURES ===\n_______ test_cart _______\n"
        "\n    def test_cart():\n"
        ">       assert status() == 200\nE       assert 404 == 200\n\ntest_cart.py:7: AssertionError\n",
        "assert 404 == 200", "test_cart.py:test_cart",
    ),
    "pytest, an error in a fixture, in short": (
        "E                                    [100%]\n=== ERRORS ===\n____ ERROR at setup of test_rows ____\n\n"
        "    @pytest.fixture\n    def db():\n>       raise RuntimeError('no server')\n"
        "E       RuntimeError: no server\n\n"
        "test_db.py:6: RuntimeError\n",
        "no server", "test_db.py:db",
    ),
    "pytest, one line": (
        "=== FAILURES ===\n/srv/a/test_mail.py:2: assert None\nE   assert None is not None\n"
        "=== short test summary info ===\nFAILED test_mail.py::test_sent - assert None is not None\n",
        "assert None is not None", "test_mail.py:test_sent",
    ),
    "unittest": (
        "FAIL: test_a (test_x.TestX.test_a)\n----------\nTraceback (most recent call last):\n"
        '  File "/srv/a/test_x.py", line 9, in test_a\n    self.assert_positive(-1)\n'
        '  File "/srv/a/test_x.py", line 6, in assert_positive\n    self.assertGreater(value, 0)\n'
        "AssertionError: -1 not greater than 0\n",
        "-1 not greater than 0", "test_x.py:test_a",
    ),
    "go": (
        "--- FAIL: TestBill (0.00s)\n    --- FAIL: TestBill/due (0.00s)\n        bill_test.go:6: wrong result\nFAIL\n",
        "wrong result", "bill_test.go:TestBill/due",
    ),
    "go, a panic": (
        "panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.fill(...)\n\t/srv/a/stock.go:3\n"
        "main.main()\n\t/srv/a/stock.go:5 +0x28\nexit status 2\n",
        "assignment to entry in nil map", "stock.go:main.fill",
    ),
    "cargo": (
        "thread 'tests::total' (123) panicked at src/lib.rs:12:50:\n"
        "assertion `left == right` failed\n  left: 3\n right: 2\n",
        "assertion `left == right` failed", "lib.rs:tests::total",
    ),
    "cargo, no panic": (
        "failures:\n\n---- refuses stdout ----\n"
        "note: test did not panic as expected at src/lib.rs:3:4\n\nfailures:\n    refuses\n",
        "test did not panic as expected", "lib.rs:refuses",
    ),
    "jest": (
        "FAIL ./cart.test.js\n  \u25cf cart \u203a adds up\n\n"
        "    expect(received).toBe(expected) // Object.is equality\n\n"
        "    Expected: 2\n    Received: 3\n\n      at Object.toBe (cart.test.js:3:13)\n",
        "expect(received).toBe(expected) // Object.is equality", "cart.test.js:cart \u203a adds up",
    ),
    "mocha": (
        "  1) cart\n       adds up:\n\n"
        "      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n3 !== 2\n\n"
        "      + expected - actual\n\n      at Context.<anonymous> (cart.js:5:12)\n",
        "Expected values to be strictly equal:", "cart.js:cart > adds up",
    ),
    "vitest": (
        " FAIL  cart.test.mjs > adds up\nAssertionError: expected 3 to be 2 // Object.is equality\n"
        " \u276f cart.test.mjs:4:13\n",
        "expected 3 to be 2 // Object.is equality", "cart.test.mjs:adds up",
    ),
    "junit 4": (
        "1) sign(BillTest)\njava.lang.AssertionError: not positive\n\tat org.junit.Assert.fail(Assert.java:89)\n"
        "\tat Checks.assertPositive(Checks.java:3)\n\tat BillTest.sign(BillTest.java:2)\n",
        "not positive", "BillTest.java:BillTest.sign",
    ),
    "junit 5": (
        "  JUnit Jupiter:CartTest:total()\n    MethodSource [className = 'CartTest', methodName = 'total']\n"
        "    => org.opentest4j.AssertionFailedError: expected: <1> but was: <2>\n"
        "       org.junit.jupiter.api.Assertions.assertEquals(Assertions.java:150)\n"
        "       CartTest.total(CartTest.java:4)\n       [...]\n",
        "expected: <1> but was: <2>", "CartTest.java:CartTest.total",
    ),
    "rspec": (
        "  1) Cart adds up\n     Failure/Error: expect(cart.total).to eq(2)\n\n       expected: 2\n            got: 3\n"
        "     # ./spec/cart_spec.rb:5:in `block (2 levels) in <top (required)>'\n",
        "expected: 2", "cart_spec.rb:expect(cart.total).to eq(2)",
    ),
    "dotnet": (
        "  Failed Shop.CartTests.Total [12 ms]\n  Error Message:\n"
        "   Assert.Equal() Failure: Values differ\n  Stack Trace:\n"
        "     at Shop.CartTests.Total() in /srv/a/CartTests.cs:line 12\n",
        "Assert.Equal() Failure: Values differ", "CartTests.cs:Shop.CartTests.Total",
    ),
}  # fmt: skip


@pytest.mark.parametrize("runner", REPORTS)
def test_a_failed_test_has_its_message_and_its_place(runner: str) -> None:
    report, message, place = REPORTS[runner]
    unit = error_units(report)[0]
    signature = sign(unit)
    assert unit.message == message
    assert signature.frames[-1].place == place
    assert signature.is_traced
    # What is stored says the same when it is signed again.
    again = sign(error_units(unit.text)[0])
    assert (again.template, again.frames[-1].place) == (signature.template, place)


def test_whose_code_it_is_the_trace_says() -> None:
    inside = (
        "java.lang.NullPointerException: x is null\n\tat org.apache.shop.Price.of(Price.java:4)\n"
        "\tat org.apache.shop.Cart.total(Cart.java:9)\n"
    )
    outside = inside + "\tat com.example.Main.main(Main.java:3)\n"
    assert sign(error_units(inside)[0]).frames[-1].place == "Price.java:org.apache.shop.Price.of"
    assert sign(error_units(outside)[0]).frames[-1].place == "Main.java:com.example.Main.main"


def test_a_tool_inside_another_one_speaks_for_itself() -> None:
    inside = [
        "  \u2570\u2500> [3 lines of output]\n      gcc -c x.c\n"
        "      x.c:1:10: fatal error: Python.h: No such file or directory\n"
        "      [end of output]\n  error: metadata-generation-failed\n",
        "#9 0.412 x.c:1:10: fatal error: Python.h: No such file or directory\n"
        'ERROR: process "/bin/sh -c make" did not complete successfully: exit code: 2\n',
        "2026-01-02T03:04:05.0000000Z x.c:1:10: fatal error: Python.h: No such file or directory\n",
    ]
    assert {error_units(text)[0].message for text in inside} == {"Python.h: No such file or directory"}


def test_junit_names_the_test_in_its_heading() -> None:
    text = (
        "There was 1 failure:\n1) cycleIsRefused(shop.RoutesTest)\n"
        "java.lang.AssertionError: Expected exception: java.lang.IllegalStateException\n"
        "\tat org.junit.internal.runners.statements.ExpectException.evaluate(ExpectException.java:34)\n"
    )
    assert error_units(text)[0].frames[-1].place == "shop.RoutesTest:cycleIsRefused"


def test_mocha_says_below_the_message_what_it_saw() -> None:
    text = (
        "  1) calc\n       divides:\n\n      AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:\n\n"
        "0 !== 11\n\n      + expected - actual\n\n      -0\n      +11\n"
    )
    assert "0 !== 11" in error_units(text)[0].detail
