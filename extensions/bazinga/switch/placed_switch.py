"""Put here by `ctxrank bazinga install`: which of two programs answers a command of BAZINGA's.

State stays in BAZINGA's own database; context is ctxrank's. Any python3 of 3.8 and later runs this file: where it has
ctxrank, in the same process, else through the command `ctxrank` that install noted in manifest.json, or that is on
PATH.
"""

# Its answers are JSON, and the functions it replaces are another program's.
# pyright: basic

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

STATE_SCRIPT = "bazinga_db_state.py"
CONTEXT = frozenset(
    """
save-context-package get-context-packages mark-context-consumed update-context-references save-consumption
get-consumption context-block save-error-pattern get-error-patterns update-error-confidence cleanup-error-patterns
save-strategy get-strategies update-strategy-helpfulness extract-strategies save-reasoning get-reasoning
reasoning-timeline check-mandatory-phases save-skill-output get-skill-output get-latest-skill-output
get-skill-output-all check-skill-evidence
""".split()
)
# Made there, and made here too, because context belongs to them; the answer is the one from there.
BOTH = ("create-session", "create-task-group", "update-session-status")
# Tables that `query` reads here, there, or in either: `sessions` and `task_groups` are in both.
CONTEXT_TABLES = frozenset(
    """
context_packages context_package_consumers consumption_scope error_patterns strategies skill_outputs agent_reasoning
configuration
""".split()
)
STATE_TABLES = frozenset(
    """
orchestration_logs state_snapshots token_usage development_plans success_criteria workflow_transitions agent_markers
workflow_special_rules schema_version sqlite_master sqlite_schema
""".split()
)
_NO_CTXRANK = (
    "Error: ctxrank is neither installed for this python3 nor where it was when it was installed here, nor on PATH.\n"
)


class ScriptCall(NamedTuple):
    """One call of the script: its options, its command, and what belongs to the command."""

    db: str | None
    project_root: str | None
    is_quiet: bool
    command: str
    arguments: list[str]


def parsed(arguments: list[str]) -> ScriptCall | None:
    """The call, or None for one that only the script itself can explain."""
    options: dict[str, str | None] = {"--db": None, "--project-root": None}
    is_quiet = False
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        name, has_value, value = rest.pop(0).partition("=")
        if name == "--quiet" and not has_value:
            is_quiet = True
        elif name in options and (has_value or rest):
            options[name] = value if has_value else rest.pop(0)
        else:
            return None
    return ScriptCall(options["--db"], options["--project-root"], is_quiet, rest[0] if rest else "", rest[1:])


def main(scripts: str, arguments: list[str]) -> int:
    """Run one command where it belongs; returns the exit code."""
    call = parsed(arguments)
    if call is None:
        return state_code(scripts)
    root = project_of(scripts, call)
    is_of_context = call.command in CONTEXT
    if call.command == "query":
        named = tables_of(" ".join(call.arguments))
        is_of_context = bool(named & CONTEXT_TABLES)
        if is_of_context and named & STATE_TABLES:
            print(
                "Error: this query joins tables of two databases:"
                f" {', '.join(sorted(named & CONTEXT_TABLES))} are ctxrank's,"
                f" {', '.join(sorted(named & STATE_TABLES))} are BAZINGA's. Ask for each alone.",
                file=sys.stderr,
            )
            return 1
    if call.command == "save-reasoning":
        return reasoning_code(scripts, root, call)
    if is_of_context:
        return told(*asked(words_of(root, call)))
    code = state_code(scripts)
    made = [call.command, *call.arguments] if call.command in BOTH else []
    if call.command == "update-task-group":
        made = status_told(call.arguments)
    if code == 0 and made:
        tell(root, made)
    return code


def told(code: int, text: str, said: str) -> int:
    """Print what ctxrank prints and says; returns its exit code."""
    sys.stdout.write(text)
    sys.stderr.write(said)
    return code


def reasoning_code(scripts: str, root: str, call: ScriptCall) -> int:
    """Keep reasoning here and in the table of the logs, where dashboards read it; there alone where ctxrank can't."""
    code, answer, said = asked(words_of(root, call))
    if code and not is_refusal(code, answer, said):
        # It is in BAZINGA's log alone, from where the next install or import brings it in.
        why = str(said or answer).strip()[-300:]
        print(f"! ctxrank did not take it, BAZINGA's own log does: {why}", file=sys.stderr)
        return state_code(scripts)
    told(code, answer, said)
    if code:
        return code
    there, answer, said = captured(lambda: state_code(scripts))
    if there or '"success": false' in answer:
        print("! BAZINGA's own log did not take it: " + (said or answer).strip()[-300:], file=sys.stderr)
    return code


def is_refusal(code: int, answer: Any, said: str) -> bool:
    """Whether ctxrank ran and says that an argument is wrong; an unknown session is none: it may be known there."""
    return code == 1 and not answer and any(line.startswith("Error: ") for line in said.splitlines())


def captured(run: Callable[[], int]) -> tuple[int, str, str]:
    """(what it returns, what it prints, what it says) of a function."""
    import contextlib  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file
    import io  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as said:
        code = run()
    return code, out.getvalue(), said.getvalue()


def status_told(arguments: list[str]) -> list[str]:
    """What ctxrank is told of a group whose status changes; nothing of other changes."""
    flags = {arguments[at]: arguments[at + 1] for at in range(2, len(arguments) - 1, 2)}
    status = flags.get("--status")
    return ["create-task-group", *arguments[:2], flags.get("--name", ""), status] if status else []


