"""Write made-up transcripts of coding-agent sessions, together with the truth about what failed and what repaired it.

The transcripts serve to test a parser that learns repairs from sessions. They are meant to be as untidy as real ones:
wrong tries, noise around the error, several open failures, subagents, chores between a failure and its repair.
Everything depends on the seed alone, except the secrets, which are drawn afresh at each run.
"""

# pyright: basic

import argparse
import dataclasses
import datetime
import json
import pathlib
import random
import re
import secrets
import string
import typing
import uuid

Line = dict[str, object]
Step = list[Line]
T = typing.TypeVar("T")

LIMIT = 10_000  # characters of a failed command's output that a session keeps
TOKEN = re.compile(r"@([a-z]+)(\d?)@")
WORDS = (
    
    "alpha",
    "billing",
    "cart",
    "delta",
    "events",
    "feeds",
    "gateway",
    "hooks",
    "index",
    "jobs",
    "keys",
    "ledger",
    "mailer",
    "notes",
    "orders",
    "parser",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Act:
    """One change somebody makes: a shell command, or an edit that puts `text` in the place of `old` in a file."""

    text: str
    path: str = ""
    old: str = ""
    printed: str = ""


@dataclasses.dataclass(frozen=True)
class Failure:
    """One distinct failure with the commands that show it, its error text, its true repair and tries that do not help.

    `group` names the command line that several failures share. If `changed` is set, the repair is another form of the
    failing command, so that the repair is itself the success. No `fix` but a `passed` means: it goes away by itself.
    """

    name: str
    kind: str
    commands: tuple[str, ...]
    error: str
    fix: tuple[Act, ...]
    mark: str
    wrong: tuple[Act, ...]
    passed: str
    code: int = 1
    sub: str = ""
    group: str = ""
    changed: bool = False
    look: str = "README.md"


@dataclasses.dataclass
class Plan:
    """One meeting with a failure in one session."""

    failure: Failure
    repaired: bool
    repeats: int
    command: str = ""
    last: bool = True


def sh(text: str, printed: str = "") -> Act:
    """Make a change that is a shell command."""
    return Act(text, printed=printed)


def ed(path: str, old: str, new: str) -> Act:
    """Make a change that is an edit of a file."""
    return Act(new, path, old)


GROUPS = {
    "pytest": "pytest -q",
    "unittest": "python -m unittest discover -s tests",
    "tsc": "npx tsc --noEmit",
    "npmtest": "npm test",
    "cargo": "cargo build",
    "cargotest": "cargo test",
    "go": "go build ./...",
    "make": "make -j8",
    "compose": "docker compose up -d",
}

NOISE: dict[str, tuple[str, ...]] = {
    "pytest": (
        "tests/test_@word@.py ....................                                    [ @n@%]",
        "tests/unit/test_@word@.py ...s....                                           [ @n@%]",
        "  @root@/api/app/@word@.py:@line@: DeprecationWarning: datetime.utcnow() is deprecated",
        "INFO     app.@word@:@word@.py:@line@ loaded @n@ rows in @secs@s",
    ),
    "unittest": (
        "test_@word@_round_trip (tests.test_@word@.Test@n@) ... ok",
        "test_empty (tests.test_@word@.TestEdge) ... ok",
        "@time@ DEBUG app.@word@ cache miss key=@hex@",
    ),
    "npm": (
        "npm warn deprecated @word@-utils@@n@.2.0: this package is no longer supported",
        "npm http fetch GET 200 https://registry.npmjs.org/@word@-core @n@ms",
        "transforming (@n@) src/@word@/index.tsx",
        "  PASS src/@word@/@word@.test.ts (@secs@ s)",
    ),
    "cargo": (
        "   Compiling @word@-core v0.@n@.1",
        "  Downloaded @word@-sys v1.0.@n@",
        "    Checking @word@ v0.3.@n@",
        "warning: unused variable: `@word@`\n   --> crates/@word@/src/lib.rs:@line@:9",
    ),
    "go": (
        "go: downloading example.net/x/@word@ v0.@n@.0",
        "ok  \texample.org/edge/@word@\t@secs@s",
        "?   \texample.org/edge/internal/@word@\t[no test files]",
    ),
    "make": (
        "gcc -O2 -Wall -Iinclude -c src/@word@.c -o build/@word@.o",
        "[ @n@%] Building C object CMakeFiles/@word@.dir/src/@word@.c.o",
        "src/@word@.c:@line@:12: warning: unused parameter 'ctx' [-Wunused-parameter]",
    ),
    "pip": (
        "Collecting @word@-client",
        "  Downloading @word@_client-1.@n@.0-py3-none-any.whl (@n@ kB)",
        "     \u2501\u2501\u2501\u2501\u2501\u2501\u2501\u2501\u2501\u2501\u2501\u2501 @n@.1/99.0 kB "
        "2.@n@ MB/s eta 0:00:01",
        "Requirement already satisfied: @word@-lib in @root@/.venv/lib/python3.11/site-packages (2.@n@)",
    ),
    "docker": (
        "#@n@ [build 4/9] RUN apt-get update",
        "#@n@ @secs@ Get:@n@ http://deb.debian.org/debian bookworm/main amd64 lib@word@ [@n@ kB]",
        " @hex@: Pull complete",
        "#@n@ sha256:@hex@@hex@ @n@.10MB / 99.12MB @secs@s",
    ),
    "shell": ("@time@ [@word@] step @n@ of 99 done", "+ mkdir -p out/@word@", "processed @n@ records (@secs@s)"),
    "git": ("remote: Counting objects: @n@, done.", "Receiving objects:  @n@% (@n@/@n@)", "Resolving deltas: @n@%"),
}

PY_WRONG = (sh("pip install --upgrade pip setuptools"), sh("find . -name __pycache__ -exec rm -rf {} +"))
NPM_WRONG = (sh("rm -rf node_modules && npm install", "added @n@ packages in @n@s"), sh("npm cache clean --force"))
RUST_WRONG = (sh("cargo clean", "     Removed @n@ files, @n@.2MiB total"), sh("rustup component add clippy"))
GO_WRONG = (sh("go clean -cache"), sh("go vet ./cmd/..."))
C_WRONG = (sh("make clean", "rm -rf build"), sh("ldconfig"))
PYTEST_OK = "@n@ passed, 1 skipped in @secs@s"
TSC_OK = "Done in @secs@s."
CARGO_OK = "    Finished `dev` profile [unoptimized + debuginfo] target(s) in @secs@s"
CARGOTEST_OK = "test result: ok. @n@ passed; 0 failed; 0 ignored; finished in @secs@s"
JEST_OK = "Test Suites: @n@ passed, @n@ total\nTime:        @secs@ s"
BUILD_OK = "\u2713 built in @secs@s"

CATALOG: tuple[Failure, ...] = (
    Failure(
        "pytest-fixture",
        "pytest",
        ("pytest tests/test_repository.py", "python -m pytest tests/test_repository.py -x"),
        "E       fixture 'db_session' not found\n>       available fixtures: cache, capsys, monkeypatch, tmp_path\n"
        "@root@/api/tests/test_repository.py:@line@\nERROR tests/test_repository.py::test_saves_@word@\n"
        "1 error in @secs@s",
        (ed("api/tests/conftest.py", "import pytest\n", 'pytest_plugins = ["tests.fixtures.database"]'),),
        'pytest_plugins = ["tests.fixtures.database"]',
        (*PY_WRONG, ed("api/tests/test_repository.py", "def test_saves", "@pytest.mark.usefixtures()\ndef test_saves")),
        PYTEST_OK,
        sub="api",
        group="pytest",
        look="api/tests/conftest.py",
    ),
    Failure(
        "pytest-rounding",
        "pytest",
        ("pytest tests/test_invoice.py -q",),
        "    def test_total_is_rounded():\n>       assert total([Decimal('3.335')] * 3) == Decimal('10.01')\n"
        "E       AssertionError: assert Decimal('10.00') == Decimal('10.01')\n\ntests/test_invoice.py:@line@: "
        "AssertionError\nFAILED tests/test_invoice.py::test_total_is_rounded - AssertionError\n1 "
        "failed, @n@ passed in @secs@s",
        (
            ed(
                "api/app/invoice.py",
                "return amount.quantize(CENT)",
                "return amount.quantize(CENT, rounding=ROUND_HALF_UP)",
            ),
        ),
        "return amount.quantize(CENT, rounding=ROUND_HALF_UP)",
        (
            ed("api/app/invoice.py", "CENT = Decimal('.01')", "CENT = Decimal('0.010')"),
            ed("api/app/invoice.py", "return amount.quantize(CENT)", "return round(amount, 2)"),
        ),
        PYTEST_OK,
        sub="api",
        group="pytest",
        look="api/app/invoice.py",
    ),
    Failure(
        "pytest-circular",
        "pytest",
        ("pytest tests/test_settings.py", "python -c 'import app.main'"),
        "app/main.py:@line@: in <module>\n    from app.models import Account\napp/models.py:@line@: in <module>\n"
        "    from app.settings import Settings\nE   ImportError: cannot import name 'Settings' from "
        "partially initialized "
        "module 'app.settings' (most likely due to a circular import) (@root@/api/app/settings.py)",
        (
            ed(
                "api/app/models.py",
                "from app.settings import Settings",
                "if TYPE_CHECKING:\n    from app.settings import Settings",
            ),
        ),
        "if TYPE_CHECKING:",
        (*PY_WRONG, sh("touch app/__init__.py tests/__init__.py")),
        PYTEST_OK,
        sub="api",
        group="pytest",
        code=2,
        look="api/app/models.py",
    ),
    Failure(
        "python-yaml",
        "pytest",
        ("pytest tests/test_config.py -x", "python scripts/load_config.py"),
        'Traceback (most recent call last):\n  File "@root@/api/app/config.py", line @line@, in '
        "<module>\n    import yaml\n"
        "ModuleNotFoundError: No module named 'yaml'",
        (sh("pip install pyyaml", "Successfully installed pyyaml-6.0.2"),),
        "pip install pyyaml",
        (sh("pip install -e .", "Successfully installed api-0.1.0"), sh("export PYTHONPATH=$PWD")),
        PYTEST_OK,
        sub="api",
        group="pytest",
        look="api/app/config.py",
    ),
    Failure(
        "pytest-asyncio",
        "pytest",
        ("pytest tests/test_stream.py",),
        "tests/test_stream.py::test_reads_all\n  async def functions are not natively supported.\n  "
        "You need to install a "
        "suitable plugin for your async framework\nFAILED tests/test_stream.py::test_reads_all - Failed: async def\n"
        "@n@ failed, @n@ passed in @secs@s",
        (
            sh("pip install pytest-asyncio", "Successfully installed pytest-asyncio-0.24.0"),
            ed("api/pyproject.toml", "[tool.pytest.ini_options]", '[tool.pytest.ini_options]\nasyncio_mode = "auto"'),
        ),
        'asyncio_mode = "auto"',
        (sh("pip install anyio", "Requirement already satisfied: anyio"), *PY_WRONG),
        PYTEST_OK,
        sub="api",
        group="pytest",
        look="api/pyproject.toml",
    ),
    Failure(
        "unittest-column",
        "unittest",
        ("python -m unittest tests.test_orders", "python -m unittest tests.test_orders -v"),
        "ERROR: test_lists_currency (tests.test_orders.OrdersTest)\n"
        + "-" * 70
        + "\nTraceback (most recent call last):\n"
        '  File "@root@/api/app/store.py", line @line@, in select\n    return self.connection.execute(query)\n'
        "sqlite3.OperationalError: no such column: orders.currency\n\nRan @n@ tests in @secs@s\n\nFAILED (errors=1)",
        (sh("python -m app.migrate up", "applied 0014_currency"),),
        "python -m app.migrate up",
        (
            ed("api/app/store.py", "SELECT currency", "SELECT orders.currency AS currency"),
            sh("rm -f @tmp@/test.db"),
        ),
        "Ran @n@ tests in @secs@s\n\nOK",
        sub="api",
        group="unittest",
        look="api/app/store.py",
    ),
    Failure(
        "unittest-naive-time",
        "unittest",
        ("python -m unittest tests.test_schedule",),
        "ERROR: test_next_run (tests.test_schedule.ScheduleTest)\nTraceback (most recent call last):\n"
        '  File "@root@/api/app/schedule.py", line @line@, in is_due\n    return self.at <= datetime.now()\n'
        "TypeError: can't compare offset-naive and offset-aware datetimes\n\nRan @n@ tests in "
        "@secs@s\n\nFAILED (errors=2)",
        (ed("api/app/schedule.py", "return self.at <= datetime.now()", "return self.at <= datetime.now(tz=UTC)"),),
        "datetime.now(tz=UTC)",
        (sh("pip install -U tzdata", "Successfully installed tzdata-2025.2"), sh("export TZ=UTC")),
        "Ran @n@ tests in @secs@s\n\nOK",
        sub="api",
        group="unittest",
        look="api/app/schedule.py",
    ),
    Failure(
        "env-database-url",
        "shell",
        ("python -m app.server --check",),
        'Traceback (most recent call last):\n  File "@root@/api/app/server.py", line @line@, in main\n'
        '    url = os.environ["DATABASE_URL"]\n  File "<frozen os>", line @line@, in '
        "__getitem__\nKeyError: 'DATABASE_URL'",
        (sh("DATABASE_URL=postgres://app:@password@@localhost/app python -m app.server --check"),),
        "DATABASE_URL=",
        (sh("ls -la .env*", ".env.example"), sh("pip install python-dotenv", "Successfully installed python-dotenv")),
        "configuration is valid",
        sub="api",
        changed=True,
        look="api/app/server.py",
    ),
    Failure(
        "env-stripe-key",
        "npm",
        ("node scripts/sync-plans.mjs",),
        "@root@/web/scripts/sync-plans.mjs:@line@\n  throw new Error('STRIPE_SECRET_KEY is not set');\n        ^\n\n"
        "Error: STRIPE_SECRET_KEY is not set\n    at "
        "file://@root@/web/scripts/sync-plans.mjs:@line@:9\n\nNode.js v20.11.1",
        (sh("echo STRIPE_SECRET_KEY=@stripe@ >> .env.local"),),
        "echo STRIPE_SECRET_KEY=",
        (*NPM_WRONG, sh("npm install stripe", "up to date, audited @n@ packages in @n@s")),
        "synced @n@ plans",
        sub="web",
        look="web/scripts/sync-plans.mjs",
    ),
    Failure(
        "npm-eresolve",
        "npm",
        ("npm install", "npm ci"),
        "npm error code ERESOLVE\nnpm error ERESOLVE unable to resolve dependency tree\nnpm error Found: react@19.0.0\n"
        'npm error Could not resolve dependency:\nnpm error peer react@"^18.2.0" from react-calendar-grid@4.1.0\n'
        "npm error A complete log of this run can be found in: @tmp@/_logs/@hex@-debug-0.log",
        (sh("npm install --legacy-peer-deps", "added @n@ packages, and audited @n@ packages in @n@s"),),
        "npm install --legacy-peer-deps",
        (sh("rm -rf node_modules package-lock.json"), sh("npm cache clean --force")),
        "added @n@ packages, and audited @n@ packages in @n@s",
        sub="web",
        changed=True,
        look="web/package.json",
    ),
    Failure(
        "npm-missing-script",
        "npm",
        ("npm run build:prod",),
        'npm error Missing script: "build:prod"\nnpm error\nnpm error To see a list of scripts, '
        "run:\nnpm error   npm run\n"
        "npm error A complete log of this run can be found in: @tmp@/_logs/@hex@-debug-0.log",
        (sh("npm run build -- --mode production"),),
        "npm run build -- --mode production",
        NPM_WRONG,
        BUILD_OK,
        sub="web",
        changed=True,
        look="web/package.json",
    ),
    Failure(
        "node-require-esm",
        "npm",
        ("node bin/report.js --dry-run",),
        "@root@/web/bin/report.js:@line@\nconst chalk = require('chalk');\n              ^\n\nError [ERR_REQUIRE_ESM]: "
        "require() of ES Module @root@/web/node_modules/chalk/source/index.js from "
        "@root@/web/bin/report.js not supported.\n"
        "    at Object.<anonymous> (@root@/web/bin/report.js:@line@:15) {\n  code: 'ERR_REQUIRE_ESM'\n}",
        (sh("npm install chalk@4", "changed 1 package in @n@s"),),
        "npm install chalk@4",
        (*NPM_WRONG, ed("web/bin/report.js", "const chalk = require('chalk')", "const { chalk } = require('chalk')")),
        "report: @n@ rows (dry run)",
        sub="web",
        look="web/bin/report.js",
    ),
    Failure(
        "node-openssl",
        "npm",
        ("npm run build:legacy",),
        "Error: error:0308010C:digital envelope routines::unsupported\n    at new Hash "
        "(node:internal/crypto/hash:@line@:19)\n"
        "    at module.exports (@root@/web/node_modules/webpack/lib/util/createHash.js:@line@:53) {\n"
        "  opensslErrorStack: [ 'error:03000086:digital envelope routines::initialization error' ],\n"
        "  code: 'ERR_OSSL_EVP_UNSUPPORTED'\n}",
        (sh("NODE_OPTIONS=--openssl-legacy-provider npm run build:legacy"),),
        "NODE_OPTIONS=--openssl-legacy-provider",
        NPM_WRONG,
        "webpack compiled successfully in @n@ ms",
        sub="web",
        changed=True,
        look="web/webpack.config.js",
    ),
    Failure(
        "node-heap",
        "npm",
        ("npm run bundle", "node build/bundle.js"),
        "<--- Last few GCs --->\n[@pid@:0x@hex@]    @n@ ms: Mark-Compact 2045.@n@ (2083.@n@) -> 2044.@n@ MB\n\n"
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n"
        " 1: 0x@hex@ node::Abort() [node]\nAborted (core dumped)",
        (
            ed(
                "web/package.json",
                '"bundle": "node build/bundle.js"',
                '"bundle": "node --max-old-space-size=8192 build/bundle.js"',
            ),
        ),
        "--max-old-space-size=8192",
        (*NPM_WRONG, sh("free -m", "Mem:  @n@ @n@ @n@")),
        BUILD_OK,
        code=134,
        sub="web",
        look="web/build/bundle.js",
    ),
    Failure(
        "node-port",
        "npm",
        ("npm run dev -- --port @port@", "node server.js --port @port@"),
        "node:events:@line@\n      throw er; // Unhandled 'error' event\n      ^\n\nError: listen "
        "EADDRINUSE: address already "
        "in use :::@port@\n    at Server.setupListenHandle [as _listen2] "
        "(node:net:@line@:16)\nEmitted 'error' event on "
        "Server instance at:\n    at emitErrorNT (node:net:@line@:8) {\n  code: 'EADDRINUSE',\n  port: @port@\n}",
        (sh("kill $(lsof -ti :@port@)"),),
        "kill $(lsof -ti :",
        (sh("sleep 5"), *NPM_WRONG),
        "ready on http://localhost:@port@",
        sub="web",
        look="web/server.js",
    ),
    Failure(
        "tsc-alias",
        "npm",
        ("npx tsc -p tsconfig.app.json", "npx tsc --noEmit -p tsconfig.app.json"),
        "src/pages/Invoice.tsx(@line@,28): error TS2307: Cannot find module '@/lib/format' or its corresponding type "
        "declarations.\nsrc/pages/Order.tsx(@line@,28): error TS2307: Cannot find module '@/lib/format' or its "
        "corresponding type declarations.",
        (ed("web/tsconfig.json", '"paths": {}', '"paths": { "@/*": ["./src/*"] }'),),
        '"@/*": ["./src/*"]',
        (*NPM_WRONG, sh("npm install -D typescript@latest", "changed 1 package in @n@s")),
        TSC_OK,
        code=2,
        sub="web",
        group="tsc",
        look="web/tsconfig.json",
    ),
    Failure(
        "tsc-undefined",
        "npm",
        ("npx tsc --noEmit src/profile/Header.tsx",),
        "src/profile/Header.tsx(@line@,21): error TS2345: Argument of type 'string | undefined' is not assignable to "
        "parameter of type 'string'.\n  Type 'undefined' is not assignable to type 'string'.",
        (
            ed(
                "web/src/profile/Header.tsx",
                "const label = initials(user.name);",
                'const label = initials(user.name ?? "unknown");',
            ),
        ),
        'initials(user.name ?? "unknown")',
        (
            ed("web/src/profile/Header.tsx", "import { User }", "import type { User }"),
            ed("web/tsconfig.json", '"strict": true', '"strict": true, "skipLibCheck": true'),
        ),
        TSC_OK,
        code=2,
        sub="web",
        group="tsc",
        look="web/src/profile/Header.tsx",
    ),
    Failure(
        "tsc-types",
        "npm",
        ("npx tsc --build",),
        "src/util/group.ts(@line@,21): error TS7016: Could not find a declaration file for module 'lodash'. "
        "'@root@/web/node_modules/lodash/lodash.js' implicitly has an 'any' type.",
        (sh("npm i -D @types/lodash", "added 1 package in @n@s"),),
        "npm i -D @types/lodash",
        (sh("npm i lodash", "up to date in @n@s"), ed("web/src/util/group.ts", "import _", "import * as _")),
        TSC_OK,
        code=2,
        sub="web",
        group="tsc",
        look="web/src/util/group.ts",
    ),
    Failure(
        "jest-esm",
        "npm",
        ("npx jest src/id.test.ts",),
        " FAIL  src/id.test.ts\n  \u25cf Test suite failed to run\n\n    Jest encountered an unexpected token\n\n"
        "    @root@/web/node_modules/nanoid/index.browser.js:@line@\n    export { urlAlphabet } from './url-alphabet'\n"
        "    ^^^^^^\n\n    SyntaxError: Unexpected token 'export'\n\nTest Suites: 1 failed, @n@ passed, @n@ total",
        (
            ed(
                "web/jest.config.js",
                "transform: {},",
                'transformIgnorePatterns: ["/node_modules/(?!nanoid)"],',
            ),
        ),
        'transformIgnorePatterns: ["/node_modules/(?!nanoid)"]',
        (*NPM_WRONG, sh("npx jest --clearCache", "Cleared @tmp@/jest_cache")),
        JEST_OK,
        sub="web",
        group="npmtest",
        look="web/jest.config.js",
    ),
    Failure(
        "vitest-jsdom",
        "npm",
        ("npx vitest run src/menu",),
        " FAIL  src/menu/Menu.test.tsx > opens on click\nReferenceError: document is not defined\n"
        " \u276f src/menu/Menu.test.tsx:@line@:5\n\n Test Files  1 failed | @n@ passed (@n@)\n   Duration  @secs@s",
        (
            sh("npm i -D jsdom", "added @n@ packages in @n@s"),
            ed("web/vitest.config.ts", 'environment: "node"', 'environment: "jsdom"'),
        ),
        'environment: "jsdom"',
        (*NPM_WRONG, sh("npm i -D @testing-library/react", "up to date in @n@s")),
        JEST_OK,
        sub="web",
        group="npmtest",
        look="web/vitest.config.ts",
    ),
    Failure(
        "playwright-browser",
        "npm",
        ("npx playwright test e2e/login.spec.ts",),
        "  1) [chromium] \u203a e2e/login.spec.ts:@line@:5 \u203a signs in\n\n    Error: "
        "browserType.launch: Executable doesn't "
        "exist at /home/dev/.cache/ms-playwright/chromium-@n@/chrome-linux/chrome\n\n  1 failed\n",
        (sh("npx playwright install chromium", "Chromium downloaded to /home/dev/.cache/ms-playwright"),),
        "npx playwright install chromium",
        (sh("apt-get install -y chromium", "Setting up chromium ..."), *NPM_WRONG),
        "  @n@ passed (@secs@s)",
        sub="web",
        look="web/playwright.config.ts",
    ),
    Failure(
        "eslint-plugin",
        "npm",
        ("npx eslint src --max-warnings 0",),
        "Oops! Something went wrong! :(\n\nESLint: 8.57.0\n\nESLint couldn't find the plugin "
        '"eslint-plugin-react-hooks".\n\n'
        '(The package was not found when loaded as a Node module from the directory "@root@/web".)',
        (sh("npm i -D eslint-plugin-react-hooks", "added 1 package in @n@s"),),
        "npm i -D eslint-plugin-react-hooks",
        (*NPM_WRONG, ed("web/.eslintrc.json", '"root": true', '"root": true, "env": {"browser": true}')),
        "",
        code=2,
        sub="web",
        look="web/.eslintrc.json",
    ),
    Failure(
        "cargo-borrow",
        "cargo",
        ("cargo check -p queue",),
        "error[E0502]: cannot borrow `items` as mutable because it is also borrowed as immutable\n"
        "  --> crates/queue/src/lib.rs:@line@:9\n   |\n@n@ |     let first = items.first();\n   |    "
        "             ----- "
        "immutable borrow occurs here\n@n@ |     items.push(next);\n   |     ^^^^^^^^^^^^^^^^ "
        "mutable borrow occurs here\n\n"
        "error: could not compile `queue` (lib) due to 1 previous error",
        (
            ed(
                "core/crates/queue/src/lib.rs",
                "let first = items.first();",
                "let first = items.first().cloned();",
            ),
        ),
        "let first = items.first().cloned();",
        (*RUST_WRONG, ed("core/crates/queue/src/lib.rs", "items: &Vec<Job>", "items: &mut Vec<Job>")),
        CARGO_OK,
        code=101,
        sub="core",
        group="cargo",
        look="core/crates/queue/src/lib.rs",
    ),
    Failure(
        "cargo-serde",
        "cargo",
        ("cargo check -p codec", "cargo build -p codec"),
        "error[E0433]: failed to resolve: use of undeclared crate or module `serde_json`\n"
        "  --> crates/codec/src/json.rs:@line@:5\n   |\n@n@ |     serde_json::to_string(value)\n   | "
        "    ^^^^^^^^^^ use of "
        "undeclared crate or module `serde_json`\n\nerror: could not compile `codec` (lib) due to @n@ previous errors",
        (sh("cargo add serde_json -p codec", "      Adding serde_json v1.0 to dependencies"),),
        "cargo add serde_json",
        (*RUST_WRONG, ed("core/crates/codec/src/json.rs", "use serde::Serialize;", "use serde::{self, Serialize};")),
        CARGO_OK,
        code=101,
        sub="core",
        group="cargo",
        look="core/crates/codec/Cargo.toml",
    ),
    Failure(
        "cargo-openssl",
        "cargo",
        ("cargo build --release -p fetcher",),
        "error: failed to run custom build command for `openssl-sys v0.9.@n@`\n\nCaused by:\n  process didn't exit "
        "successfully: `@root@/core/target/release/build/openssl-sys-@hex@/build-script-main` (exit status: 101)\n"
        "  --- stderr\n  Could not find directory of OpenSSL installation, and this `-sys` crate cannot proceed",
        (sh("sudo apt-get install -y libssl-dev pkg-config", "Setting up libssl-dev:amd64 ..."),),
        "apt-get install -y libssl-dev",
        (*RUST_WRONG, sh("cargo update -p openssl-sys", "    Updating openssl-sys")),
        CARGO_OK,
        code=101,
        sub="core",
        group="cargo",
        look="core/Cargo.toml",
    ),
    Failure(
        "cargo-locked",
        "cargo",
        ("cargo build --locked",),
        "error: the lock file @root@/core/Cargo.lock needs to be updated but --locked was passed to prevent this\n"
        "If you want to try to generate the lock file without accessing the network, remove the --locked flag",
        (sh("cargo update --workspace", "     Locking @n@ packages"),),
        "cargo update --workspace",
        RUST_WRONG,
        CARGO_OK,
        code=101,
        sub="core",
        look="core/Cargo.lock",
    ),
    Failure(
        "cargo-panic",
        "cargo",
        ("cargo test -p wire header", "cargo test -p wire"),
        "test header::parses_empty ... FAILED\n\nfailures:\n\n---- header::parses_empty stdout ----\n"
        "thread 'header::parses_empty' panicked at crates/wire/src/header.rs:@line@:34:\ncalled "
        "`Option::unwrap()` on a "
        "`None` value\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n\n"
        "test result: FAILED. @n@ passed; 1 failed; finished in @secs@s",
        (
            ed(
                "core/crates/wire/src/header.rs",
                "let kind = bytes.first().unwrap();",
                "let Some(kind) = bytes.first() else { return Err(WireError::Empty) };",
            ),
        ),
        "else { return Err(WireError::Empty) };",
        (*RUST_WRONG, sh("RUST_BACKTRACE=full true")),
        CARGOTEST_OK,
        code=101,
        sub="core",
        group="cargotest",
        look="core/crates/wire/src/header.rs",
    ),
    Failure(
        "cargo-rustc",
        "cargo",
        ("cargo install --path crates/cli",),
        "error: rustc 1.74.1 is not supported by the following packages:\n  clap_lex@1.0.@n@ requires rustc 1.85\n"
        "Either upgrade rustc or select compatible dependency versions",
        (sh("rustup update stable", "stable-x86_64-unknown-linux-gnu updated"),),
        "rustup update stable",
        (*RUST_WRONG, sh("cargo update -p clap_lex", "    Updating clap_lex")),
        "   Installed package `cli v0.2.0` (executable `cli`)",
        code=101,
        sub="core",
        look="core/rust-toolchain.toml",
    ),
    Failure(
        "go-sum",
        "go",
        ("go build ./cmd/edge", "go run ./cmd/edge -h"),
        "cmd/edge/main.go:@line@:2: missing go.sum entry for module providing package github.com/rs/zerolog "
        "(imported by example.org/edge/cmd/edge); to add:\n\tgo get example.org/edge/cmd/edge",
        (sh("go mod tidy", "go: finding module for package github.com/rs/zerolog"),),
        "go mod tidy",
        GO_WRONG,
        "",
        sub="edge",
        group="go",
        look="edge/go.mod",
    ),
    Failure(
        "go-unused",
        "go",
        ("go build ./internal/route",),
        '# example.org/edge/internal/route\ninternal/route/route.go:@line@:2: "fmt" imported and not used',
        (ed("edge/internal/route/route.go", 'import (\n\t"fmt"\n\t"log"\n)', 'import "log"'),),
        'import "log"',
        (*GO_WRONG, sh("gofmt -l internal/route")),
        "",
        sub="edge",
        group="go",
        look="edge/internal/route/route.go",
    ),
    Failure(
        "go-race",
        "go",
        ("go test -race ./internal/cache", "go test -race -count=1 ./internal/cache"),
        "==================\nWARNING: DATA RACE\nWrite at 0x00c000@hex@ by goroutine @n@:\n  "
        "example.org/edge/internal/cache."
        "(*Store).Put()\n      @root@/edge/internal/cache/store.go:@line@ +0x@hex@\n==================\n"
        "--- FAIL: TestStoreParallel (@secs@s)\n    testing.go:@line@: race detected during execution of test\nFAIL\n"
        "FAIL\texample.org/edge/internal/cache\t@secs@s",
        (
            ed(
                "edge/internal/cache/store.go",
                "\ts.items[key] = value",
                "\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\ts.items[key] = value",
            ),
        ),
        "s.mu.Lock()",
        (
            ed("edge/internal/cache/store_test.go", "for i := 0; i < 100; i++", "for i := 0; i < 10; i++"),
            *GO_WRONG,
        ),
        "ok  \texample.org/edge/internal/cache\t@secs@s",
        sub="edge",
        look="edge/internal/cache/store.go",
    ),
    Failure(
        "go-cgo",
        "go",
        ("go build -o @tmp@/edge ./cmd/edge",),
        '# runtime/cgo\ncgo: C compiler "gcc" not found: exec: "gcc": executable file not found in $PATH',
        (sh("CGO_ENABLED=0 go build -o @tmp@/edge ./cmd/edge"),),
        "CGO_ENABLED=0 go build",
        (*GO_WRONG, sh("go env CC", "gcc")),
        "",
        sub="edge",
        changed=True,
        look="edge/Makefile",
    ),
    Failure(
        "ld-math",
        "make",
        ("make build/solver", "make solver"),
        "/usr/bin/ld: build/solver.o: in function `norm2':\n@root@/native/src/solver.c:@line@: "
        "undefined reference to `sqrt'\n"
        "collect2: error: ld returned 1 exit status\nmake: *** [Makefile:@line@: build/solver] Error 1",
        (ed("native/Makefile", "LDLIBS =", "LDLIBS += -lm"),),
        "LDLIBS += -lm",
        (*C_WRONG, ed("native/src/solver.c", '#include "solver.h"', '#include "solver.h"\n#include <math.h>')),
        "gcc -o build/solver build/solver.o -lm",
        code=2,
        sub="native",
        group="make",
        look="native/Makefile",
    ),
    Failure(
        "gcc-zlib",
        "make",
        ("make build/pack",),
        "src/pack.c:@line@:10: fatal error: zlib.h: No such file or directory\n    @n@ | #include "
        "<zlib.h>\n      |          "
        "^~~~~~~~\ncompilation terminated.\nmake: *** [Makefile:@line@: build/pack.o] Error 1",
        (sh("sudo apt-get install -y zlib1g-dev", "Setting up zlib1g-dev:amd64 ..."),),
        "apt-get install -y zlib1g-dev",
        (*C_WRONG, ed("native/Makefile", "CFLAGS =", "CFLAGS = -I/usr/local/include")),
        "gcc -o build/pack build/pack.o -lz",
        code=2,
        sub="native",
        group="make",
        look="native/src/pack.c",
    ),
    Failure(
        "ld-pq",
        "make",
        ("gcc -o @tmp@/dump src/dump.c -lpq", "make build/dump"),
        "/usr/bin/ld: cannot find -lpq: No such file or directory\ncollect2: error: ld returned 1 exit status",
        (sh("sudo apt-get install -y libpq-dev", "Setting up libpq-dev ..."),),
        "apt-get install -y libpq-dev",
        (*C_WRONG, sh("sudo apt-get install -y postgresql-client", "Setting up postgresql-client ...")),
        "",
        sub="native",
        look="native/Makefile",
    ),
    Failure(
        "make-proto",
        "make",
        ("make gateway",),
        "make: *** No rule to make target 'gen/messages.pb-c.h', needed by 'build/gateway.o'.  Stop.",
        (sh("protoc-c --c_out=gen messages.proto"),),
        "protoc-c --c_out=gen",
        (*C_WRONG, sh("mkdir -p gen")),
        "gcc -o build/gateway build/gateway.o gen/messages.pb-c.o",
        code=2,
        sub="native",
        group="make",
        look="native/Makefile",
    ),
    Failure(
        "asan-overflow",
        "make",
        ("make asan-test", "./build/asan_test"),
        "=================================================================\n==@pid@==ERROR: AddressSanitizer: "
        "heap-buffer-overflow on address 0x@hex@ at pc 0x@hex@\nWRITE of size 1 at 0x@hex@ thread T0\n"
        "    #0 0x@hex@ in copy_label src/label.c:@line@\n    #1 0x@hex@ in main test/label_test.c:@line@\n"
        "SUMMARY: AddressSanitizer: heap-buffer-overflow src/label.c:@line@ in copy_label\n==@pid@==ABORTING",
        (ed("native/src/label.c", "char *copy = malloc(length);", "char *copy = malloc(length + 1);"),),
        "malloc(length + 1)",
        (*C_WRONG, ed("native/src/label.c", "strcpy(copy, text);", "strncpy(copy, text, length);")),
        "all @n@ label tests passed",
        sub="native",
        look="native/src/label.c",
    ),
    Failure(
        "submodule",
        "make",
        ("cmake -B build", "cmake -S . -B build -DCMAKE_BUILD_TYPE=Release"),
        "CMake Error at CMakeLists.txt:@line@ (add_subdirectory):\n  The source directory\n\n    "
        "@root@/native/third_party/fmt\n\n"
        "  does not contain a CMakeLists.txt file.\n\n-- Configuring incomplete, errors occurred!",
        (
            sh(
                "git submodule update --init --recursive",
                "Submodule path 'native/third_party/fmt': checked out '@hex@'",
            ),
        ),
        "git submodule update --init",
        (sh("rm -rf build/CMakeCache.txt"), sh("pip install -U cmake", "Successfully installed cmake")),
        "-- Build files have been written to: @root@/native/build",
        sub="native",
        look="native/CMakeLists.txt",
    ),
    Failure(
        "pip-managed",
        "pip",
        ("pip install -r requirements.txt", "pip3 install -r requirements-dev.txt"),
        "error: externally-managed-environment\n\n\u00d7 This environment is externally "
        "managed\n\u2570\u2500> To install Python "
        "packages system-wide, try apt install\n    python3-xyz, where xyz is the package you are "
        "trying to install.\n\n"
        "note: If you believe this is a mistake, please contact your Python installation or OS distribution provider.",
        (
            sh("python3 -m venv .venv"),
            sh(". .venv/bin/activate && pip install -r requirements.txt", "Successfully installed @n@ packages"),
        ),
        "python3 -m venv .venv",
        (sh("sudo apt-get install -y python3-pip", "python3-pip is already the newest version"),),
        "Requirement already satisfied: fastapi",
        sub="api",
        look="api/requirements.txt",
    ),
    Failure(
        "pip-conflict",
        "pip",
        ("pip install -r requirements/all.txt",),
        "ERROR: Cannot install -r requirements/all.txt (line @line@) and urllib3>=2.1 because these "
        "package versions have "
        "conflicting dependencies.\n\nThe conflict is caused by:\n    The user requested "
        "urllib3>=2.1\n    botocore 1.29.@n@ "
        "depends on urllib3<1.27 and >=1.25.4\n\nERROR: ResolutionImpossible: for help visit "
        "https://pip.pypa.io/en/latest/topics/dependency-resolution/",
        (ed("api/requirements/all.txt", "urllib3>=2.1", "urllib3>=1.26,<1.27"),),
        "urllib3>=1.26,<1.27",
        (*PY_WRONG, sh("pip cache purge", "Files removed: @n@")),
        "Successfully installed urllib3-1.26.20",
        sub="api",
        look="api/requirements/all.txt",
    ),
    Failure(
        "numpy-abi",
        "pip",
        ("python -m app.forecast --dry-run",),
        "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.1.@n@ as it may "
        "crash.\n\nTraceback (most "
        'recent call last):\n  File "@root@/api/app/forecast.py", line @line@, in <module>\n    import fastmath\n'
        "ImportError: numpy.core.multiarray failed to import",
        (sh('pip install "numpy<2"', "Successfully installed numpy-1.26.4"),),
        'pip install "numpy<2"',
        (sh("pip install --force-reinstall fastmath", "Successfully installed fastmath"), *PY_WRONG),
        "forecast: @n@ points",
        sub="api",
        look="api/app/forecast.py",
    ),
    Failure(
        "mypy-return",
        "shell",
        ("mypy --strict app/catalog.py", "mypy app"),
        'app/catalog.py:@line@: error: Incompatible return value type (got "Item | None", expected '
        '"Item")  [return-value]\n'
        "Found 1 error in 1 file (checked @n@ source files)",
        (
            ed(
                "api/app/catalog.py",
                "    return self._items.get(key)",
                "    if key not in self._items:\n        raise UnknownItem(key)\n    return self._items[key]",
            ),
        ),
        "raise UnknownItem(key)",
        (sh("rm -rf .mypy_cache"), ed("api/app/catalog.py", "_items: dict", "_items: Mapping")),
        "Success: no issues found in @n@ source files",
        sub="api",
        look="api/app/catalog.py",
    ),
    Failure(
        "docker-space",
        "docker",
        ("docker build -t app:dev .", "docker build --target runtime ."),
        "ERROR: failed to solve: write /var/lib/docker/overlay2/@hex@/diff/usr/lib/x86_64-linux-gnu/libLLVM.so: "
        "no space left on device",
        (sh("docker system prune -af", "Total reclaimed space: @n@.4GB"),),
        "docker system prune -af",
        (sh("sudo systemctl restart docker"), sh("df -h /", "/dev/sda1  99G  99G  0 100% /")),
        "#@n@ naming to docker.io/library/app:dev done",
        look="Dockerfile",
    ),
    Failure(
        "docker-ignored",
        "docker",
        ("docker build -f deploy/web.Dockerfile .",),
        "ERROR: failed to solve: failed to compute cache key: failed to calculate checksum of ref @hex@::@hex@: "
        '"/web/dist": not found\nweb.Dockerfile:@line@\n>>> COPY web/dist /usr/share/nginx/html',
        (ed(".dockerignore", "dist\n", "**/dist\n!web/dist\n"),),
        "!web/dist",
        (sh("docker builder prune -f", "Total: @n@MB"), sh("mkdir -p web/dist")),
        "#@n@ exporting layers done",
        look=".dockerignore",
    ),
    Failure(
        "docker-socket",
        "docker",
        ("docker ps -a --format json", "docker compose ps"),
        "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get "
        '"http://%2Fvar%2Frun%2Fdocker.sock/v1.47/containers/json": dial unix /var/run/docker.sock: '
        "connect: permission denied",
        (sh("sudo chgrp docker /var/run/docker.sock && newgrp docker <<< true"),),
        "sudo chgrp docker /var/run/docker.sock",
        (sh("sudo systemctl restart docker"), sh("groups", "dev adm")),
        "@hex@   app:dev   Up @n@ minutes",
        look="compose.yaml",
    ),
    Failure(
        "compose-health",
        "docker",
        ("docker compose up -d --wait",),
        " Container app-db-1  Error\ndependency failed to start: container app-db-1 is unhealthy",
        (ed("compose.yaml", "      retries: 3", "      retries: 3\n      start_period: 40s"),),
        "start_period: 40s",
        (sh("docker compose down -v", " Volume app_db  Removed"), sh("docker compose pull", " db Pulled")),
        " Container app-db-1  Healthy\n Container app-web-1  Started",
        group="compose",
        look="compose.yaml",
    ),
    Failure(
        "compose-port",
        "docker",
        ("docker compose up -d proxy",),
        "Error response from daemon: driver failed programming external connectivity on endpoint app-proxy-1 (@hex@): "
        "Bind for 0.0.0.0:@port@ failed: port is already allocated",
        (sh("docker rm -f old-proxy", "old-proxy"),),
        "docker rm -f old-proxy",
        (sh("docker compose restart", " Container app-web-1  Started"), sh("docker network prune -f")),
        " Container app-proxy-1  Started",
        group="compose",
        look="compose.yaml",
    ),
    Failure(
        "sqlite-locked",
        "shell",
        ("python scripts/import_feed.py --all", "python scripts/import_feed.py --since yesterday"),
        'Traceback (most recent call last):\n  File "@root@/api/scripts/import_feed.py", line @line@, in store\n'
        "    cursor.executemany(INSERT, rows)\nsqlite3.OperationalError: database is locked",
        (
            ed(
                "api/scripts/import_feed.py",
                "connection = sqlite3.connect(PATH)",
                'connection = sqlite3.connect(PATH, timeout=30)\nconnection.execute("PRAGMA journal_mode=WAL")',
            ),
        ),
        'connection.execute("PRAGMA journal_mode=WAL")',
        (sh("rm -f data/feed.db-journal"), sh("sleep 10")),
        "imported @n@ rows",
        sub="api",
        look="api/scripts/import_feed.py",
    ),
    Failure(
        "sqlite-malformed",
        "shell",
        ("sqlite3 data/app.db 'select count(*) from orders'",),
        "Error: in prepare, database disk image is malformed (11)",
        (
            sh('sqlite3 data/app.db ".recover" | sqlite3 data/fixed.db'),
            sh("mv data/fixed.db data/app.db"),
        ),
        'sqlite3 data/app.db ".recover"',
        (sh('sqlite3 data/app.db "VACUUM" || true', "Error: database disk image is malformed"), sh("ls -la data")),
        "@n@",
        code=11,
        sub="api",
        look="api/app/store.py",
    ),
    Failure(
        "git-rejected",
        "git",
        ("git push origin HEAD", "git push -u origin HEAD"),
        "To git.example.org:team/app.git\n ! [rejected]        HEAD -> main (fetch first)\nerror: "
        "failed to push some refs to "
        "'git.example.org:team/app.git'\nhint: Updates were rejected because the remote contains work that you do not\n"
        "hint: have locally.",
        (sh("git pull --rebase origin main", "Successfully rebased and updated refs/heads/main."),),
        "git pull --rebase origin main",
        (
            sh("git fetch --tags", "From git.example.org:team/app"),
            sh("git remote -v", "origin git.example.org:team/app"),
        ),
        "   @hex@..@hex@  HEAD -> main",
        look=".git/config",
    ),
    Failure(
        "git-lock",
        "git",
        ('git commit -m "Tidy imports"', "git commit -am wip"),
        "fatal: Unable to create '@root@/.git/index.lock': File exists.\n\nAnother git process seems "
        "to be running in this "
        "repository, e.g.\nan editor opened by 'git commit'. Please make sure all processes\nare "
        "terminated then try again.",
        (sh("rm -f .git/index.lock"),),
        "rm -f .git/index.lock",
        (sh("sleep 3"), sh("git gc --auto")),
        "[main @hex@] Tidy imports\n @n@ files changed",
        code=128,
        look=".git/HEAD",
    ),
    Failure(
        "git-ownership",
        "git",
        ("git log --oneline -3", "git describe --tags"),
        "fatal: detected dubious ownership in repository at '@root@'\nTo add an exception for this directory, call:\n\n"
        "\tgit config --global --add safe.directory @root@",
        (sh("git config --global --add safe.directory @root@"),),
        "git config --global --add safe.directory",
        (sh("git fsck", "Checking object directories: 100%"), sh("id -un", "dev")),
        "@hex@ Tidy imports",
        code=128,
        look=".git/config",
    ),
    Failure(
        "shell-jq",
        "shell",
        ("curl -s localhost:@port@/health | jq .status", "./scripts/health.sh"),
        "/bin/bash: line @n@: jq: command not found",
        (sh("sudo apt-get install -y jq", "Setting up jq (1.6-2.1) ..."),),
        "apt-get install -y jq",
        (sh("pip install jq-cli", "Successfully installed jq-cli"), sh("hash -r")),
        '"ok"',
        code=127,
        look="scripts/health.sh",
    ),
    Failure(
        "shell-permission",
        "shell",
        ("./scripts/release.sh --dry-run", "./scripts/release.sh"),
        "/bin/bash: line @n@: ./scripts/release.sh: Permission denied",
        (sh("chmod +x scripts/release.sh"),),
        "chmod +x scripts/release.sh",
        (sh("ls -l scripts", "-rw-r--r-- 1 dev dev @n@ release.sh"), sh("sudo chown dev scripts/release.sh")),
        "release dry run complete (@secs@s)",
        code=126,
        look="scripts/release.sh",
    ),
    Failure(
        "shell-crlf",
        "shell",
        ("./scripts/seed.sh", "./scripts/seed.sh --small"),
        "/usr/bin/env: \u2018bash\\r\u2019: No such file or directory\n/usr/bin/env: use -[v]S to "
        "pass options in shebang lines",
        (sh("sed -i 's/\\r$//' scripts/seed.sh"),),
        "sed -i 's/\\r$//' scripts/seed.sh",
        (sh("sudo apt-get install -y --reinstall bash", "Setting up bash ..."), sh("chmod 755 scripts/seed.sh")),
        "seeded @n@ rows",
        code=127,
        look="scripts/seed.sh",
    ),
    Failure(
        "uvicorn-port",
        "shell",
        ("uvicorn app.main:app --host 127.0.0.1 --port @port@",),
        "INFO:     Started server process [@pid@]\nINFO:     Application startup complete.\n"
        "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', @port@): address already in use\n"
        "INFO:     Application shutdown complete.",
        (sh("fuser -k @port@/tcp", "@port@/tcp: @pid@"),),
        "fuser -k",
        (sh("sleep 2"), *PY_WRONG),
        "INFO:     Uvicorn running on http://127.0.0.1:@port@ (Press CTRL+C to quit)",
        sub="api",
        look="api/app/main.py",
    ),
    Failure(
        "postgres-down",
        "shell",
        ("alembic upgrade head", "python -m alembic upgrade head"),
        'psycopg.OperationalError: connection failed: connection to server at "127.0.0.1", port '
        "@port@ failed: Connection "
        "refused\n\tIs the server running on that host and accepting TCP/IP connections?",
        (sh("docker compose up -d postgres", " Container app-postgres-1  Started"),),
        "docker compose up -d postgres",
        (sh("pip install -U psycopg", "Successfully installed psycopg"), sh("pg_isready || true", "no response")),
        "INFO  [alembic.runtime.migration] Running upgrade @hex@ -> @hex@",
        sub="api",
        look="api/alembic.ini",
    ),
    Failure(
        "kube-version",
        "shell",
        ("kubectl apply -f deploy/ingress.yaml",),
        'error: resource mapping not found for name: "web" namespace: "" from "deploy/ingress.yaml": '
        "no matches for kind "
        '"Ingress" in version "networking.k8s.io/v1beta1"\nensure CRDs are installed first',
        (
            ed(
                "deploy/ingress.yaml",
                "apiVersion: networking.k8s.io/v1beta1",
                'apiVersion: "networking.k8s.io/v1"',
            ),
        ),
        'apiVersion: "networking.k8s.io/v1"',
        (
            sh("kubectl config use-context dev", 'Switched to context "dev".'),
            sh("helm repo update", "Update Complete."),
        ),
        "ingress.networking.k8s.io/web configured",
        look="deploy/ingress.yaml",
    ),
    Failure(
        "npm-timeout",
        "npm",
        ("npm audit fix",),
        "npm error code ETIMEDOUT\nnpm error errno ETIMEDOUT\nnpm error network request to https://registry.npmjs.org/"
        "-/npm/v1/security/advisories/bulk failed, reason: connect ETIMEDOUT",
        (),
        "",
        (sh("npm config get registry", "https://registry.npmjs.org/"),),
        "fixed @n@ of @n@ vulnerabilities",
        sub="web",
    ),
    Failure(
        "flaky-events",
        "pytest",
        ("pytest tests/test_event_bus.py",),
        ">       assert len(bus.received) == 3\nE       AssertionError: assert 2 == "
        "3\n\ntests/test_event_bus.py:@line@: "
        "AssertionError\nFAILED tests/test_event_bus.py::test_fan_out - AssertionError: assert 2 == 3\n"
        "1 failed, @n@ passed in @secs@s",
        (),
        "",
        PY_WRONG,
        PYTEST_OK,
        sub="api",
    ),
    Failure(
        "segfault",
        "make",
        ("./build/replay --file traces/big.bin",),
        "replay: frame @n@ of @n@\nSegmentation fault (core dumped) in decode_frame_v3",
        (),
        "",
        C_WRONG,
        "",
        code=139,
        sub="native",
    ),
    Failure(
        "tls-proxy",
        "pip",
        ("python scripts/fetch_rates.py",),
        "requests.exceptions.SSLError: HTTPSConnectionPool(host='rates.example.org', port=443): Max retries exceeded "
        "(Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate')))",
        (),
        "",
        (sh("pip install -U certifi", "Successfully installed certifi"), sh("sudo update-ca-certificates", "0 added")),
        "",
        sub="api",
    ),
)

CHORES = (
    ("git add -A", ""),
    ("git add -A && git status --short", " M api/app/main.py\n M web/package.json"),
    ("ruff format . && ruff check --fix .", "@n@ files left unchanged\nAll checks passed!"),
    ("npx prettier --write src", "src/index.tsx @n@ms (unchanged)"),
    ("cargo fmt --all", ""),
    ("gofmt -w .", ""),
    ("git diff --stat", " api/app/main.py | @n@ ++--\n 1 file changed"),
    ("pre-commit run --all-files", "trim trailing whitespace.................Passed"),
    ('git commit -qm "Checkpoint"', ""),
)

LOOKS = (
    ("git status", "On branch main\nnothing to commit, working tree clean"),
    ("ls -la", "total @n@\ndrwxr-xr-x  9 dev dev 4096 @time@ ."),
    ("cat package.json | head -30", '{\n  "name": "web",\n  "version": "1.@n@.0"\n}'),
    ("git log --oneline -5 -- docs", "@hex@ Tidy\n@hex@ Add @word@"),
    ("grep -rn TODO --include='*.py' . | head", "./app/@word@.py:@line@: # TODO split"),
    ("which python node cargo go", "/usr/bin/python\n/usr/bin/node"),
    ("ps aux | grep -c node", "@n@"),
    ("env | sort | head -40", "HOME=/home/dev\nLANG=C.UTF-8\nPATH=/usr/bin:/bin"),
)

SECRET_LOOKS = (
    ("cat .env", "APP_ENV=dev\nDB_PASSWORD=@password@\nSTRIPE_SECRET_KEY=@stripe@\nDEBUG=1"),
    ('curl -sH "Authorization: Bearer @jwt@" https://api.example.org/v1/me', '{"id": @n@, "name": "dev"}'),
    (
        "aws configure list-profiles; cat ~/.aws/credentials",
        "aws_access_key_id = @aws@\naws_secret_access_key = @bearer@",
    ),
    ("git remote -v", "origin  https://dev:@github@@github.com/team/app.git (fetch)"),
    ("head -3 deploy/id_ed25519", "-----BEGIN OPENSSH PRIVATE " + "KEY-----\n@keyline@\n@keyline@"),
    ("docker login -u ci -p @password@ registry.example.org", "Login Succeeded"),
    ("mysql -uroot -p@password@ -e 'show tables'", "Tables_in_app\norders"),
    ("psql postgresql://app:@password@@db.example.org:5432/app -c '\\dt'", "(@n@ rows)"),
    ("npm config set //registry.npmjs.org/:_authToken=@npm@", ""),
    ("curl -s 'https://hooks.example.org/send?api_key=@bearer@&q=1'", "ok"),
)

SECRET_NOISE = (
    "DEBUG config: password=@password@ user=app",
    "export GITHUB_TOKEN=@github@",
    "connecting to postgres://app:@password@@db.internal:5432/app",
    "> Authorization: Bearer @jwt@",
    "AWS_ACCESS_KEY_ID=@aws@",
    '{"level":"debug","api_key":"@bearer@","msg":"client ready"}',
    "SLACK_BOT_TOKEN=@slack@",
)

PROMPTS = (
    "Please get the tests of the orders module green and tidy up afterwards.",
    "The build is broken since this morning. Find out why and repair it.",
    "Add a currency column to the invoices and show it in the web page.",
    "Upgrade the dependencies, carefully, one after the other.",
    "go on",
    "hm, that does not look right, try again please",
    "Can you set the project up on this fresh machine and run everything once?",
    "Before you go on: what is the reason for the failure?",
    "Thanks. Now the next one on the list.",
)

THOUGHTS = (
    "The error is not what I expected. Let me look at the file before I change anything.",
    "Perhaps a stale cache. I could clear it, but that would hide the cause.",
    "Two things are open now; the second one is smaller, so I take it first.",
    "That should do it. I run it again later, together with the rest.",
    "The user wants the whole suite to pass, so I continue.",
)

TEXTS = (
    "Let me look at that.",
    "I'll try a different way.",
    "Now let me run it again.",
    "That is done; on to the next part.",
    "Interesting: this failed in a way that I did not expect.",
    "Meanwhile I take care of the formatting.",
)


class Vault:
    """Makes the secrets, each new, and remembers all of them."""

    def __init__(self) -> None:
        """Start without secrets."""
        self.planted: list[str] = []

    @staticmethod
    def _signs(count: int) -> str:
        """Return `count` random letters and digits."""
        return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(count))

    def make(self, kind: str) -> str:
        """Make a new secret of the shape that `kind` names, always of the same length."""
        upper = "".join(secrets.choice(string.ascii_uppercase + "234567") for _ in range(16))
        shapes = {
            "password": self._signs(16),
            "bearer": self._signs(40),
            "github": "gh" + "p_" + self._signs(36),
            "stripe": "sk" + "_live_" + self._signs(24),
            "aws": "AK" + "IA" + upper,
            "slack": "xo" + "xb-" + self._signs(12) + "-" + self._signs(24),
            "npm": "np" + "m_" + self._signs(36),
            "jwt": "ey" + "J" + self._signs(33) + ".ey" + "J" + self._signs(45) + "." + self._signs(43),
            "keyline": self._signs(64),
        }
        self.planted.append(shapes[kind])
        return shapes[kind]


