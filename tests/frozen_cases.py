"""The calls whose answers are frozen, by family: each family starts from a folder of its own.

A line is what stands behind `ctxrank`. `both` gives it once for people and once with --json.
"""

import json
from typing import NamedTuple

from freezing import SECRET, TODAY, Case


class Family(NamedTuple):
    """Calls made one after the other, from a copy of the folder that `start` names."""

    start: str
    cases: list[Case]


def once(*lines: str) -> list[Case]:
    """Each line as it stands."""
    return [Case(line) for line in lines]


def both(*lines: str) -> list[Case]:
    """Each line as it stands, then in JSON."""
    return [Case(f"{flag}{line}") for line in lines for flag in ("", "--json ")]


def in_words(*lines: str) -> list[Case]:
    """Each block as Markdown and in lines; none of them is recorded as delivered."""
    return [Case(f"{line} --no-mark --format {name}") for line in lines for name in ("markdown", "compact")]


def in_all_formats(*lines: str) -> list[Case]:
    """Each block as Markdown, in lines, and as JSON; none of them is recorded as delivered."""
    formats = ("markdown", "compact", "json")
    return [Case(f"{line} --no-mark --format {name}") for line in lines for name in formats]


LOCKED = """\
Traceback (most recent call last):
  File "/srv/shop/queue/claim.py", line 41, in claim
    connection.execute("UPDATE jobs SET owner = ? WHERE id = ?", (me, job))
sqlite3.OperationalError: database is locked
"""
UNDEFINED = """\
TypeError: Cannot read properties of undefined (reading 'accessToken')
    at SessionClient.get (client.ts:41:18)
"""
UNKNOWN = "ZeroDivisionError: division by zero\n"
PYTEST = """\
FAILED tests/test_metrics.py::test_unknown_kind - KeyError: ('retries', (('kind', 'send_newsletter'),))
1 failed, 41 passed in 2.31s
"""
SKILLS = json.dumps(
    {
        "developer": {
            "lint-check": "mandatory",
            "codebase-analysis": "optional",
            "api-contract-validation": "optional",
        },
        "qa_expert": {"test-coverage": "mandatory", "pattern-miner": "optional"},
        "tech_lead": {"security-scan": "mandatory", "lint-check": "mandatory", "api-contract-validation": "disabled"},
    }
)

S10, S11 = "--session shop-2026-10", "--session shop-2026-11"
DEVELOPER = f"assemble {S10} --agent developer --group AUTH"
AS_OF = f"--as-of {TODAY}"

PLACE = Family(
    "shop",
    [
        *both("status", "drifted"),
        *once(
            "", "--version", "-h", "-v status", "-q search databse", "serch x", "--colour search x", "search -h --json"
        ),
        *both("trust .", "trust .ctxrank/ctxrank.db", "trust nowhere"),
        *both("--root artifacts search retry -n 1", "--db nowhere/ctxrank.db status", "--root nowhere index"),
        Case("status", folder="artifacts/shop-2026-10"),
        Case("search retry -n 1", env={"CTXRANK_DB": ".ctxrank/ctxrank.db"}),
        Case("search retry -n 1", env={"CTXRANK_FTS5": "off"}),
        Case("--json search retry -n 1", env={"CTXRANK_FTS5": "off"}),
        Case("status", env={"CTXRANK_BUSY_TIMEOUT_MS": "soon"}),
        Case("status", env={"CTXRANK_REDACTION_MODE": "strong"}),
        Case("status", files={".ctxrank/config.yaml": "fts5: off\nretreival_limits: {developer: 9}\n"}),
        Case("--json status", files={".ctxrank/config.yaml": "ranking: {k1: much}\n"}),
        Case("status", files={".ctxrank/config.yaml": None, "bazinga/skills_config.json": '{"enable_fts5": false}'}),
    ],
)

NO_STORE = Family(
    "empty",
    [
        *both("status", "search x", "doctor", "rebuild", "export", "why package:1", "context TASK-042", "check"),
        *both("show 1", "package list", "session list", "assemble --session S --agent developer", "receipt list"),
        *once("assemble --session S --agent developer --strict", "index", "error list", "purge --list"),
        *both("init"),
        *once("init deeper", "init deeper/still", "--db deeper/.ctxrank/ctxrank.db status"),
        *both("status", "search x", "session list", "package list", "error list", "strategy list", "receipt list"),
        *both("doctor --repair plan", "index", "export", "assemble --session S --agent developer"),
        Case("status", files={"torn/ctxrank.db": "not a database at all " * 100}, folder="."),
        *both("--db torn/ctxrank.db status", "--db torn/ctxrank.db search x"),
        *both("--db torn/ctxrank.db assemble --session S --agent developer"),
        *once("init torn/ctxrank.db"),
    ],
)

SEARCH = Family(
    "shop",
    [
        *both(
            "search why is the database locked",
            "search databse",
            "search dtabseee",
            'search "\\"grace window\\" -password"',
        ),
        *both(
            "search retr* -n 2",
            "search title:retry",
            "search kind:error locked",
            "search group:AUTH since:2026-10-06 token",
        ),
        *both("search token --kind reasoning", "search token --kind package --kind strategy", "search x --kind poem"),
        *both("search retry --session shop-2026-10", "search retry --session nope", "search token --group AUTH"),
        *both("search webhook --agent investigator", "search queue --type decisions", "search queue --type research"),
        *both("search counters --phase pivot", "search token --priority critical", "search token --priority urgent"),
        *both("search workers --path 'artifacts/*/queue/*'", "search workers --path '*.py'"),
        *both("search token --since 2026-11-01", "search token --until 2026-10-31", "search token --since 2w"),
        *both(
            "search x --since tomorrow", "search token refresh --passages -n 4", "search token refresh --explain -n 2"
        ),
        *both("search token refresh --facets -n 1", "search kind:error --facets -n 1"),
        *both("search MetricsBuffer.increment", "search getAccessToken", "search ''", "search '***'", "search -- -x"),
        *both("search", "search x -n 0", "search x -n many", "search x --frm y", "search 'a AND (b'"),
        *both("search Passkeys que se pierden", "search ключ", "search 消息队列"),
        Case("search -n 1 -", stdin="database\nis locked"),
        Case("--json search -", stdin=""),
        *both(
            "search 'retry -queue' --plain -n 2",
            "search '\"retry backoff queue\"' --syntax",
            "search x --plain --syntax",
        ),
        *both("search '\"locked the database is\"' -n 2", "search 'retry(\"queue\", -1)' -n 2", "search 'x kind:poem'"),
        *both(
            "search 'token -kind:package' -n 3", "search token --kind error --path 'artifacts/*' --path 'notes/*' -n 2"
        ),
        Case("search - -n 2 --syntax", stdin='"database is" -nothing'),
        *both("search retry -n 3 --format compact", "search 'kind:package' -n 1"),
        *once("search 'per minute replay' -n 2 --format jsonl", "search retry -n 1 --format json"),
        *once("search retry -n 3 --format compact --all", "search nothing_of_this_zzyzx --format jsonl"),
    ],
)

SHOW = Family(
    "shop",
    [
        *both("show 7", "show package:7 --depth meta", "show package:7 --depth summary", "show package:8 --depth full"),
        *both("show package:9 --related --depth meta", "show error:1 --related --depth meta"),
        *both("show reasoning:1", "show error:1", "show strategy:1", "show artifact:1", "show package:3"),
        *both(
            "show package:999",
            "show thing:1",
            "show seven",
            "show",
            "show 7 --depth deep",
            "show linked:1",
            "show skill:1",
        ),
    ],
)