def tables_of(query: str) -> set[str]:
    """The words of a query that may name tables: what is quoted as text, or a comment, names none."""
    import re  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

    bare = re.sub(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", " ", query, flags=re.S)
    return {word.lower() for word in re.findall(r"\w+", bare)}


def project_of(scripts: str, call: ScriptCall) -> str:
    """The project that a call means, as the script itself finds its database."""
    own = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(scripts)))))
    named = os.environ.get("BAZINGA_ROOT", "")
    is_named = os.path.isdir(os.path.join(named, ".claude")) and os.path.isdir(os.path.join(named, "bazinga"))
    home = os.path.abspath(named) if named and is_named else own
    if call.db:
        return project_of_database(os.path.join(home, call.db))
    return os.path.abspath(call.project_root) if call.project_root else home


def project_of_database(path: str) -> str:
    """PROJECT of PROJECT/bazinga/bazinga.db; a database anywhere else is a project of its own folder."""
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.dirname(folder) if os.path.basename(folder) == "bazinga" else folder


def state_module(scripts: str) -> Any:
    """The script that was here before, as a module."""
    name = STATE_SCRIPT[: -len(".py")]
    known = sys.modules.get(name)
    path = os.path.join(scripts, STATE_SCRIPT)
    if known is not None and getattr(known, "__file__", None) == path:
        return known
    if scripts not in sys.path:
        sys.path.insert(0, scripts)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def state_code(scripts: str) -> int:
    """Run the script that was here, with this process's arguments; returns its exit code."""
    try:
        state_module(scripts).main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    return 0


def words_of(root: str, call: ScriptCall) -> list[str]:
    """A call as ctxrank takes it."""
    return [*(["--quiet"] if call.is_quiet else []), "--project-root", root, call.command, *call.arguments]


def asked(words: list[str]) -> tuple[int, str, str]:
    """(exit code, what it prints, what it says) of a command of ctxrank's, also where that cannot be run."""
    try:
        if has_ctxrank():
            from ctxrank.extensions.bazinga.run import ask  # noqa: PLC0415  this python3 may not have it

            return ask(tuple(words))
        import subprocess  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

        command = command_of_ctxrank()
        if not command:
            return 6, "", _NO_CTXRANK
        whole = [*command, "bazinga", *words]
        done = subprocess.run(whole, capture_output=True, encoding="utf-8", errors="replace", check=False)
    except Exception as error:  # state was kept before, and is not to be lost for context
        return 6, "", f"Error: ctxrank cannot be run: {type(error).__name__}: {error}\n"
    return done.returncode, done.stdout, done.stderr


def answered(root: str, arguments: list[str]) -> tuple[int, Any, str]:
    """(exit code, the JSON that ctxrank answers, a text that is none or None, what it said)."""
    import json  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

    code, text, said = asked(["--quiet", "--project-root", root, *arguments])
    try:
        return code, json.loads(text) if text.strip() else None, said.strip()
    except ValueError:
        return code, text.rstrip("\n"), said.strip()


def tell(root: str, arguments: list[str]) -> None:
    """Make here what was made there; a failure is said and changes no exit code."""
    code, answer, said = answered(root, arguments)
    if code:
        why = said or (answer.get("error") if isinstance(answer, dict) else "")
        print(f"! ctxrank did not take {arguments[0]}: {why}", file=sys.stderr)


def has_ctxrank() -> bool:
    """Whether this python3 itself can run ctxrank."""
    try:
        return all(importlib.util.find_spec(name) is not None for name in ("ctxrank.cli", "apsw", "click"))
    except ImportError:
        return False


def command_of_ctxrank() -> list[str]:
    """The command that install noted, where it is still there, else the one on PATH; [] for none."""
    import contextlib  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file
    import json  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file
    import shutil  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        folder = os.path.dirname(os.path.abspath(__file__))
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
            noted = str(json.load(file)["python"])
        if os.access(noted, os.X_OK):
            return [noted, "-m", "ctxrank.cli"]
    found = shutil.which("ctxrank")
    return [found] if found else []


# The prompt builder


def attach(names: dict[str, Any]) -> None:
    """Let ctxrank write the context block of a prompt builder, whose names these are."""
    original_build, original_block = names["build_prompt"], names["build_context_block"]
    building: list[Any] = []

    def build_prompt(args: Any) -> Any:
        building.append(args)
        try:
            return original_build(args)
        finally:
            building.pop()

    def build_context_block(conn: Any, session_id: str, group_id: str, agent_type: str, model: str = "sonnet") -> str:
        block = _block(building[-1] if building else None, session_id, group_id, agent_type, model)
        if block is not None:
            return block
        return str(original_block(conn, session_id, group_id, agent_type, model))

    names["build_prompt"], names["build_context_block"] = build_prompt, build_context_block


def _block(args: Any, session: str, group: str, agent: str, model: str) -> str | None:
    """The block; None, with the reason on stderr, where ctxrank cannot say."""
    database = getattr(args, "db", None)
    if not database:
        return None
    words = ["--agent-type", agent, "--session-id", session, "--model", model, "--json-output"]
    for flag, name in (("--task-title", "task_title"), ("--task-requirements", "task_requirements")):
        text = getattr(args, name, "")
        if text:
            words += [flag, str(text)]
    if group:
        words += ["--group-id", group]
    if any(getattr(args, name, "") for name in ("qa_feedback", "tl_feedback", "investigation_findings")):
        words += ["--iteration", "1"]  # a retry: what earlier tries found out is shown too
    code, answer, said = answered(project_of_database(database), ["context-block", *words])
    if said:
        print(said, file=sys.stderr)
    if code or not isinstance(answer, dict) or not answer.get("success"):
        why = answer.get("error") if isinstance(answer, dict) else said
        print(f"WARNING: BAZINGA's own context block is used, ctxrank has none: {why}", file=sys.stderr)
        return None
    return str(answer["context"])
