"""Whatever a store holds and whatever is asked, what a person is shown drives no terminal, and JSON is JSON."""

import contextlib
import io
import json
import shlex
from pathlib import Path

import pytest
from disguises import IGNORABLE
from hostile_store import HOSTILE, SIGN, hidden_in, hostile_store
from tables import each_row

from ctxrank.cli.main import run

# HERE is the session and its group, HOSTILE a hostile text.
_CALLS = """
status
doctor
doctor --deep
doctor --repair plan
doctor --deep --repair dry-run
search token refresh
search walrus --explain
search token --passages
search HOSTILE
show package:1
show package:1 --depth full
show reasoning:1
show error:1
show strategy:1
show skill:1
show linked:1
show artifact:1
show HOSTILE
package list
package show 1
package show HOSTILE
package save HOSTILE HERE --type research --producer developer --summary HOSTILE
package save artifacts/x.md HERE --type HOSTILE --producer HOSTILE --summary HOSTILE
reasoning get HERE
reasoning get HERE --full
reasoning timeline HERE
reasoning handoffs HERE
reasoning check HERE --agent developer
reasoning save HOSTILE HERE --agent developer --phase HOSTILE
strategy list
strategy helpful 1
strategy save HOSTILE --topic HOSTILE
skill outputs HERE
skill latest lint-checkHOSTILE HERE
skill latest lint-check HERE
skill evidence HERE --agent developer
skill suggest run the tests
skill checklist --agent developer
skill seed HOSTILE
error list
error show 1
error match --message 'database is locked'
error match --project shopHOSTILE --type OSError --message 'database is locked'
error save --solution HOSTILE --message HOSTILE
error confirm 1
session list
session show shop-2026-10HOSTILE
session show HOSTILE
session create HOSTILE
group list --session shop-2026-10HOSTILE
receipt list
receipt show 1
receipt show 2
receipt show 3
receipt replay 1
receipt replay 2
receipt diff 2 3
why package:1
why SPEC-CURRENCY-001
why HOSTILE
check
check --trace src/billing/currency/rates.ts
check --trace HOSTILE
context TASK-042
context HOSTILE
check --suggest
assemble HERE --agent developer --task 'token refresh' --task-id TASK-042
assemble HERE --agent developer --format compact --detail full
assemble HERE --agent developer --error-file HOSTILE --task-file HOSTILE --model HOSTILE --as-of HOSTILE
assemble --session HOSTILE --agent HOSTILE
index --dry-run
index HOSTILE
index
prune --older-than HOSTILE
purge --redact --dry-run
purge HOSTILE --dry-run
purge --session HOSTILE --dry-run
purge --path HOSTILE --dry-run
export
export -o /nowhere/HOSTILE
import jsonl HOSTILE
import bazinga HOSTILE
init HOSTILE
eval HOSTILE
rebuild
HOSTILE
search --HOSTILE
--db HOSTILE status
status --root HOSTILE
bazinga HOSTILE
bazinga list-sessions
bazinga get-session HOSTILE
bazinga get-context-packages HOSTILE HOSTILE HOSTILE 3
bazinga context-block --session HOSTILE
bazinga query 'SELECT * FROM context_packages'
bazinga query HOSTILE
"""
CALLS = _CALLS.strip().split("\n")
# What a text says on lines of its own is the answer there.
_WITH_BODIES = ("show", "context", "assemble", "reasoning timeline", "reasoning get HERE --full")


def _words(call: str) -> list[str]:
    here = "--session shop-2026-10HOSTILE --group AUTHHOSTILE"
    return [word.replace("HOSTILE", HOSTILE) for word in shlex.split(call.replace("HERE", here))]


@pytest.fixture(scope="module")
def primary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_store(tmp_path_factory.mktemp("hostile"))


def printed(primary: Path, words: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["--db", str(primary), "--root", str(primary.parent.parent), *words])
    return code, out.getvalue(), err.getvalue()


@pytest.mark.slow
@each_row("call", CALLS)
def test_nothing_that_is_shown_drives_a_terminal(primary: Path, call: str) -> None:
    code, out, err = printed(primary, _words(call))
    assert 0 <= code <= 7 and "Internal error" not in err
    assert hidden_in(out + err) == set()
    if not call.startswith(_WITH_BODIES):
        assert "\nforged: line" not in out + err


@pytest.mark.slow
@each_row("call", [call for call in CALLS if not call.startswith(("bazinga", "export"))])
def test_json_holds_no_character_that_only_hides_and_shows_none(primary: Path, call: str) -> None:
    _, out, err = printed(primary, [*_words(call), "--json"])
    assert hidden_in(out + err) == set()
    answer = json.loads(out)
    assert isinstance(answer, dict)
    assert set(json.dumps(answer, ensure_ascii=False).replace(SIGN, "")) & set(IGNORABLE) == set()