PACKAGE = Family(
    "shop",
    [
        *both(
            "package list", "package list -n 2", f"package list {S11} --group AUTH-2", "package list --type failures"
        ),
        *both("package list --priority critical", "package list --superseded -n 30", "package list --session nope"),
        *both("package list --type poem", "package list --priority urgent", "package list -n 0"),
        *both("package show 9", "package show package:3", "package show 999", "package show error:1", "package"),
        Case(
            f"package save notes/locks.md {S10} --group QUEUE --type research --producer investigator --priority high"
            " --summary 'The WAL switch ignores the busy timeout' --consumer developer --consumer QA-Expert",
            files={"notes/locks.md": "# Locks\n\nThe switch to WAL ignores the busy timeout.\n"},
        ),
        Case(
            f"--json package save notes/locks.md {S10} --group QUEUE --type research --producer investigator"
            " --summary 'The WAL switch ignores the busy timeout, still'",
            files={"notes/locks.md": "# Locks\n\nThe switch to WAL ignores the busy timeout. Still so.\n"},
        ),
        Case(
            f"--json package save notes/secret.md {S10} --group NEW --type decisions --producer tech_lead"
            " --scope global"
            f" --summary 'The token is {SECRET}'",
            files={"notes/secret.md": f"token: {SECRET}\n"},
        ),
        *both("package show 18", "package show 19"),
        *once(
            "package save notes/locks.md --session fresh --type handoff --producer developer --summary Hand-over",
            "package save notes/locks.md --session fresh --create-session --type handoff --producer"
            " developer --summary Hand-over",
            f"package save notes/nothing.md {S10} --type handoff --producer developer --summary Missing",
            f"package save /etc/hostname {S10} --type handoff --producer developer --summary Outside",
            f"package save notes/locks.md {S10} --type poem --producer developer --summary Poem",
            f"--json package save notes/locks.md {S10} --type handoff --producer someone --summary Whose",
            f"package save notes/locks.md {S10} --type handoff --producer developer --priority urgent --summary Urgent",
            f"package save notes/locks.md {S10} --type handoff --producer developer",
            f"package save notes/locks.md {S10} --group global --type handoff --producer developer --summary Wide",
        ),
        Case(f"package save - {S10} --type runbook --producer code-reviewer --summary Restart", stdin="Restart it."),
        Case(
            f"--json package save - --title 'How to restart' {S10} --type runbook --producer code-reviewer"
            " --summary Restart --consumer sre",
            stdin="# Restart\n\nStop the okapi, then start it.\n",
        ),
        Case(
            f"package save - --title 'How to restart' {S10} --type handoff --producer developer --summary Again",
            stdin="Start the okapi.\n",
        ),
        Case(f"package save - --title Empty {S10} --type handoff --producer developer --summary None", stdin=""),
        *once(
            f"package save notes {S10} --type handoff --producer developer --summary Folder",
            f"package save notes/locks.md {S10} --type handoff --producer developer --summary ' '",
        ),
        *both("search okapi", "package show 21", "package show 22"),
        *both("package supersede 12 --by 17", "package supersede 12 --by 12", "package supersede 12 --by 999"),
        *both("package supersede 1 --by 17", "package supersede 12", "search passkeys -n 3"),
        *both("package consume 2 --agent developer", "package consume 2 --agent developer --iteration 1"),
        *both(
            "package consume 1 --agent qa_expert",
            "package consume 1 --agent tester",
            "package consume 999 --agent developer",
        ),
        *both("package consume 2 --agent developer --iteration -1", "package show 2"),
    ],
)

SAVE_AND_LIST = Family(
    "shop",
    [
        Case("--json save notes/locks.md", files={"notes/locks.md": "# Why it locks\n\nThe switch is late.\n"}),
        *once(
            f"save 'We decided on one writer.' {S10} --group QUEUE --agent tech_lead --priority high --durable",
            "save 'Ask the lock first' --type handoff --summary 'The lock'",
            "save nofile.md",
            "save artifacts",
            "list",
            "list poems",
            f"list packages {S10} --group QUEUE --type decisions --priority high --superseded -n 1",
            "list errors --project shop --lang python --state confirmed --expired",
            "list strategies --framework flask --topic general --full",
            f"list reasoning {S10} --agent developer --phase completion",
            "list sessions --priority high",
            "list groups",
            f"list skills {S10} --skill lint-check",
            "list injections",
            "show session:shop-2026-10",
            "show receipt:1",
            "find x",
            "config",
        ),
        Case("--json list sessions -n 1"),
        Case("save", stdin="## Hand-off\n\nThe queue is next.\n"),
    ],
)

REASONING = Family(
    "shop",
    [
        *both(f"reasoning get {S10}", f"reasoning get {S10} --group AUTH --agent developer --phase approach"),
        Case(f"reasoning get {S11} -n 2 --format markdown"),
        *both(f"reasoning get {S11} -n 1 --full", "reasoning get --session nope", f"reasoning get {S10} --phase mood"),
        *both(f"reasoning timeline {S10}", f"reasoning timeline {S11} --group QUEUE --full", "reasoning timeline"),
        *both(
            f"reasoning check {S10} --group AUTH --agent developer", "reasoning check --session nope --agent developer"
        ),
        *once(
            f"reasoning save {S10} --group AUTH --agent developer --phase completion --confidence high --iteration 1"
            " --reference client.ts --reference TASK-7 --agent-name dev-2 'Tokens refresh once: a lock"
            " guards the call'",
            f"--json reasoning save {S10} --agent tech_lead --phase decisions --content 'One lock for all tabs'",
            f"reasoning save {S10} --agent tech_lead --phase decisions -- '-1 is no answer'",
            f"reasoning save {S10} --agent someone --phase risks 'Whose is it?'",
            f"reasoning save {S10} --agent developer --phase mood 'Fine'",
            f"reasoning save {S10} --agent developer --phase risks",
            f"reasoning save {S10} --agent developer --phase risks Twice --content twice",
            f"reasoning save {S10} --agent developer --phase risks --confidence total Sure",
            "reasoning save --session fresh --agent developer --phase risks Fresh",
            "--json reasoning save --session fresh --create-session --agent developer --phase risks Fresh",
        ),
        Case(f"reasoning save {S10} --agent developer --phase pivot -", stdin=f"The token {SECRET} has leaked.\n"),
        Case(
            f"--json reasoning save {S10} --group CHECKOUT --agent qa_expert --phase blockers"
            " --content-file thought.txt",
            files={"thought.txt": "No network in the simulator.\n"},
        ),
        Case(f"reasoning save {S10} --agent developer --phase pivot --content-file gone.txt"),
        *both(f"reasoning check {S10} --group AUTH --agent developer", f"reasoning get {S10} -n 3"),
        *both(f"reasoning handoffs {S10}"),
        Case(DEVELOPER),
        *both(f"reasoning handoffs {S10} -n 2", "reasoning handoffs --session nope"),
    ],
)

STRATEGY = Family(
    "shop",
    [
        *both("strategy list", "strategy list --project shop --lang python --topic methodology --full -n 1"),
        *both("strategy list --framework django", "strategy list --project nope", "strategy list --topic luck"),
        *once(
            "strategy save --project shop --topic methodology --lang python --framework django 'Write the"
            " failing test first'",
            "--json strategy save --project shop --topic methodology --lang python --framework django"
            " 'Write the failing test first'",
            "strategy save --topic general --insight 'Measure before'",
            "strategy save --topic luck 'Try again'",
            "strategy save 'No topic'",
            "--json strategy save --topic general",
        ),
        Case("--json strategy save --topic architecture -", stdin=f"Keep {SECRET} out of the code.\n"),
        *both(
            "strategy helpful strategy:1",
            "strategy helpful 2 --by 3",
            "strategy helpful 2 --by -9",
            "strategy helpful 99",
        ),
        Case(f"reasoning save {S10} --group AUTH --agent developer --phase completion 'One lock for both tabs.'"),
        *both("strategy helpful package:1", f"strategy extract {S10} --group AUTH --lang python --framework flask"),
        *both(f"strategy extract {S11} --project other", "strategy extract --session nope"),
        *both("strategy list --full"),
    ],
)

ERROR = Family(
    "shop",
    [
        *both("error list", "error list --project shop --lang python --state sighted -n 1", "error list --state lost"),
        *both(
            "error list --expired", "error list --project nope", "error show 1", "error show error:2", "error show 99"
        ),
        *(
            Case(f"{flag}error match", stdin=text)
            for text in (LOCKED, UNDEFINED, UNKNOWN, "")
            for flag in ("", "--json ")
        ),
        *(
            Case(f"{flag}error match --project shop", stdin=text)
            for text in (LOCKED, UNDEFINED, PYTEST, UNKNOWN, "fine\n")
            for flag in ("", "--json ")
        ),
        Case("error match out.log --project shop --lang python -n 1", files={"out.log": LOCKED}),
        Case("--json error match out.log --project shop --lang go"),
        Case("--json error match out.log --project shop --units"),
        *both("error match --project shop --type KeyError --message \"('retries', (('kind', 'send_newsletter'),))\""),
        *both(
            "error match gone.log",
            "error match out.log --message x",
            "error match --type KeyError",
            "error match -n 13 out.log",
        ),
        Case(f"error match out.log {S10} --group QUEUE"),
        Case(f"--json error match out.log {S10} --group QUEUE"),
        Case("error match out.log --session fresh"),
        Case("--json error match out.log --session fresh --create-session --group -"),
        *once(
            "error save out.log --solution 'Use BEGIN IMMEDIATE.' --project shop --lang python",
            "--json error save out.log --solution 'Short.' --project shop --replace",
            "error save --type ZeroDivisionError --message 'division by zero' --solution 'Ask for zero"
            " first.' --hint ratio.py --hint 3.12",
            f"--json error save --type ValueError --message 'token {SECRET}' --solution 'Take {SECRET} out.' {S11}",
            "error save out.log",
            "error save gone.log --solution x",
            "--json error save out.log --message x --solution x",
        ),
        Case("--json error save --solution 'Nothing failed.'", stdin="all is well\n"),
        Case("error match", stdin=UNKNOWN),
        *both("error show 4", "error show 5"),
        *both(
            "error confirm 1", f"error confirm error:1 {S10}", "error confirm 99", "error refute 3", "error refute 3"
        ),
        *both(
            "error refute package:1",
            "error list --state confirmed",
            "error list --state refuted",
            "error show 1",
            "error show 3",
        ),
        *both("prune --expired --kind error --dry-run", "error prune --dry-run", "error"),
    ],
)