SECRET_KINDS = frozenset(["password", "bearer", "github", "stripe", "aws", "slack", "npm", "jwt", "keyline"])


class Filler:
    """Fills the @places@ of a template; in sessions with even numbers, in fresh examples with odd ones."""

    def __init__(self, rng: random.Random, root: str, vault: Vault | None) -> None:
        """Without a vault this makes fresh examples, which never hold a secret."""
        self.rng = rng
        self.root = root
        self.vault = vault
        self.kept: dict[str, str] = {}

    def number(self, low: int, high: int) -> str:
        """Return a number that is even in sessions and odd in fresh examples."""
        return str(self.rng.randrange(low // 2, high // 2) * 2 + (0 if self.vault else 1))

    def _value(self, kind: str) -> str:
        """Return a value for one place."""
        rng = self.rng
        if kind in SECRET_KINDS:
            return self.vault.make(kind) if self.vault else "hidden"
        if kind == "root":
            return self.root
        if kind == "word":
            return rng.choice(WORDS)
        if kind == "port":
            return self.number(3000, 9990)
        if kind == "tmp":
            name = "".join(rng.choices(string.ascii_lowercase + string.digits, k=8))
            return rng.choice((f"/tmp/tmp{name}", f"/tmp/build-{name}", f"/tmp/pytest-of-dev/pytest-{name}"))
        if kind == "hex":
            return f"{rng.getrandbits(48):012x}"
        if kind == "time":
            return f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
        if kind == "secs":
            return f"{self.number(0, 90)}.{self.number(10, 98)}"
        ranges = {"line": (10, 900), "pid": (1000, 60000), "n": (2, 98)}
        return self.number(*ranges[kind])

    def __call__(self, template: str) -> str:
        """Fill the template. Ports and temporary folders stay the same for the life of this filler."""

        def put(match: re.Match[str]) -> str:
            kind = match[1]
            if kind not in ("port", "tmp"):
                return self._value(kind) if kind in KNOWN else match[0]
            if kind not in self.kept:
                self.kept[kind] = self._value(kind)
            return self.kept[kind]

        return TOKEN.sub(put, template)

    def noise(self, kind: str, count: int) -> list[str]:
        """Return `count` lines of progress that have nothing to do with the failure."""
        return [self(self.rng.choice(NOISE[kind])) for _ in range(count)]


KNOWN = SECRET_KINDS | frozenset(["root", "word", "port", "tmp", "hex", "time", "secs", "line", "pid", "n"])


def printed(fill: Filler, failure: Failure) -> str:
    """Return what the failing command prints this time: the error among more or less noise."""
    rng = fill.rng
    before = rng.choices((0, 2, 8, 30, 120, 400), (4, 4, 4, 3, 2, 1))[0]
    lines = fill.noise(failure.kind, before and rng.randint(before // 2 + 1, before))
    if fill.vault and rng.random() < 0.12:
        lines.append(fill(rng.choice(SECRET_NOISE)))
    lines.append(fill(failure.error))
    if rng.random() < 0.25:
        lines += fill.noise(failure.kind, rng.randint(1, 3))
    return "\n".join(lines)


def cut(text: str) -> str:
    """Cut a long output in its middle, as the agent's runner does."""
    if len(text) <= LIMIT:
        return text
    half = LIMIT // 2
    return f"{text[:half]}\n... [{len(text) - 2 * half} characters truncated] ...\n{text[-half:]}"


class Actor:
    """The main agent or one subagent: turns what it does into the lines of a transcript."""

    def __init__(self, rng: random.Random, root: str, vault: Vault, agent: str = "") -> None:
        """`agent` is the id of a subagent, empty for the main agent."""
        self.rng = rng
        self.root = root
        self.vault = vault
        self.agent = agent
        self.fill = Filler(rng, root, vault)

    def line(self, kind: str, content: object, cwd: str = "", **more: object) -> Line:
        """Make one line; its uuid, parent and time are set when the session is put together."""
        role = "assistant" if kind == "assistant" else "user"
        message: dict[str, object] = {"role": role, "content": content}
        if kind == "assistant":
            message |= {"id": f"msg_{self.rng.getrandbits(64):016x}", "type": "message", "model": "made-up-model"}
        made: Line = {"isSidechain": bool(self.agent), "userType": "external", "cwd": cwd or self.root, "type": kind}
        if self.agent:
            made["agentId"] = self.agent
        return made | {"message": message} | more

    def call(self, tool: str, given: dict[str, object], result: str, code: int = 0, cwd: str = "") -> Step:
        """Call a tool: perhaps a thought and a text first, then the call, then its result."""
        rng = self.rng
        known = "toolu_" + "".join(rng.choices(string.ascii_letters + string.digits, k=22))
        step: Step = []
        if rng.random() < 0.2:
            thought = {"type": "thinking", "thinking": rng.choice(THOUGHTS), "signature": f"{rng.getrandbits(96):x}"}
            step.append(self.line("assistant", [thought], cwd))
        parts: list[object] = [{"type": "text", "text": rng.choice(TEXTS)}] if rng.random() < 0.3 else []
        step.append(
            self.line("assistant", [*parts, {"type": "tool_use", "id": known, "name": tool, "input": given}], cwd)
        )
        full = f"Exit code {code}\n{result}" if code > 0 else result
        text = cut(full) if tool == "Bash" else full
        if rng.random() < 0.08:
            text = re.sub(r"\b(error|Error|FAILED|warning)\b", "\x1b[31m\\1\x1b[0m", text)
        content: object = text
        if rng.random() < 0.2:
            middle = text.find("\n", len(text) // 2) + 1
            pieces = [text[:middle], text[middle:]] if middle and rng.random() < 0.4 and not code else [text]
            content = [{"type": "text", "text": piece} for piece in pieces]
        answer: dict[str, object] = {"type": "tool_result", "tool_use_id": known, "content": content}
        if code:
            answer["is_error"] = True
        elif rng.random() < 0.6:
            answer["is_error"] = False
        detail: object = f"Error: {text}" if code else {"stdout": text, "stderr": "", "interrupted": False}
        step.append(self.line("user", [answer], cwd, toolUseResult=detail))
        return step

    def bash(self, command: str, result: str, code: int = 0, cwd: str = "") -> Step:
        """Run a shell command."""
        given: dict[str, object] = {"command": command}
        if self.rng.random() < 0.6:
            given["description"] = self.rng.choice(("Run the command", "Check again", "Build", "Look at the state"))
        if self.rng.random() < 0.1:
            given["timeout"] = 120000
        return self.call("Bash", given, result, code, cwd)

    def act(self, act: Act, fill: Filler, sub: str) -> Step:
        """Make a change: run its command, or edit its file in one of the ways that there are."""
        rng = self.rng
        if not act.path:
            command = fill(act.text)
            if rng.random() < 0.15 and "<<" not in command:
                command += rng.choice((" 2>&1 | tail -5", " 2>&1", " && echo done"))
            command, cwd = self.place(command, sub)
            return self.bash(command, fill(act.printed), cwd=cwd)
        path = f"{self.root}/{act.path}"
        around = [f"# {rng.choice(WORDS)} {rng.choice(WORDS)}" for _ in range(rng.choice((0, 0, 1, 3)))]
        old, new = "\n".join([*around, act.old]), "\n".join([*around, act.text])
        done = f"The file {path} has been updated. Here's the result of running `cat -n` on a snippet:\n     1\t{new}"
        way = rng.choices(("Edit", "MultiEdit", "Write", "Bash"), (65, 15, 14, 6))[0]
        if way == "Edit":
            return self.call("Edit", {"file_path": path, "old_string": old, "new_string": new}, done)
        if way == "MultiEdit":
            other: dict[str, object] = {"old_string": "colour", "new_string": "color"}
            edits = [{"old_string": old, "new_string": new}, other]
            rng.shuffle(edits)
            return self.call("MultiEdit", {"file_path": path, "edits": edits}, f"Applied 2 edits to {path}")
        rest = "\n".join(f"# {rng.choice(WORDS)} part {number}" for number in range(rng.randint(3, 60)))
        whole = f"{rest}\n{new}\n{rest[:80]}\n"
        if way == "Write":
            return self.call("Write", {"file_path": path, "content": whole}, f"File updated successfully at: {path}")
        return self.bash(f"cat > {path} <<'EOF'\n{whole}EOF", "")

    def place(self, command: str, sub: str) -> tuple[str, str]:
        """Choose how a command gets to its folder: by `cd` or because the shell is there already."""
        if not sub:
            return command, self.root
        if self.rng.random() < 0.35:
            return f"cd {self.rng.choice((sub, f'{self.root}/{sub}'))} && {command}", self.root
        return command, f"{self.root}/{sub}"

    def failing(self, plan: Plan, fill: Filler) -> Step:
        """Run the failing command."""
        command, cwd = self.place(fill(plan.command), plan.failure.sub)
        return self.bash(command, printed(fill, plan.failure), plan.failure.code, cwd)

    def passing(self, plan: Plan, fill: Filler, first: str = "") -> Step:
        """Run the command with success, mostly as before, sometimes in a slightly different form."""
        rng = self.rng
        command = first + fill(plan.command)
        if rng.random() < 0.25:
            command = rng.choice(("{} 2>&1 | tail -20", "{} && echo OK", "time {}", "{} 2>&1", "date; {}")).format(
                command
            )
        command, cwd = self.place(command, plan.failure.sub)
        lines = fill.noise(plan.failure.kind, rng.choice((0, 0, 3, 40)))
        return self.bash(command, "\n".join([*lines, fill(plan.failure.passed)]), cwd=cwd)

    def read(self, path: str, lines: int) -> Step:
        """Read a file."""
        rng = self.rng
        text = "\n".join(f"{n:6}\u2192{rng.choice(WORDS)} = {rng.choice(WORDS)}({n})" for n in range(1, lines + 1))
        return self.call("Read", {"file_path": f"{self.root}/{path}"}, text)

    def noise(self) -> Step:
        """Do one thing that has to do with no failure."""
        rng = self.rng
        pick = rng.random()
        if pick < 0.42:
            command, shown = rng.choice(CHORES[:3] if rng.random() < 0.5 else CHORES)
            return self.bash(command, self.fill(shown))
        if pick < 0.60:
            command, shown = rng.choice(LOOKS)
            return self.bash(command, self.fill(shown))
        if pick < 0.66:
            command, shown = rng.choice(SECRET_LOOKS)
            return self.bash(self.fill(command), self.fill(shown))
        if pick < 0.74:
            return self.read(f"docs/{rng.choice(WORDS)}.md", rng.choice((5, 40, 200)))
        if pick < 0.80:
            path = f"{self.root}/api/app/{rng.choice(WORDS)}.py"
            head = f"def {rng.choice(WORDS)}_{rng.choice(WORDS)}(value: int) -> int:"
            new = f"{head}\n    return value + {rng.randrange(99)}"
            given: dict[str, object] = {"file_path": path, "old_string": "pass", "new_string": new}
            if rng.random() < 0.12:
                return self.call(
                    "Edit", given, "<tool_use_error>String to replace not found in file.</tool_use_error>", -1
                )
            return self.call("Edit", given, f"The file {path} has been updated.")
        if pick < 0.85:
            return self.call(
                "Grep", {"pattern": rng.choice(WORDS), "output_mode": "content"}, self.fill("@word@.py:@line@:x")
            )
        if pick < 0.89:
            todo = {"content": rng.choice(PROMPTS), "status": "in_progress", "activeForm": "Working"}
            return self.call("TodoWrite", {"todos": [todo]}, "Todos have been modified successfully.")
        if pick < 0.92:
            return self.call("Glob", {"pattern": "**/*.toml"}, f"{self.root}/core/Cargo.toml")
        if pick < 0.94:
            return self.bash(f"grep -rn {rng.choice(WORDS)}_missing src", "", 1)
        if pick < 0.96:
            return self.bash("sleep 200 && curl -s localhost/ready", "Command timed out after 2m 0s", 143)
        if pick < 0.97:
            refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected."
            return self.call("Bash", {"command": "git push --force"}, refusal, -1)
        if pick < 0.99:
            return self.call("WebFetch", {"url": "https://docs.example.org/guide", "prompt": "How?"}, "See the guide.")
        return self.call("BashOutput", {"bash_id": "bash_1"}, "<status>running</status>\n" + self.fill("step @n@"))

    def episode(self, plan: Plan) -> list[Step]:
        """Meet one failure and do about it what the plan says."""
        rng, failure = self.rng, plan.failure
        fill = Filler(rng, self.root, self.vault)
        steps = [self.failing(plan, fill)]
        tries = list(failure.wrong)
        rng.shuffle(tries)
        for number in range(plan.repeats):
            steps.append(self.act(tries[number % len(tries)], fill, failure.sub))
            steps += [self.noise()] if rng.random() < 0.4 else []
            steps.append(self.failing(plan, fill))
        if rng.random() < 0.5:
            steps.append(self.read(failure.look, rng.choice((8, 30, 120))))
        if tries[plan.repeats :] and rng.random() < 0.2:
            steps.append(self.act(tries[-1], fill, failure.sub))
            if rng.random() < 0.4:  # the pipe hides the exit code: it fails still, but no error is marked
                command, cwd = self.place(f"{fill(plan.command)} 2>&1 | tail -40", failure.sub)
                steps.append(self.bash(command, printed(fill, failure), 0, cwd))
        if not failure.fix and failure.passed and rng.random() < 0.7:
            return [*steps, self.passing(plan, fill)]
        if not plan.repaired:
            return steps
        return steps + self.repair(plan, fill)

    def repair(self, plan: Plan, fill: Filler) -> list[Step]:
        """Do the true repair and show its success."""
        rng, failure = self.rng, plan.failure
        steps: list[Step] = []
        if failure.changed:
            command, cwd = self.place(fill(failure.fix[0].text), failure.sub)
            noise = fill.noise(failure.kind, rng.choice((0, 4, 30)))
            return [self.bash(command, "\n".join([*noise, fill(failure.passed)]), cwd=cwd)]
        commands = [fill(act.text) for act in failure.fix if not act.path]
        if len(commands) == len(failure.fix) and plan.last and rng.random() < 0.12:
            return [self.passing(plan, fill, " && ".join([*commands, ""]))]
        for act in failure.fix:
            steps.append(self.act(act, fill, failure.sub))
            steps += [self.noise() for _ in range(rng.choice((0, 0, 1, 2)))]
        if rng.random() < 0.3:
            steps += [self.noise() for _ in range(rng.randint(3, 8))]
        if plan.last:
            steps.append(self.passing(plan, fill))
        return steps


def braid(rng: random.Random, strands: list[list[T]], burst: int) -> list[T]:
    """Mix lists at random; each keeps its own order."""
    rest = [list(strand) for strand in strands if strand]
    mixed: list[T] = []
    while rest:
        strand = rng.choices(rest, [len(one) for one in rest])[0]
        count = rng.randint(1, burst)
        mixed += strand[:count]
        del strand[:count]
        rest = [one for one in rest if one]
    return mixed


def flat(steps: list[Step]) -> list[Line]:
    """Return the lines of all steps."""
    return [line for step in steps for line in step]


def side_by_side(rng: random.Random, first: Step, second: Step) -> Step:
    """Make two calls run at the same time: both are sent before the results come, in any order."""
    results = [first[-1], second[-1]]
    rng.shuffle(results)
    return [*first[:-1], *second[:-1], *results]


def delegated(main: Actor, works: list[tuple[Actor, list[Step]]], beside: list[Step]) -> Step:
    """Hand work to subagents; their lines are interleaved with one another and with what the main agent does."""
    rng = main.rng
    calls = []
    strands = [flat(beside)]
    for actor, steps in works:
        task = "Work on this part and report: " + rng.choice(PROMPTS)
        given: dict[str, object] = {
            "description": "Part of the work",
            "prompt": task,
            "subagent_type": "general-purpose",
        }
        calls.append(main.call(rng.choice(("Task", "Agent")), given, f"Done. {rng.choice(TEXTS)}"))
        strands.append(
            [actor.line("user", task), *flat(steps), actor.line("assistant", [{"type": "text", "text": "Done."}])]
        )
    before = [line for call in calls for line in call[:-1]]
    return [*before, *braid(rng, strands, 3), *(call[-1] for call in calls)]


def chained(rng: random.Random, plans: list[Plan]) -> list[list[Plan]]:
    """Choose the commands. Failures that share a command line may come one after the other in it."""
    units: list[list[Plan]] = []
    groups: dict[str, list[Plan]] = {}
    for plan in plans:
        plan.command = rng.choice(plan.failure.commands)
        groups.setdefault(plan.failure.group or f"alone {id(plan)}", []).append(plan)
    for name, members in groups.items():
        common = GROUPS.get(name)
        if common and (len(members) == 1 and rng.random() < 0.4):
            members[0].command = common
        good = [plan for plan in members if plan.repaired]
        if common and len(good) > 1 and rng.random() < 0.6:
            for plan in good:
                plan.command = common
                plan.last = plan is good[-1]
            units += [good, *([plan] for plan in members if not plan.repaired)]
        else:
            units += [[plan] for plan in members]
    rng.shuffle(units)
    return units


def oddities(actor: Actor, size: int) -> list[Step]:
    """Return lines that are no calls: prompts, system lines, a compaction, unknown types, perhaps an enormous line."""
    rng = actor.rng
    found: list[Step] = [
        [actor.line("user", rng.choice(PROMPTS))],
        [actor.line("user", [{"type": "text", "text": rng.choice(PROMPTS)}])],
        [{"type": "system", "subtype": "informational", "content": "hook finished", "level": "info"}],
        [{"type": "x-telemetry", "payload": {"values": [1, None, {"deep": []}]}}],
        [{"type": "queue-operation", "operation": "enqueue", "content": rng.choice(PROMPTS)}],
        [actor.line("user", "<system-reminder>The file was changed by a linter.</system-reminder>", isMeta=True)],
        [actor.line("assistant", [{"type": "thinking", "thinking": rng.choice(THOUGHTS), "signature": ""}])],
    ]
    chosen = rng.sample(found, rng.randint(2, len(found)))
    if rng.random() < 0.2:
        text = "This session is being continued. So far: tests failed with an error, some were repaired."
        boundary: Line = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}
        chosen.append([boundary, actor.line("user", text, isCompactSummary=True)])
    if size:
        blob = "".join(f"{rng.choice(WORDS)} error {number}\n" for number in range(size // 14))
        snapshot: Line = {"type": "file-history-snapshot", "snapshot": {"package-lock.json": blob}}
        giant = actor.call("Read", {"file_path": f"{actor.root}/package-lock.json"}, blob)
        chosen.append(giant if rng.random() < 0.6 else [snapshot])
    return chosen


def session(rng: random.Random, root: str, vault: Vault, plans: list[Plan], size: int) -> list[Line]:
    """Make the lines of one session, without their ids and times."""
    main = Actor(rng, root, vault)
    strands: list[list[Step]] = []
    works: list[tuple[Actor, list[Step]]] = []
    for unit in chained(rng, plans):
        helper = Actor(rng, root, vault, f"{rng.getrandbits(32):08x}")
        where = rng.random()
        if where < 0.22:
            own = [step for plan in unit for step in helper.episode(plan)]
            works.append((helper, braid(rng, [own, [helper.noise()]], 2)))
        elif (
            where < 0.30 and len(unit) == 1 and unit[0].failure.fix and unit[0].repaired and not unit[0].failure.changed
        ):
            plan = unit[0]  # the main agent fails, a subagent repairs, the main agent sees the success
            fill = Filler(rng, root, vault)
            inner = [helper.noise(), *(helper.act(act, fill, plan.failure.sub) for act in plan.failure.fix)]
            repeats = [step for _ in range(plan.repeats) for step in (main.noise(), main.failing(plan, fill))]
            help_step = delegated(main, [(helper, inner)], [])
            strands.append([main.failing(plan, fill), *repeats, help_step, main.passing(plan, fill)])
        else:
            strands.append([step for plan in unit for step in main.episode(plan)])
    if rng.random() < 0.3:
        helper = Actor(rng, root, vault, f"{rng.getrandbits(32):08x}")
        works.append((helper, [helper.noise() for _ in range(rng.randint(3, 9))]))
    steps: list[Step] = []
    while strands:
        width = rng.choice((1, 1, 2, 3))
        steps += braid(rng, strands[:width], 3)
        del strands[:width]
    mixed: list[Step] = [[main.line("user", rng.choice(PROMPTS))], main.noise()]
    for step in steps:
        look = rng.random() < 0.08 and len(step) < 4
        mixed.append(side_by_side(rng, step, main.read("docs/guide.md", 12)) if look else step)
        mixed += [main.noise() for _ in range(rng.choices((0, 1, 2, 5), (50, 32, 14, 4))[0])]
    while works:
        count = rng.randint(1, 2)
        at = rng.randint(1, len(mixed))
        span = rng.choice((0, 0, 4, 10))
        beside, mixed[at : at + span] = mixed[at : at + span], []
        mixed.insert(at, delegated(main, works[:count], beside))
        del works[:count]
    for odd in oddities(main, size):
        mixed.insert(rng.randint(1, len(mixed)), odd)
    mixed += [main.noise(), [main.line("assistant", [{"type": "text", "text": "All done for now."}])]]
    lines = flat(mixed)
    if rng.random() < 0.5:
        lines.insert(0, {"type": "summary", "summary": "Work on the project", "leafUuid": str(new_id(rng))})
    return lines


def new_id(rng: random.Random) -> uuid.UUID:
    """Return a random uuid that depends on the seed."""
    return uuid.UUID(int=rng.getrandbits(128), version=4)


def finish(rng: random.Random, lines: list[Line], known: str, day: int) -> list[str]:
    """Give each line its ids and its time, and turn it into text."""
    now = datetime.datetime(2026, 1, 5, 8, tzinfo=datetime.UTC) + datetime.timedelta(
        days=day, minutes=rng.randrange(500)
    )
    parents: dict[object, str] = {}
    branch = rng.choice(("main", "main", "fix/build", "feature/currency"))
    texts = []
    for line in lines:
        now += datetime.timedelta(milliseconds=rng.randint(300, 40000))
        if line["type"] not in ("summary", "file-history-snapshot", "queue-operation"):
            agent = line.get("agentId")
            own = str(new_id(rng))
            line |= {"parentUuid": parents.get(agent), "sessionId": known, "version": "2.0.14", "gitBranch": branch}
            stamp = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            line |= {"uuid": own, "timestamp": stamp}
            parents[agent] = own
        texts.append(json.dumps(line, ensure_ascii=rng.random() < 0.3))
    return texts


def plan_all(rng: random.Random, sessions: int, failures: int) -> list[list[Plan]]:
    """Spread exactly `failures` failing calls (or as many as fit) over the sessions.

    A failure is met at most once in a session; a wrong try makes it fail again there.

    A failing call is one that prints a failure of the catalog with `is_error`; noise that fails is not counted.
    """
    plans: list[list[Plan]] = [[] for _ in range(sessions)]
    catalog = rng.sample(CATALOG, max(1, min(len(CATALOG), failures // 4 + 2)))
    goals = {one.name: 1 if at % 8 == 0 else rng.choice((2, 2, 2, 3, 3, 4, 5, 6, 7)) for at, one in enumerate(catalog)}
    queue = list(catalog)
    more = [one for one in catalog for _ in range(goals[one.name] - 1)]
    rng.shuffle(more)
    queue += more
    left = failures
    while left > 0:
        failure = queue.pop(0) if queue else rng.choice(catalog)
        free = [one for one in plans if all(plan.failure is not failure for plan in one)]
        if not free:
            if all(len(one) >= len(catalog) for one in plans):
                break
            continue
        repeats = min(rng.choices((0, 1, 2), (72, 22, 6))[0], left - 1)
        repaired = bool(failure.fix) and rng.random() > (0.1 if goals[failure.name] > 1 else 0.04)
        fewest = min(len(one) for one in free)
        rng.choice([one for one in free if len(one) <= fewest + 3]).append(Plan(failure, repaired, repeats))
        left -= 1 + repeats
    return plans


def write(folder: pathlib.Path, root: str, sessions: int, seed: int, failures: int = 200) -> list[dict[str, object]]:
    """Write the transcripts and the list of planted secrets into `folder`; return the truth about the failures.

    Each entry has a fresh printed example (`output`), the text that identifies the true repair (`fix`, empty if it was
    repaired in no session) and in how many sessions it was repaired (`sightings`); besides these `also`, the texts of
    all steps of the repair, `name`, and `met`, in how many sessions the failure was met.
    """
    rng = random.Random(seed)
    vault = Vault()
    everything = ""
    folder.mkdir(parents=True, exist_ok=True)
    plans = plan_all(rng, sessions, failures)
    giants = set(rng.sample(range(sessions), min(sessions, max(1, sessions // 12))))
    broken = set(rng.sample(range(sessions), sessions // 8))
    for number, mine in enumerate(plans):
        size = rng.randint(90_000, 200_000) if number in giants else 0
        known = str(new_id(rng))
        texts = finish(rng, session(rng, root, vault, mine, size), known, number)
        if number in broken:
            actor = Actor(rng, root, vault)
            last = actor.bash("git status --short && git diff", "diff --git a/x b/x")[-2:]
            extra = finish(rng, last if rng.random() < 0.5 else last[:1], known, number + 1)
            texts += extra
            text = "\n".join(texts)[: -rng.randint(20, len(extra[-1]) - 20)]
        else:
            text = "\n".join(texts) + "\n"
        (folder / f"{known}.jsonl").write_text(text, encoding="utf-8")
        everything += text
    planted = [one for one in vault.planted if one in everything]
    (folder / "planted-secrets.txt").write_text("".join(f"{one}\n" for one in planted), encoding="utf-8")
    truth: list[dict[str, object]] = []
    for failure in CATALOG:
        met = sum(plan.failure is failure for mine in plans for plan in mine)
        sightings = sum(plan.failure is failure and plan.repaired for mine in plans for plan in mine)
        if met:
            entry: dict[str, object] = {"output": printed(Filler(rng, root, None), failure)}
            entry |= {
                "fix": failure.mark if sightings else "",
                "sightings": sightings,
                "name": failure.name,
                "met": met,
            }
            entry["also"] = [act.text if act.path else TOKEN.split(act.text)[0] for act in failure.fix]
            truth.append(entry)
    return truth


def main() -> None:
    """Write transcripts from the command line and print the truth as JSON."""
    parser = argparse.ArgumentParser(description="Write made-up transcripts of coding-agent sessions.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--root", required=True)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--failures", type=int, default=200)
    given = parser.parse_args()
    truth = write(given.folder, given.root, given.sessions, given.seed, given.failures)
    print(json.dumps(truth, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
