"""What tools and test runners print when something fails, and what of it is the error."""

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
        ("", "CommandLineError", "", "While executing gem ..."),
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

# What a runner prints of a failed test, with its message and its place.
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

# Lines that say only that something failed, and lines that look alike and say what.
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

# Outputs in which more happens: chains, notes, wrappers, lists, several tools.
LONGER = {
    "a chain of causes": (
        "2026-11-22 10:00:01,123 ERROR [main] shop.App - cannot start\n"
        "org.shop.StartFailed: cannot start\n\tat org.shop.App.start(App.java:30)\n\tat org.shop.App.main(App.java:9)\n"
        "\tSuppressed: java.io.IOException: stream closed\n\t\tat org.shop.Log.close(Log.java:4)\n"
        "Caused by: java.sql.SQLException: no table orders\n\tat org.shop.Db.query(Db.java:77)\n"
        "\tat java.base/java.util.ArrayList.forEach(ArrayList.java:1511)\n\t... 12 more\n"
        "Caused by: java.net.ConnectException: Connection refused (HTTP status: 503)\n"
        "\tat java.base/sun.nio.ch.Net.connect(Net.java:3)\n\tat org.shop.Net.open(Net.java:17)\n\t... 14 more\n"
    ),
    "a call that calls itself": (
        "Traceback (most recent call last):\n"
        + "".join(f'  File "/srv/shop/tree.py", line {n}, in walk\n    walk(node.left)\n' for n in range(70))
        + "  [Previous line repeated 930 more times]\nRecursionError: maximum recursion depth exceeded\n"
    ),
    "a message of several lines": (
        'Traceback (most recent call last):\n  File "/srv/shop/.venv/lib/python3.11/site-packages/pydantic/main.py", '
        "line 4, in load\n    raise error\n"
        '  File "/srv/shop/load.py", line 12, in <module>\n    Cart.load(data)\n'
        "pydantic.ValidationError: 2 validation errors for Cart\nprice\n  Input should be a valid number\n"
        "name\n  Field required\n\nDuring it, more was printed\n"
    ),
    "notes below": (
        "error[E0308]: mismatched types\n  --> src/cart.rs:12:5\n   |\n11 | fn total() -> u32 {\n"
        '   |               --- expected `u32` because of return type\n12 |     "ten"\n'
        "   |     ^^^^^ expected `u32`, found `&str`\n   |\n   = note: expected type `u32`\n"
        "              found reference `&'static str`\n   = help: try using a number\n\n"
        "warning: unused variable: `x`\n --> src/cart.rs:3:9\n  |\n3 |     let x = 1;\n  |         ^ help: prefix it\n"
        "  |\n  = note: `#[warn(unused_variables)]` on by default\n\n"
        "For more information about this error, try `rustc --explain E0308`.\n"
        "error: could not compile `cart` (lib) due to 1 previous error; 1 warning emitted\n"
    ),
    "a lint": (
        "error: this loop could be written as a `for` loop\n --> src/main.rs:4:5\n  |\n"
        "4 |     while let Some(x) = i.next() {\n"
        "  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ help: try: `for x in i`\n  |\n"
        "  = note: `-D clippy::while-let-on-iterator` implied by `-D warnings`\n"
    ),
    "an included file": (
        "In file included from src/cart.c:1:\ninclude/cart.h: In function 'total':\n"
        "include/cart.h:7:12: error: 'price' undeclared (first use in this function); did you mean 'prices'?\n"
        "    7 |     return price;\n      |            ^~~~~\n      |            prices\n"
        "include/cart.h:7:12: note: each undeclared identifier is reported only once for each function it appears in\n"
        "src/cart.c:9:3: warning: implicit declaration of function 'pay' [-Wimplicit-function-declaration]\n"
        "src/cart.c:12:1: error: expected '}' before 'else'\nmake[1]: *** [Makefile:4: cart.o] Error 1\n"
        "make: *** [Makefile:2: all] Error 2\n"
    ),
    "a linker": (
        "/usr/bin/ld: cart.o: in function `total':\ncart.c:(.text+0x12): undefined reference to `tax'\n"
        "/usr/bin/ld: cart.o: in function `pay':\ncart.c:(.text+0x40): undefined reference to `card_charge'\n"
        "collect2: error: ld returned 1 exit status\n"
    ),
    "a build inside of docker": (
        "#9 [4/5] RUN pip install .\n#9 0.512 Collecting frob==9\n"
        "#9 1.874 ERROR: Could not find a version that satisfies the requirement frob==9 (from versions: 1.0, 1.1)\n"
        '#9 1.874 ERROR: No matching distribution found for frob==9\n#9 ERROR: process "/bin/sh -c pip install ." '
        "did not complete successfully: exit code: 1\n------\n > [4/5] RUN pip install .:\n------\n"
    ),
    "a build inside of pip": (
        "  error: subprocess-exited-with-error\n  \n  \u00d7 Building wheel for frob did not run successfully.\n"
        "  \u2502 exit code: 1\n  \u2570\u2500> [4 lines of output]\n      running build_ext\n"
        "      frob.c:1:10: fatal error: Python.h: No such file or directory\n          1 | #include <Python.h>\n"
        "            |          ^~~~~~~~~~\n      compilation terminated.\n"
        "      error: command '/usr/bin/gcc' failed with exit code 1\n      [end of output]\n  \n"
        "  note: This error originates from a subprocess, and is likely not a problem with pip.\n"
        "  ERROR: Failed building wheel for frob\n"
    ),
    "a log of a build server": (
        "2026-11-22T10:00:00.1234567Z ##[group]Run npm ci\n2026-11-22T10:00:02.0000000Z npm error code E404\n"
        "2026-11-22T10:00:02.0000000Z npm error 404 Not Found - GET https://registry.example.org/frob\n"
        "2026-11-22T10:00:02.0000000Z npm error 404  'frob@^1.0.0' is not in this registry.\n"
        "2026-11-22T10:00:02.1000000Z ##[error]Process completed with exit code 1.\n"
    ),
    "two linters": (
        "cart.py:3:1: F401 'os' imported but unused\ncart.py:9:80: E501 line too long (91 > 79 characters)\n"
        'cart.py:12: error: Incompatible types in assignment (expression has type "str", variable has type "int")'
        "  [assignment]\ncart.py:12: note: See https://mypy.example.org\n"
        "Found 1 error in 1 file (checked 2 source files)\n"
    ),
    "a linter's page": (
        "\n/srv/shop/cart.js\n  3:7   error    'total' is assigned a value but never used  no-unused-vars\n"
        "  9:1   warning  Unexpected console statement                no-console\n\n"
        "\u2716 2 problems (1 error, 1 warning)\n\n/srv/shop/pay.js\n  1:1  error  Parsing error: Unexpected token\n\n"
    ),
    "only warnings": (
        "cart.c:3:7: warning: unused variable 'x' [-Wunused-variable]\ncart.c:9:1: warning: control reaches end of "
        "non-void function [-Wreturn-type]\n2 warnings generated.\n"
    ),
    "three failed tests": (
        "=== FAILURES ===\n___ test_one ___\n\n    def test_one():\n>       assert total([1]) == 2\n"
        "E       assert 1 == 2\nE        +  where 1 = total([1])\n\ntests/test_cart.py:4: AssertionError\n"
        "___ TestPay.test_two[CHF-9] ___\n\nself = <TestPay>\n\n    def test_two(self):\n>       pay(9)\n\n"
        "tests/test_pay.py:9: \n_ _ _ _ _ _\n\n    def pay(n):\n>       raise ValueError(f'no card for {n}')\n"
        "E       ValueError: no card for 9\n\nshop/pay.py:3: ValueError\n"
        "___ test_three ___\n\n    def test_three():\n>       assert {'a': 1} == {'a': 2}\n"
        "E       AssertionError: assert {'a': 1} == {'a': 2}\nE         \n"
        "E         Differing items:\nE         {'a': 1} != {'a': 2}\n\n"
        "tests/test_cart.py:20: AssertionError\n=== short test summary info ===\n"
        "FAILED tests/test_cart.py::test_one - assert 1 == 2\n"
        "FAILED tests/test_pay.py::TestPay::test_two[CHF-9] - ValueError: no card for 9\n"
        "FAILED tests/test_cart.py::test_three - AssertionError: assert {'a': 1} == {'a': 2}\n"
        "3 failed, 7 passed in 0.20s\n"
    ),
    "a report in TAP": (
        "TAP version 13\n# Subtest: cart\n    # Subtest: adds up\n    not ok 1 - adds up\n      ---\n"
        "      duration_ms: 1.2\n      location: '/srv/a/cart.test.js:3:1'\n      failureType: 'testCodeFailure'\n"
        "      error: |-\n        Expected values to be strictly equal:\n        \n        3 !== 2\n        \n"
        "      code: 'ERR_ASSERTION'\n      name: 'AssertionError'\n      expected: 2\n      actual: 3\n"
        "      stack: |-\n        TestContext.<anonymous> (file:///srv/a/cart.test.js:3:44)\n"
        "        Test.runInAsyncScope (node:async_hooks:206:9)\n      ...\n    1..1\nnot ok 1 - cart\n1..1\n# tests 1\n"
        "# fail 1\n"
    ),
    "a report in TAP without errors": (
        "TAP version 13\n# it pays\nok 1 should be equal\nnot ok 2 should be equal\n  ---\n    operator: equal\n"
        "    expected: 'CHF'\n    actual:   'EUR'\n    at: Test.<anonymous> (/srv/a/pay.js:5:5)\n    stack: |-\n"
        "      Error: should be equal\n          at Test.assert (/srv/a/node_modules/tape/lib/test.js:2:3)\n"
        "          at Test.<anonymous> (/srv/a/pay.js:5:5)\n  ...\n\n1..2\n# tests 2\n# pass  1\n# fail  1\n"
    ),
    "a panic with its routines": (
        "panic: runtime error: invalid memory address or nil pointer dereference [recovered]\n"
        "\tpanic: runtime error: invalid memory address or nil pointer dereference\n"
        "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47e2a1]\n\ngoroutine 7 [running]:\n"
        "testing.tRunner.func1.2({0x5141c0, 0x63ba80})\n\t/usr/local/go/src/testing/testing.go:1545 +0x238\n"
        "shop/cart.(*Cart).Total(0x0)\n\t/srv/shop/cart/cart.go:12 +0x21\nshop/cart.TestTotal(0xc0000b0680)\n"
        "\t/srv/shop/cart/cart_test.go:8 +0x1d\nFAIL\tshop/cart\t0.006s\n"
    ),
    "a program that explains itself below": (
        'Error: Cannot apply the plan\n\n  on main.tf line 3, in resource "box" "one":\n   3:   size = "big"\n\n'
        'The value "big" is no number. Sizes are given in gigabytes.\n'
    ),
    "several complaints of one program": (
        "ssh: connect to host db.example.org port 22: Connection refused\n"
        "rsync: connection unexpectedly closed (0 bytes)\n"
        "rsync error: unexplained error (code 255) at io.c(232)\n"
    ),
    "what is tried, and why it does not work": (
        "starting shop 1.2.3\nreading /etc/shop/shop.conf\nFailed to open the queue\n  path: /var/lib/shop/queue\n"
        "  reason: Permission denied\nshutting down\n"
    ),
    "words that announce nothing": "alpha\n  beta\ngamma delta\n\nepsilon\n",
    "a shell in another wording": "zsh: command not found: frob\nsh: 1: frob: not found\nfish: Unknown command: frob\n",
    "a script's own calls": (
        "deploy.sh: line 14: cd: /srv/none: No such file or directory\ndeploy.sh: line 15: $1: unbound variable\n"
    ),
    "a database": (
        'ERROR:  insert or update on table "orders" violates foreign key constraint "orders_cart_fkey"\n'
        'DETAIL:  Key (cart_id)=(42) is not present in table "carts".\nCONTEXT:  SQL statement "INSERT"\n'
    ),
    "a lost step": (
        "a.js:3:9: error: expected ';' before 'x'\na.js:5:1: error: expected ')' before '}' token\n"
        "a.js:7:1: error: expected identifier before '(' token\nb.js:1:1: error: cannot find module 'frob'\n"
    ),
    "ruby's calls": (
        "cart.rb:9:in `total': undefined local variable or method `tax' for #<Cart:0x000> (NameError)\n\n"
        "    net + tax\n          ^^^\n\tfrom cart.rb:20:in `block in pay'\n\tfrom cart.rb:19:in `each'\n"
        "\tfrom cart.rb:19:in `pay'\n\tfrom cart.rb:30:in `<main>'\n"
    ),
    "a group of exceptions": (
        '  + Exception Group Traceback (most recent call last):\n  |   File "/srv/a.py", line 1, in main\n'
        "  |     run()\n  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)\n"
        "  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n"
        '    |   File "/srv/a.py", line 9, in task\n    |     1 / 0\n    |     ~~^~~\n'
        "    | ZeroDivisionError: division by zero\n    +---------------- 2 ----------------\n"
        '    | Traceback (most recent call last):\n    |   File "/srv/a.py", line 12, in other\n'
        "    |     open('no')\n    | FileNotFoundError: [Errno 2] No such file or directory: 'no'\n"
        "    +------------------------------------\n"
    ),
}