ERROR_RUN = Family(
    "shop",
    [
        Case(
            f"error run {S10} --group QUEUE -- sh check.sh",
            files={"check.sh": f"cat <<'END' >&2\n{LOCKED}END\necho checked\nexit 3\n"},
        ),
        Case("--json error list"),
        Case(f"error run {S10} --group QUEUE -- sh check.sh", files={"check.sh": "echo well\n"}),
        *both("error list", "error show 1"),
        Case("error run --project default --lang python -- sh -c 'echo out; echo err >&2; exit 1'"),
        Case("error run -- sh -c 'echo well'"),
        Case("error run -- no-such-command"),
        Case("error run -- ./check.sh"),
        Case("error run --session fresh -- true"),
        Case("error run --session fresh --create-session -- false"),
        Case("error run"),
        Case("--json error run -- sh -c 'exit 2'"),
        *both(f"receipt list {S10}", "session show fresh"),
    ],
)

ERRORS_EXPIRED = Family(
    "predecessor",
    [
        *once("init", "import bazinga bazinga/bazinga.db"),
        *both(
            "error list",
            "error list --expired",
            "prune --expired --kind error --dry-run",
            "prune --expired --kind error",
            "error list --expired",
        ),
        *both("prune --expired --dry-run"),
    ],
)

SKILL = Family(
    "shop",
    [
        *both("skill checklist --agent developer", "skill checklist --agent nobody"),
        Case("skill seed", files={"bazinga/skills_config.json": SKILLS}),
        Case("--json skill seed bazinga/skills_config.json --session shop-2026-10"),
        Case("skill seed broken.json", files={"broken.json": '{"developer": {"lint-check": "sometimes"}}'}),
        Case("--json skill seed torn.json", files={"torn.json": "{"}),
        *once("skill seed gone.json", "skill seed --session nope"),
        *both("skill checklist --agent developer", f"skill checklist --agent qa_expert {S10} --testing-mode minimal"),
        *both(
            "skill checklist --agent tech_lead --testing-mode disabled",
            "skill checklist --agent developer --session nope",
        ),
        *both("skill checklist --agent developer --testing-mode loud"),
        *both(
            "skill suggest --agent developer add a users endpoint",
            f"skill suggest --agent qa_expert {S10} find patterns in the tests",
        ),
        Case("skill suggest --agent developer -", stdin="understand the codebase first\n"),
        *both("skill suggest --agent developer paint it blue", "skill suggest --agent developer"),
        *both(f"skill latest lint-check {S10}", f"skill evidence {S10} --agent developer"),
        *once(
            f"skill save-output lint-check '{{\"errors\": 0}}' {S10} --agent developer --group AUTH",
            f'--json skill save-output lint-check \'{{"errors": 2, "token": "{SECRET}"}}\' {S10} --agent developer',
            f"skill save-output lint-check '{{' {S10}",
            "skill save-output lint-check '[]' --session fresh",
            "--json skill save-output lint-check '[]' --session fresh --create-session",
        ),
        Case(f"skill save-output test-coverage {S10} --agent qa_expert", stdin='{"coverage": 81.5}'),
        Case(f"--json skill save-output test-coverage - {S10}", stdin='"fine"'),
        *both(f"skill latest lint-check {S10}", f"skill latest lint-check {S10} --agent developer --group AUTH"),
        *both(
            f"skill latest nothing {S10}",
            f"skill outputs {S10}",
            f"skill outputs lint-check {S10} --agent developer --group AUTH -n 1",
        ),
        *both("skill outputs --session nope", f"skill evidence {S10} --agent developer --group AUTH --since 30m"),
        *both(
            f"skill evidence {S10} --agent developer --iteration 2",
            f"skill evidence {S10} --agent qa_expert --testing-mode minimal",
        ),
        *both(
            f"skill evidence {S10} --agent developer --skill lint-check --skill pattern-miner", f"skill evidence {S10}"
        ),
        *both(f"skill evidence {S10} --agent developer --since never"),
        *both("show skill:1", "search errors --kind skill"),
    ],
)

SESSION_AND_GROUP = Family(
    "shop",
    [
        *both(
            "session list",
            "session list -n 1",
            "session show shop-2026-10",
            "session show shop-2026-10 --records",
            "session show nope",
            "session show",
            "session",
        ),
        *once(
            "session create shop-2026-12 --project shop --mode parallel --requirements 'Open in France'"
            " --branch france",
            "--json session create plain",
            "--json session create plain",
            "session create shop-2026-12",
            "session create odd --mode sideways",
            "session create ''",
            "session create",
        ),
        *both(
            "session show shop-2026-12", "group list --session shop-2026-10", "group list --session nope", "group list"
        ),
        *once(
            "group create FRANCE --session shop-2026-12 --title 'Open in France' --status in_progress",
            f"--json group create DEPLOY {S11} --reference 12 --reference package:17",
            f"group create DEPLOY {S11}",
            f"group create global {S11}",
            f"group create LOST {S11} --reference 999",
            "group create X --session fresh",
            "--json group create X --session fresh --create-session",
        ),
        *both(f"group list {S11}", "group list --session plain"),
        *in_all_formats(f"assemble {S11} --agent developer --group DEPLOY {AS_OF}"),
        *once(
            "group status FRANCE merging --session shop-2026-12",
            f"--json group status DEPLOY in_progress {S11}",
            f"group status DEPLOY sleeping {S11}",
            f"group status NOWHERE completed {S11}",
            "group status FRANCE",
            "session end plain",
            "--json session end shop-2026-11 --status failed",
            "session end plain --status completed",
            "session end plain --status paused",
            "session end nope",
        ),
        *both("session list", "session show plain", f"group list {S11}"),
        *in_all_formats(f"assemble {S11} --agent developer --group DEPLOY {AS_OF}"),
    ],
)

INDEX = Family(
    "shop",
    [
        *both("index --dry-run", "index"),
        Case(
            "index --dry-run",
            files={
                "docs/plan.md": "# Plan\n\nFirst the walls, then the roof.\n",
                "docs/.ctxrankignore": "*.tmp\n",
                "docs/scratch.tmp": "nothing\n",
                "artifacts/shop-2026-10/queue/replay_jobs.py": None,
                "artifacts/shop-2026-11/conventions.md": "# Conventions\n\nTabs.\n",
            },
        ),
        *both(
            "index docs",
            "index artifacts/shop-2026-10 artifacts/shop-2026-11/conventions.md",
            "index nowhere",
            "index ..",
        ),
        Case(
            "--json index",
            files={"docs/blueprint.md": "# Plan\n\nFirst the walls, then the roof.\n", "docs/plan.md": None},
        ),
        Case("index -v", files={"docs/zero.bin": "\0\0\0", "docs/empty.md": "", "docs/secret.md": f"key {SECRET}\n"}),
        Case("--json index"),
        *both("status", "search walls", "search key", "show artifact:1 --depth summary"),
        *once("index --watch --dry-run"),
        Case("search towers", files={"docs/blueprint.md": "# Plan\n\nFirst the towers.\n"}),
        *both("search towers -n 1", "search -n 1 --fresh towers", "search -n 1 towers"),
    ],
)

# Of no cluster, and of one that is away: tests/extensions/opensearch/cluster has a node to ask.
WIDE = Family(
    "shop",
    [
        *both("wide status", "wide sync", "wide sync --forget"),
        Case("wide sync --rebuild", env={"CTXRANK_WIDE": "http://127.0.0.1:1"}),
        Case("status", env={"CTXRANK_WIDE": "https://ctxrank@127.0.0.1:1"}),
        Case("search database -n 1", env={"CTXRANK_WIDE": "http://127.0.0.1:1", "CTXRANK_ENGINE": "opensearch"}),
        Case("search database -n 1", files={".ctxrank/config.yaml": "wide: {urls: ['http://127.0.0.1:1']}\n"}),
        Case("status", env={"CTXRANK_WIDE": "http://127.0.0.1:1"}),
    ],
)

# Of a store that shares no log: tests/extensions/team has a log to ask.
TEAM = Family(
    "shop",
    [
        *both("team", "team status", "team sync", "team sync --follow", "team leave", "team status --unconfirmed"),
        *once(
            "team init shop --machine anna",
            "team join shop --snapshot shop.snapshot",
            "team snapshot shop.snapshot",
            f"package save notes/locks.md {S10} --type handoff --producer developer --summary Kept --durable",
            f"reasoning save {S10} --agent developer --phase risks --durable Kept",
            "strategy save --topic general --durable Kept",
            f"skill save-output lint-check '{{}}' {S10} --durable",
        ),
        Case("error save --solution Kept --durable", stdin=UNKNOWN),
        Case("search database", files={".ctxrank/config.yaml": "team: host=log.example\n"}),
        Case("status", env={"XDG_CONFIG_HOME": "notes"}, files={"notes/ctxrank/config.yaml": "team: password=x\n"}),
        Case("team join shop", env={"CTXRANK_TEAM": "host=log.example sslmode=require"}),
        Case("team join shop", env={"CTXRANK_TEAM": "no connection string"}),
    ],
)

_OTHERS = "--db other/.ctxrank/ctxrank.db origins"
_SHOP = "000000000000000000006b0036400000"
EXCHANGE = Family(
    "shop",
    [
        *once("export", "--json export --session shop-2026-11 --kind reasoning", "export --kind error --kind strategy"),
        *both(
            "export --kind poem",
            "export --session nope",
            "export -o all.jsonl",
            "export -o all.jsonl",
            "export -o all.jsonl --force",
        ),
        *once("export -o nowhere/all.jsonl"),
        Case("init other", files={"other/notes.md": ""}),
        *both("--db other/.ctxrank/ctxrank.db import jsonl all.jsonl"),
        *both(
            "origins",
            "--db other/.ctxrank/ctxrank.db origins",
            f"{_OTHERS} pending",
            f"{_OTHERS} removed",
            f"{_OTHERS} undo 7",
        ),
        *both(f"{_OTHERS} agree", f"{_OTHERS} agree 1", f"{_OTHERS} revoke {_SHOP} shop"),
        *both(f"{_OTHERS} accept", f"{_OTHERS} list x", f"{_OTHERS} accept ffffffff", f"{_OTHERS} doubt"),
        *both("--db other/.ctxrank/ctxrank.db status", "--db other/.ctxrank/ctxrank.db search database is locked -n 2"),
        *once(
            f"{_OTHERS} accept {_SHOP} shop",
            "--db other/.ctxrank/ctxrank.db search database is locked -n 1",
            "--db other/.ctxrank/ctxrank.db --json search database is locked -n 1",
            f"--json {_OTHERS} revoke {_SHOP}",
            f"{_OTHERS} refuse {_SHOP}",
            "--db other/.ctxrank/ctxrank.db import jsonl all.jsonl --accept",
        ),
        *both(
            "--db other/.ctxrank/ctxrank.db package list -n 3",
            "import jsonl all.jsonl",
            "import jsonl gone.jsonl",
            "import",
        ),
        Case("import jsonl -", stdin=""),
        Case("import jsonl torn.jsonl", files={"torn.jsonl": '{"format": "ctxrank", "version": 99}\n'}),
        Case("--json import jsonl -", stdin='{"kind": "session"}\nnot json\n'),
        *once("export --session shop-2026-11 --kind event -o part.jsonl"),
        *once(
            "export --since 36", "export --all-origins --kind error", "import jsonl all.jsonl --from-origin 9f3c27ab"
        ),
        *once(
            "purge --path artifacts/shop-2026-10/queue",
            "export --since 39 -o orders.jsonl",
            "--db other/.ctxrank/ctxrank.db --json import jsonl orders.jsonl --accept",
            "--db other/.ctxrank/ctxrank.db status",
            "--db other/.ctxrank/ctxrank.db --json status",
        ),
        *both(f"{_OTHERS} pending", f"{_OTHERS} decline 1", f"{_OTHERS} agree all", f"{_OTHERS} removed"),
    ],
)

PRUNE = Family(
    "shop",
    [
        *both(
            "prune",
            "prune --older-than 30d --dry-run",
            "prune --older-than 2026-10-10 --dry-run --kind package --kind reasoning",
        ),
        *both(
            "prune --older-than 1d --session shop-2026-11 --dry-run",
            "prune --older-than soon",
            "prune --older-than 30d --kind poem",
        ),
        *both("prune --older-than 30d --session nope", "prune --expired --dry-run"),
        Case("prune --expired --dry-run", files={".ctxrank/config.yaml": "ttl: {package: 20d, reasoning: never}\n"}),
        Case("--json prune --expired"),
        Case("prune --older-than 30d --expired"),
        Case("--json prune --older-than 1s"),
        *both("status", "package list", "session list", "search token"),
    ],
)

PURGE = Family(
    "shop",
    [
        *both(
            "purge", "purge --list", "purge package:7 --dry-run", "purge --path artifacts/shop-2026-10/queue --dry-run"
        ),
        *both(
            "purge --session shop-2026-11 --dry-run",
            "purge package:999",
            "purge poem:1",
            "purge --session nope",
            "purge 7 --session x",
        ),
        Case("--json purge --secret - --dry-run", stdin="active_discounts\nnowhere-to-be-found\n"),
        Case("purge --secret secrets.txt", files={"secrets.txt": "active_discounts\n"}),
        Case("purge --secret gone.txt"),
        *once("purge --origin 9f3c27ab"),
        Case("--json purge --secret -", stdin=""),
        *once(
            "purge package:7",
            "--json purge reasoning:1",
            "purge --path artifacts/shop-2026-10/queue",
            "--json purge --session shop-2026-11",
        ),
        *both("purge --list", "search database is locked", "index", "package list", "search discounts"),
        *both(
            "purge --allow 1",
            "purge --allow 99",
            "purge --redact --dry-run",
            "purge --redact",
            "purge --backups",
            "purge",
        ),
        *both("purge --list", "status"),
    ],
)

_MARKED = (
    f"{DEVELOPER} --task 'fix the token refresh' {AS_OF}",
    f"{DEVELOPER} --task 'fix the token refresh' {AS_OF}",
    f"{DEVELOPER} --task 'fix the token refresh' --iteration 1 {AS_OF} --format compact",
    f"assemble {S11} --agent qa_expert --group AUTH --task 'sign out everywhere' {AS_OF} --format json",
    f"assemble {S11} --agent tech_lead --budget 300 {AS_OF}",
)
RECEIPTS = Family(
    "shop",
    [
        *both("receipt list", "why package:2", "receipt"),
        *once(*_MARKED),
        *both(
            "receipt list",
            "receipt list -n 2",
            f"receipt list {S11} --group AUTH --agent qa_expert",
            "receipt list --session nope",
        ),
        *both("receipt list --agent nobody", "receipt show 1", "receipt show 4", "receipt show 99", "receipt show one"),
        *both(
            "receipt replay 1",
            "receipt replay 2 --text",
            "receipt replay 99",
            "receipt diff 1 2",
            "receipt diff 1 4",
            "receipt diff 1 1",
        ),
        *both(
            "receipt diff 1 99",
            "receipt diff 1",
            f"why package:2 {S10}",
            "why package:2 --receipt 1",
            "why package:17 --receipt 1",
        ),
        *both(
            "why package:7 --receipt 1",
            f"why package:11 {S11} --group AUTH --agent qa_expert",
            "why reasoning:1 --receipt 1",
        ),
        *both(
            "why error:3 --receipt 1",
            "why strategy:1 --receipt 1",
            "why package:999",
            "why package:2 --receipt 99",
            "why poem",
        ),
        *both("why artifact:1 --receipt 1", "why package:2 --session nope", "why package:1 --receipt 5"),
        Case(
            f"package save artifacts/shop-2026-10/auth/new.md {S10} --group AUTH --type failures --producer qa_expert"
            " --priority critical --summary 'The token refresh fails behind a proxy'",
            files={"artifacts/shop-2026-10/auth/new.md": "The token refresh fails behind a proxy.\n"},
        ),
        *both("receipt replay 1", "receipt replay 1 --text"),
        *once("purge package:2"),
        *both("receipt replay 1", "receipt show 1", "why package:2 --receipt 1"),
    ],
)

CARE = Family(
    "shop",
    [
        *both(
            "status",
            "doctor",
            "doctor --deep",
            "doctor --repair plan",
            "doctor --repair dry-run",
            "doctor --repair apply",
        ),
        *both("doctor --repair magic", "doctor --repair rebuild", "rebuild"),
        Case("doctor", files={".ctxrank/index.db": "not an index"}),
        Case("--json doctor --repair plan"),
        Case("doctor --repair dry-run"),
        Case("--json doctor --repair apply"),
        Case("doctor --deep"),
        Case("search retry -n 1", files={".ctxrank/index.db": None}),
        Case("status", files={".ctxrank/index.db": "not an index"}),
        Case("--json doctor --repair rebuild"),
        *both("doctor --repair --plan", "doctor --repair --magic", "doctor --repair optimize"),
        Case("session create late", locked=".ctxrank/ctxrank.db", env={"CTXRANK_BUSY_TIMEOUT_MS": "20"}),
        Case("--json session create late", locked=".ctxrank/ctxrank.db", env={"CTXRANK_BUSY_TIMEOUT_MS": "20"}),
        Case(f"{DEVELOPER} {AS_OF}", locked=".ctxrank/ctxrank.db"),
        Case(f"{DEVELOPER} {AS_OF} --strict", locked=".ctxrank/ctxrank.db"),
        Case("doctor --repair rebuild", locked=".ctxrank/index.db", env={"CTXRANK_BUSY_TIMEOUT_MS": "20"}),
        Case("search retry", files={".ctxrank/ctxrank.db": "not a database at all" * 100}),
        *both("doctor", "doctor --repair plan", "status", f"{DEVELOPER} {AS_OF}", f"{DEVELOPER} {AS_OF} --strict"),
    ],
)

_BEIR = {
    "beir/corpus.jsonl": "".join(
        json.dumps({"_id": name, "title": "", "text": f"the {name} sleeps"}) + "\n"
        for name in ("walrus", "zebra", "yak")
    ),
    "beir/queries.jsonl": "".join(
        json.dumps({"_id": f"q{number}", "text": text}) + "\n"
        for number, text in enumerate(("walrus", "zebra yak", "unjudged"))
    ),
    "beir/qrels.tsv": "query-id\tcorpus-id\tscore\nq0\twalrus\t1\nq1\tyak\t1\nq0\tyak\t0\n",
}
_ANIMALS = [
    "ant",
    "bee",
    "cat",
    "dog",
    "eel",
    "fox",
    "gnu",
    "hen",
    "ibis",
    "jay",
    "kiwi",
    "lynx",
    "mole",
    "newt",
    "owl",
    "pig",
    "quail",
    "rat",
    "seal",
    "toad",
]
_ZOO = {
    "zoo/corpus.jsonl": "".join(
        json.dumps({"_id": name, "title": name, "text": f"the {name} sleeps near the {other}"}) + "\n"
        for name, other in zip(_ANIMALS, _ANIMALS[5:] + _ANIMALS[:5], strict=True)
    ),
    "zoo/queries.jsonl": "".join(
        json.dumps({"_id": f"q{name}", "text": f"{name} near {other}"}) + "\n"
        for name, other in zip(_ANIMALS, _ANIMALS[3:] + _ANIMALS[:3], strict=True)
    ),
    "zoo/qrels.tsv": "query-id\tcorpus-id\tscore\n" + "".join(f"q{name}\t{name}\t1\n" for name in _ANIMALS),
}
EVAL = Family(
    "empty",
    [
        Case("eval beir", files=_BEIR),
        *once(
            "--json eval beir",
            "eval",
            "eval nowhere",
            "--json eval nowhere",
            "eval --sweep beir",
            "--json eval beir --sweep",
            "eval sweep beir",
        ),
        Case("eval zoo --sweep", files=_ZOO),
        *once("--json eval zoo --sweep --seed 2", "eval nowhere --sweep", "eval --json beir"),
        Case("eval beir", files={"beir/qrels.tsv": "q0\twalrus\tmuch\n"}),
        Case("--json eval beir", files={"beir/qrels.tsv": None}),
    ],
)

LINKED = Family(
    "contextia",
    [
        *(
            Case(f"context {line} --format {name}")
            for line in (
                "TASK-042",
                "TASK-042 --depth meta",
                "TASK-042 --depth summary",
                "TASK-042 --budget 400",
                "TASK-042 --budget 1500",
                "TASK-042 --hops 0",
                "TASK-042 --hops 1",
                "TASK-042 --no-identity --no-search",
                "TASK-043",
                "TASK-043 --budget 1",
            )
            for name in ("compact", "markdown", "json")
        ),
        *both(
            "context TASK-042 --budget 600",
            "context TASK-042 --budget 600 --no-receipt",
            "context task-042",
            "context TASK-999",
            "context SPEC-BILLING-001",
            "context",
            "context ''",
        ),
        *both("context TASK-042 --budget 0", "context TASK-042 --format html"),
        *both(
            "check",
            "check --strict",
            "check --trace src/billing/invoice/generator.py",
            "check --trace src/billing/currency/rates.ts",
        ),
        *both(
            "check --trace src/billing/templates/invoice.html",
            "check --trace src/shop/new.py",
            "check --trace ../outside.py",
            "check --trace",
            "check --trace src/billing",
        ),
        Case("trace generator.py", folder="src/billing/invoice"),
        *both(
            "check --suggest",
            "check --suggest --min 1",
            "suggest-links",
            "check --suggest --min 0",
        ),
        *both(
            "why SPEC-BILLING-001",
            "why SPEC-BILLING-001 --task TASK-042",
            "why NORM-LOGGING-001 --task TASK-042",
            "why DEC-999 --task TASK-042",
        ),
        *both(
            "receipt list",
            "receipt show 1",
            "receipt show 4",
            "receipt replay 1",
            "receipt replay 4 --text",
            "receipt diff 1 4",
        ),
        *both(
            "status", "search currency --kind linked", "search rounding", "show linked:1", "show linked:1 --depth meta"
        ),
        Case("check", files={".contextia/system/norms/broken.md": "---\nid: NORM-BROKEN\ntitle: [\n---\n"}),
        Case("--json check", files={".contextia/config.yaml": "checks: {no-such-check: error}\n"}),
    ],
)
NOT_LINKED = Family(
    "shop",
    [
        *both(
            "context TASK-042",
            "check",
            "check --trace artifacts/x.md",
            "check --suggest",
            f"{DEVELOPER} --task-id TASK-042 {AS_OF} --no-mark",
            f"{DEVELOPER} --budget 900 {AS_OF} --no-receipt",
        ),
    ],
)

ASSEMBLE_AGENTS = Family(
    "shop",
    in_all_formats(
        *(
            f"assemble {session} --agent {agent} --group {group} {AS_OF}{task}"
            for session, agent, group, task in (
                (S10, "developer", "AUTH", ""),
                (S10, "developer", "AUTH", " --task 'fix the token refresh'"),
                (S10, "developer", "QUEUE", " --task 'the database is locked when two workers claim a job'"),
                (S10, "senior_software_engineer", "QUEUE", " --task 'retry failed jobs with backoff'"),
                (S10, "qa_expert", "CHECKOUT", " --task 'the flaky test of the cart'"),
                (S10, "tech_lead", "AUTH", " --task 'decide how refresh tokens rotate'"),
                (S10, "investigator", "QUEUE", ""),
                (S10, "requirements_engineer", "AUTH", " --task 'where to keep the refresh token'"),
                (S10, "project_manager", "-", ""),
                (S10, "orchestrator", "''", ""),
                (S11, "developer", "CHECKOUT", " --task 'pending overwrites paid'"),
                (S11, "developer", "QUEUE", " --task 'KeyError in MetricsBuffer.increment'"),
                (S11, "qa_expert", "AUTH-2", " --task 'the list of devices'"),
                (S11, "tech_lead", "QUEUE", " --task 'review the worker metrics'"),
                (S11, "Tech Lead", "AUTH-2", " --task 'passkeys and a lost phone'"),
                (S11, "stranger", "AUTH", ""),
                (S11, "developer", "NOWHERE", " --task 'paint it blue'"),
            )
        )
    ),
)
_REFRESH = f"{DEVELOPER} --task 'fix the token refresh' {AS_OF}"
ASSEMBLE_SIZES = Family(
    "shop",
    [
        *in_all_formats(
            *(
                f"{_REFRESH} {rest}"
                for rest in (
                    "--budget 0",
                    "--budget 60",
                    "--budget 500",
                    "--budget 1200",
                    "--limit 0",
                    "--limit 1",
                    "--detail summary",
                    "--detail full --budget 8000",
                    "--model unheard-of",
                    "--budget -5",
                    "--limit many",
                )
            )
        ),
        *in_words(
            *(
                f"{_REFRESH} {rest}"
                for rest in (
                    "--budget 200",
                    "--budget 2000 --detail passage",
                    "--budget 20000",
                    "--limit 50",
                    "--model haiku",
                    "--model opus",
                    "--model claude-sonnet-4-5",
                )
            )
        ),
    ],
)
ASSEMBLE_ZONES = Family(
    "shop",
    in_all_formats(
        *(
            f"{DEVELOPER} --task 'fix the token refresh' {AS_OF} {rest}"
            for rest in (
                "--current-tokens 0",
                "--current-tokens 110000",
                "--current-tokens 135000",
                "--current-tokens 150000",
                "--current-tokens 165000",
                "--current-tokens 199000",
                "--current-tokens 400000",
                "--spawns 3",
                "--spawns 8",
                "--spawns 9",
                "--spawns 11",
                "--spawns 40",
                "--current-tokens lots",
                "--spawns 8 --current-tokens 1",
            )
        )
    ),
)
ASSEMBLE_REACH = Family(
    "shop",
    [
        *in_all_formats(
            *(
                f"assemble {S11} --agent developer {AS_OF} {rest}"
                for rest in (
                    "--group AUTH --reach session --task 'grace window'",
                    "--group AUTH --reach project --task 'grace window'",
                    "--group QUEUE --reach project --task 'database is locked' --limit 10",
                    "--group AUTH --reach galaxy",
                    "--reach session",
                    "--group CHECKOUT --iteration 1",
                    "--group CHECKOUT --iteration 3 --task rounding",
                    "--group CHECKOUT --iteration some",
                    "--group QUEUE --no-reasoning",
                    "--group QUEUE --reasoning",
                    "--group QUEUE --reasoning --reasoning-level minimal",
                    "--group QUEUE --reasoning --reasoning-level full",
                    "--group QUEUE --reasoning --reasoning-level loud",
                    "--group QUEUE --lang python --framework flask",
                    "--group QUEUE --project other",
                    "--group QUEUE --lang typescript --task 'accessToken undefined'",
                )
            )
        ),
        *in_all_formats(
            f"assemble {S11} --agent developer --group QUEUE --as-of 2026-10-20 --task 'database is locked'",
            f"assemble {S11} --agent developer --group QUEUE --as-of someday",
            f"assemble {S11} --agent developer --group QUEUE --task one --task-file two",
            "assemble --session nope --agent developer",
        ),
        *both(
            "assemble",
            f"assemble {S11}",
            "assemble --session nope --agent developer --strict",
            f"{DEVELOPER} --format html",
        ),
        *both(f"{DEVELOPER} --strict --no-mark {AS_OF}"),
        *[Case(f"{DEVELOPER} --run a1 --limit 1 --task 'token refresh' {AS_OF}")] * 2,
        Case(f"{DEVELOPER} --no-mark --task -", stdin="fix the\ntoken refresh\n", env={"CTXRANK_NOW": TODAY}),
        Case(f"{DEVELOPER} --no-mark --task-file task.txt {AS_OF}", files={"task.txt": "fix the token refresh\n"}),
        Case(f"{DEVELOPER} --no-mark --task-file gone.txt {AS_OF}"),
        Case(f"{DEVELOPER} --no-mark --no-files {AS_OF} --task 'token refresh'"),
        Case(f"{DEVELOPER} --no-mark {AS_OF}", files={".ctxrank/config.yaml": "enable_context_assembler: off\n"}),
        Case(f"--json {DEVELOPER} --no-mark {AS_OF}"),
        Case(
            f"{DEVELOPER} --no-mark {AS_OF} --task token",
            files={".ctxrank/config.yaml": "fts5: off\nretrieval_limits: {developer: 1}\ntoken_safety_margin: 0.5\n"},
        ),
        Case(f"--json {DEVELOPER} --no-mark {AS_OF} --task token --strict"),
        *(Case(f"{DEVELOPER} --no-mark {AS_OF} --after {one}") for one in ("1", "99999")),
    ],
)
ASSEMBLE_ERRORS = Family(
    "shop",
    [
        *(
            Case(f"{DEVELOPER} --no-mark {AS_OF} --error-file - --format {name}", stdin=text)
            for text in (LOCKED, UNDEFINED, UNKNOWN, PYTEST, "")
            for name in ("markdown", "compact", "json")
        ),
        Case(f"{DEVELOPER} --no-mark {AS_OF} --error-file out.log --lang python", files={"out.log": LOCKED + PYTEST}),
        Case(f"{DEVELOPER} --no-mark {AS_OF} --error-file out.log --project other --format json"),
        Case(f"{DEVELOPER} --no-mark {AS_OF} --error-file gone.log"),
        Case(f"error match out.log {S10} --group AUTH"),
        *in_all_formats(f"{DEVELOPER} {AS_OF}"),
    ],
)
ASSEMBLE_SKILLS = Family(
    "shop",
    [
        *in_all_formats(f"{DEVELOPER} {AS_OF} --skills"),
        Case("skill seed", files={"bazinga/skills_config.json": SKILLS}),
        Case(f"skill seed {S10}"),
        *in_all_formats(
            *(
                f"assemble {S10} --agent {agent} --group AUTH {AS_OF} --skills {rest}"
                for agent, rest in (
                    ("developer", ""),
                    ("developer", "--budget 150"),
                    ("developer", "--task 'add an endpoint for devices'"),
                    ("qa_expert", ""),
                    ("qa_expert", "--testing-mode minimal"),
                    ("tech_lead", "--testing-mode disabled"),
                    ("investigator", ""),
                    ("developer", "--testing-mode loud"),
                    ("developer", "--current-tokens 199000"),
                )
            )
        ),
    ],
)
ASSEMBLE_LINKED = Family(
    "contextia",
    [
        *once(
            "session create billing --project billing",
            "package save notes.md --session billing --group EUR --type research --producer investigator"
            " --summary 'Rates come daily'"
            " --create-session",
        ),
        Case(
            "package save notes.md --session billing --group EUR --type research --producer investigator"
            " --priority high"
            " --summary 'Exchange rates come once a day'",
            files={"notes.md": "# Rates\n\nThe exchange rates come once a day, at four.\n"},
        ),
        *in_all_formats(
            *(
                f"assemble --session billing --agent developer --group EUR {AS_OF} {rest}"
                for rest in (
                    "--task-id TASK-042",
                    "--task-id TASK-042 --task 'round the totals'",
                    "--task-id TASK-042 --budget 700",
                    "--task-id TASK-042 --budget 2500",
                    "--task-id TASK-043",
                    "--task-id TASK-999",
                    "--task-id TASK-042 --detail summary",
                    "--task-id TASK-042 --current-tokens 150000",
                    "--task-id TASK-042 --current-tokens 199000",
                    "--task-id nonsense",
                )
            )
        ),
        *once(f"assemble --session billing --agent developer --group EUR {AS_OF} --task-id TASK-042"),
        *once(f"assemble --session billing --agent qa_expert --group EUR {AS_OF} --task-id TASK-043"),
        *both(
            "receipt list",
            "receipt show 1",
            "receipt replay 1",
            "receipt diff 1 2",
            "why SPEC-BILLING-001",
            "why package:1",
        ),
        *both("check --suggest --min 1"),
    ],
)

IMPORT_BAZINGA = Family(
    "predecessor",
    [
        *once("bazinga --db bazinga/bazinga.db list-sessions", "init"),
        *both(
            "import bazinga bazinga/bazinga.db",
            "import bazinga gone.db",
            "import bazinga .ctxrank/ctxrank.db",
            "import bazinga --salvage .ctxrank/ctxrank.db",
            "import bazinga",
        ),
        Case("--root . --json import bazinga bazinga/bazinga.db"),
        *both(
            "status",
            "package list",
            "session list",
            "session show bazinga_20251201_090000",
            "error list --expired",
            "strategy list",
        ),
        *both("reasoning get --session bazinga_20251201_090000", "group list --session bazinga_20251201_090000"),
        *in_all_formats(f"assemble --session bazinga_20251201_090000 --agent developer --group AUTH {AS_OF}"),
        *once(
            "bazinga list-sessions",
            "bazinga get-context-packages bazinga_20251201_090000 AUTH developer 5",
            "bazinga query 'SELECT * FROM context_packages'",
            "bazinga dashboard-snapshot bazinga_20251201_090000",
        ),
    ],
)

_B = "bazinga --quiet"
_YAML = "57ef71baa67b28595872abcb782f1f374501af38b480d04ceb0786c039e85eb8"  # the pattern that is saved first
S = "bazinga_20261101_090000"
BAZINGA_SESSIONS = Family(
    "bazinga",
    [
        *once(
            "bazinga",
            "bazinga --help",
            "bazinga help",
            "bazinga --script",
            "bazinga no-such-command",
            "bazinga --loud help",
            "bazinga install",
            "bazinga uninstall --dry-run",
        ),
        *once("bazinga detect-paths", "bazinga --db", "bazinga --project-root nowhere get-session S"),
        *once(
            f"bazinga create-session {S} parallel 'Refresh the tokens'",
            f"{_B} create-session {S} parallel 'Refresh the tokens'",
            f"{_B} create-session other simple 'Print invoices' --initial_branch invoices --metadata"
            f' \'{{"project_id": "shop"}}\'',
            f"{_B} create-session third simple 'Loose' --metadata loose",
            f"{_B} create-session bad sideways 'No mode'",
            f"{_B} create-session '' simple x",
            f"{_B} create-session",
            f"bazinga get-session {S}",
            f"{_B} get-session nope",
            "bazinga list-sessions",
            f"{_B} list-sessions 1",
            f"{_B} list-sessions many",
            f"bazinga create-task-group AUTH {S} 'Sign in' pending developer-1 --specializations"
            " '[\"a.md\"]' --item_count 3"
            " --component-path client/ --initial_tier Developer --complexity 4",
            f"{_B} create-task-group AUTH {S} 'Sign in' completed",
            f"{_B} create-task-group AUTH nope 'Sign in'",
            f"{_B} create-task-group AUTH {S} x --complexity 11",
            f"{_B} create-task-group AUTH {S} x --initial_tier Boss",
            f"{_B} create-task-group 'A B' {S} x",
            f"bazinga dashboard-snapshot {S}",
            f"{_B} dashboard-snapshot nope",
            "bazinga update-session-status third failed",
            f"{_B} update-session-status third done",
            f"{_B} update-session-status nope completed",
            "bazinga detect-paths",
            "bazinga --db .ctxrank/ctxrank.db --quiet list-sessions",
            f"{_B} --project-root . list-sessions",
        ),
        Case(f"{_B} detect-paths", env={"BAZINGA_ROOT": "."}),
        Case(f"{_B} --db bazinga/bazinga.db list-sessions"),
    ],
)
BAZINGA_PACKAGES = Family(
    "bazinga session",
    [
        Case(
            f"bazinga save-context-package {S} AUTH research bazinga/artifacts/{S}/a.md investigator"
            ' \'["developer", "qa_expert"]\''
            " high 'Tokens refresh twice'",
            files={f"bazinga/artifacts/{S}/a.md": "# Tokens\n\nThey refresh twice.\n"},
        ),
        Case(
            f"{_B} save-context-package {S} global decisions bazinga/artifacts/{S}/b.md tech_lead"
            " '[\"developer\"]' critical"
            f" 'The token is {SECRET}'",
            files={f"bazinga/artifacts/{S}/b.md": "# Decision\n\nOne lock.\n"},
        ),
        *once(
            f"{_B} save-context-package {S} AUTH handoff bazinga/artifacts/{S}/later.md developer"
            " '[\"tech_lead\"]' low Later",
            f"{_B} save-context-package {S} AUTH research bazinga/artifacts/{S}/a.md investigator"
            " '[\"developer\"]' high Again",
            f"{_B} save-context-package {S} AUTH research ../../etc/passwd investigator '[\"developer\"]' high Out",
            f"{_B} save-context-package {S} AUTH research bazinga/artifacts/{S}/a.md investigator"
            " developer high 'No list'",
            f"{_B} save-context-package nope AUTH research bazinga/artifacts/nope/a.md investigator"
            " '[\"developer\"]' high None",
            f"{_B} save-context-package {S} AUTH",
            f"bazinga get-context-packages {S} AUTH developer 5",
            f"{_B} get-context-packages {S} '' developer",
            f"{_B} get-context-packages {S} global tech_lead",
            f"{_B} get-context-packages nope AUTH developer",
            f"{_B} get-context-packages {S} AUTH developer many",
            "bazinga mark-context-consumed 1 developer",
            f"{_B} mark-context-consumed 1 developer 2",
            f"{_B} mark-context-consumed 1 investigator",
            f"{_B} mark-context-consumed 99 developer",
            f"bazinga update-context-references AUTH {S} '[1, 2]'",
            f"{_B} update-context-references AUTH {S} '[99]'",
            f"{_B} update-context-references NONE {S} '[1]'",
            f"{_B} update-context-references AUTH {S} 1",
            f"bazinga save-consumption {S} AUTH developer 1 2",
            f"{_B} save-consumption {S} AUTH developer 1 99",
            f"{_B} save-consumption {S} AUTH project_manager 1 2",
            f"bazinga get-consumption {S}",
            f"{_B} get-consumption {S} --group_id AUTH --agent_type developer --limit 1",
        ),
    ],
)
BAZINGA_LESSONS = Family(
    "bazinga session",
    [
        *once(
            "bazinga save-error-pattern shop ImportError 'No module named yaml' 'pip install pyyaml' --lang python"
            " --context_hints '[\"tests\"]' --stack_pattern '[\"load\"]'",
            f"{_B} save-error-pattern shop ImportError 'No module named yaml' 'pip install pyyaml'",
            f"{_B} save-error-pattern shop ValueError 'token {SECRET}' 'rotate it'",
            f"{_B} save-error-pattern shop ImportError",
            f"{_B} save-error-pattern shop X y z --context_hints no",
            "bazinga get-error-patterns shop",
            f"{_B} get-error-patterns shop --lang python --min_confidence 0.1 --limit 1",
            f"{_B} get-error-patterns shop --min_confidence lots",
            f"{_B} get-error-patterns nope",
            f"{_B} get-error-patterns shop --min_confidence 0",
        ),
        Case("--json error list"),
        *once(
            f"bazinga update-error-confidence {_YAML} shop success",
            f"{_B} update-error-confidence {_YAML} shop failure",
            f"bazinga update-error-confidence {'0' * 64} shop success",
            f"{_B} update-error-confidence x shop perhaps",
            "bazinga cleanup-error-patterns",
            f"{_B} cleanup-error-patterns shop",
            "bazinga save-strategy shop methodology 'Reproduce it first' --lang python --framework flask"
            " --strategy_id first",
            f"{_B} save-strategy shop luck 'Try again'",
            f"{_B} save-strategy shop methodology 'Reproduce it first' --strategy_id first",
            "bazinga get-strategies shop",
            f"{_B} get-strategies shop --lang python --framework flask --topic methodology --limit 1",
            "bazinga update-strategy-helpfulness first",
            f"{_B} update-strategy-helpfulness first 3",
            f"{_B} update-strategy-helpfulness nope",
            f"{_B} update-strategy-helpfulness first much",
            f"bazinga save-reasoning {S} AUTH developer understanding 'Two tabs refresh' --agent_id dev-1 --iteration 2"
            " --confidence high --references '[\"client.ts\"]'",
            f"{_B} save-reasoning {S} AUTH developer completion 'A lock guards the call, found in a long"
            " afternoon of reading'",
            f"{_B} save-reasoning {S} global QA-Expert risks 'The proxy'",
            f"{_B} save-reasoning {S} AUTH developer mood Fine",
            f"{_B} save-reasoning nope AUTH developer risks x",
            f"{_B} save-reasoning {S} AUTH developer risks",
        ),
        Case(
            f"{_B} save-reasoning {S} AUTH developer approach --content-file thought.txt",
            files={"thought.txt": "One lock.\n"},
        ),
        *once(
            f"bazinga get-reasoning {S}",
            f"{_B} get-reasoning {S} --group_id AUTH --agent_type developer --phase approach --limit 1",
            f"{_B} get-reasoning {S} --format prompt-summary",
            f"{_B} get-reasoning {S} --format poem",
            f"bazinga reasoning-timeline {S}",
            f"{_B} reasoning-timeline {S} --group_id AUTH --format markdown",
            f"bazinga check-mandatory-phases {S} AUTH developer",
            f"{_B} check-mandatory-phases {S} AUTH tech_lead",
            f"{_B} save-reasoning {S} AUTH developer completion 'One lock for both tabs.'",
            f"bazinga extract-strategies {S} AUTH shop --lang python --framework flask",
            f"{_B} extract-strategies nope AUTH shop",
            f"{_B} get-strategies shop",
        ),
    ],
)
BAZINGA_EVENTS = Family(
    "bazinga session",
    [
        *once(
            f"bazinga save-skill-output {S} lint-check '{{\"errors\": 0}}' --agent developer --group AUTH",
            f"{_B} save-skill-output {S} lint-check '{{\"errors\": 1}}'",
            f"{_B} save-skill-output {S} lint-check '{{'",
            f"{_B} save-skill-output nope lint-check '[]'",
            f"bazinga get-skill-output {S} lint-check",
            f"{_B} get-latest-skill-output {S} lint-check --agent developer",
            f"{_B} get-skill-output {S} nothing",
            f"bazinga get-skill-output-all {S} lint-check",
            f"{_B} get-skill-output-all {S} lint-check --agent developer",
            f"bazinga check-skill-evidence {S} lint-check,security-scan --agent developer --since 30",
            f"{_B} check-skill-evidence {S} lint-check",
            f"{_B} check-skill-evidence nope lint-check --since x",
            f"bazinga save-event {S} started '{{\"at\": 1}}' --idempotency-key one --group-id AUTH",
            f"{_B} save-event {S} started '{{\"at\": 1}}' --idempotency-key one",
            f"{_B} save-event {S} note plain",
            f'{_B} save-event {S} leaked \'{{"token": "{SECRET}"}}\'',
            f"{_B} save-event nope note x",
            f"{_B} save-event {S} note",
        ),
        Case(f"{_B} save-event {S} filed --payload-file payload.json", files={"payload.json": '{"from": "a file"}'}),
        Case(f"{_B} save-event {S} filed --payload-file gone.json"),
        *once(
            f"bazinga get-events {S}",
            f"{_B} get-events {S} started --limit 1",
            f"{_B} get-events nope",
            f"{_B} get-events {S} note 1",
            f"bazinga log-tokens {S} developer 1200 dev-1",
            f"{_B} log-tokens {S} qa_expert 300",
            f"{_B} log-tokens {S} developer many",
            f"bazinga token-summary {S}",
            f"{_B} token-summary {S} agent_id",
            f"{_B} token-summary nope",
            f"bazinga dashboard-snapshot {S}",
            "bazinga query 'SELECT session_id, mode FROM sessions'",
            f"{_B} query 'DELETE FROM sessions'",
            f"{_B} query 'SELECT'",
            f"{_B} query 'SELECT log_type, count(*) FROM orchestration_logs GROUP BY 1 ORDER BY 1'",
            f"{_B} query",
            "bazinga integrity-check",
            "bazinga recover-db",
            "bazinga diagnose-group-ids",
            f"{_B} diagnose-group-ids --fix",
            f"{_B} diagnose-group-ids --mend",
        ),
        Case("bazinga recover-db", files={".ctxrank/index.db": "not an index"}),
        Case(f"{_B} integrity-check", files={".ctxrank/ctxrank.db": "not a database" * 100}),
        Case("bazinga recover-db"),
    ],
)
_SHOP_BLOCK = "bazinga context-block --session-id shop-2026-10 --group-id"
CONTEXT_BLOCK = Family(
    "shop",
    [
        *once(
            f"{_SHOP_BLOCK} AUTH --agent-type developer",
            f"{_SHOP_BLOCK} AUTH --agent-type developer --task-title 'Fix the token refresh'"
            " --task-requirements 'One flight'",
            f"{_SHOP_BLOCK} AUTH --agent-type developer --iteration 1 --model opus",
            f"{_SHOP_BLOCK} QUEUE --agent-type senior_software_engineer --model haiku --task-title"
            " 'database is locked'",
            f"{_SHOP_BLOCK} CHECKOUT --agent-type qa_expert --model gigantic",
            f"{_SHOP_BLOCK} QUEUE --agent-type tech_lead --iteration some",
            f"{_SHOP_BLOCK} '' --agent-type investigator --branch main --mode parallel --debug --output-file x",
            f"{_SHOP_BLOCK} AUTH --agent-type requirements_engineer",
            f"{_SHOP_BLOCK} AUTH --agent-type project_manager",
            f"{_SHOP_BLOCK} AUTH --agent-type janitor",
            f"{_SHOP_BLOCK} AUTH",
            "bazinga context-block --agent-type developer --session-id nope",
            "bazinga context-block --help",
            f"{_SHOP_BLOCK} AUTH --agent-type developer --loud",
            "bazinga context-block --db nowhere.db --agent-type developer --session-id S",
            "bazinga context-block --db nowhere.db --allow-no-db --agent-type developer --session-id S",
            f"{_SHOP_BLOCK} AUTH --agent-type developer --project-root . --model sonnet",
        ),
        Case(
            "bazinga context-block --params-file params.json --agent-type developer",
            files={"params.json": '{"session_id": "shop-2026-11", "group_id": "QUEUE", "task_title": "KeyError"}'},
        ),
        Case("bazinga context-block --params-file gone.json"),
        *both("receipt list"),
    ],
)

IDS = Family(
    "shop",
    [
        Case("--json package supersede 11 --by 17"),
        *once("show 12@00000000 --depth meta", "show error:1@00000000-0000 --depth meta"),
        *both("show 12@ffffffff", "show package:12@0000", "error show 1@ffffffff", "why package:1@ffffffff"),
        *both("strategy helpful strategy:1@ffffffff", "purge reasoning:1@ffffffff"),
    ],
)

ABOUT = Family(
    "empty",
    [
        Case("completion tcsh"),
        Case("completion"),
        Case("schema strategy helpful"),
        Case("--json schema error run"),
        Case("schema nonsense"),
        Case("--json schema package nonsense"),
    ],
)


def _event(name: str, **fields: object) -> str:
    return json.dumps({"hook_event_name": name, "session_id": "runner-1", "cwd": ".", **fields})


_HOME = {"HOME": "/no/home", "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}
_LOCKED_AGAIN = "workers crash with 'database is locked' after a deploy, the timeout is 30s"

AGENTS = Family(
    "shop",
    [
        Case("hook", stdin=_event("SessionStart", source="startup")),
        Case("hook --runner claude-code", stdin=_event("UserPromptSubmit", prompt=_LOCKED_AGAIN)),
        Case("--root . hook --runner codex", stdin=_event("UserPromptSubmit", prompt="thanks!")),
        Case(
            "hook",
            stdin=_event(
                "PreToolUse", tool_name="Agent", tool_use_id="u1",
                tool_input={"prompt": "fix the locked database", "subagent_type": "Explore", "description": "look"},
            ),
        ),
        Case("hook", stdin=_event("SubagentStart", agent_type="Explore")),
        Case("--json import transcripts t.jsonl --since 2020-01-01", files={"t.jsonl": '{"message": "no step"}\n'}),
        *once("import transcripts nowhere --runner claude-code --since 7d --dry-run"),
        Case("hook", stdin=_event("PostToolUseFailure", tool_name="Bash", tool_input={"command": "a"}, error=LOCKED)),
        Case("hook", stdin=_event("Stop", last_assistant_message="All of the workers begin with BEGIN IMMEDIATE.")),
        *both("receipt list --hook", "receipt list --hook --session runner-1 -n 1", "receipt list --hook --agent x"),
        *both("search all of them --session runner-1"),
        *[
            Case(f"{line}{more}", env=_HOME)
            for line in ("install claude-code --mcp --dry-run", "--json install codex --dry-run")
            for more in ("", " --user", " --project")
        ],
        Case("install claude-code --user --project"),
        *both("install claude-code --mcp", "install agents-md"),
        *both("uninstall claude-code --dry-run", "uninstall claude-code", "uninstall agents-md --project"),
        Case("uninstall claude-code --user", env=_HOME),
        Case("install --all --dry-run", env=_HOME | {"PATH": "/no/programs"}),
        *both("uninstall --all --dry-run"),
        Case("install copilot-cli --all"),
        Case("install emacs"),
    ],
)  # fmt: skip

FAMILIES = {name.lower(): family for name, family in sorted(globals().items()) if isinstance(family, Family)}
