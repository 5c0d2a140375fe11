"""Put here by `ctxrank bazinga install`: which of two programs answers a command of BAZINGA's.

State stays in BAZINGA's own database; context is ctxrank's. Any python3 of 3.8 and later runs this file: where it has
ctxrank, in the same process, else through the command `ctxrank` that install noted in manifest.json, or that is on
PATH.
"""

# Its answers are JSON, and the class it extends is another program's.
# pyright: basic

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

STATE_SCRIPT = "bazinga_db_state.py"
CONTEXT = frozenset(
    (
        "save-context-package", "get-context-packages", "mark-context-consumed", "update-context-references",
        "save-consumption", "get-consumption", "context-block", "save-error-pattern", "get-error-patterns",
        "update-error-confidence", "cleanup-error-patterns", "save-strategy", "get-strategies",
        "update-strategy-helpfulness", "extract-strategies", "save-reasoning", "get-reasoning", "reasoning-timeline",
        "check-mandatory-phases", "save-skill-output", "get-skill-output", "get-latest-skill-output",
        "get-skill-output-all", "check-skill-evidence",
    )
)  # fmt: skip
# Made there, and made here too, because context belongs to them; the answer is the one from there.
BOTH = ("create-session", "create-task-group")
# Tables that `query` reads here, there, or in either: `sessions` and `task_groups` are in both.
CONTEXT_TABLES = frozenset(
    (
        "context_packages", "context_package_consumers", "consumption_scope", "error_patterns", "strategies",
        "skill_outputs", "agent_reasoning", "configuration",
    )
)  # fmt: skip
STATE_TABLES = frozenset(
    (
        "orchestration_logs", "state_snapshots", "token_usage", "development_plans", "success_criteria",
        "workflow_transitions", "agent_markers", "workflow_special_rules", "schema_version", "sqlite_master",
        "sqlite_schema",
    )
)  # fmt: skip
_NO_CTXRANK = "ctxrank is neither installed for this python3 nor where it was when it was installed here, nor on PATH."


class Call:
    """One call of the script: its options, its command, and what belongs to the command."""

    def __init__(self, db: str | None, project_root: str | None, is_quiet: bool, rest: list[str]) -> None:
        self.db = db
        self.project_root = project_root
        self.is_quiet = is_quiet
        self.command = rest[0] if rest else ""
        self.arguments = rest[1:]


def parsed(arguments: list[str]) -> Call | None:
    """The call, or None for one that only the script itself can explain."""
    db = project_root = None
    is_quiet = False
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        name, has_value, value = arguments[at].partition("=")
        if name == "--quiet" and not has_value:
            is_quiet = True
        elif name in ("--db", "--project-root"):
            if not has_value:
                at += 1
                if at == len(arguments):
                    return None
                value = arguments[at]
            if name == "--db":
                db = value
            else:
                project_root = value
        else:
            return None
        at += 1
    return Call(db, project_root, is_quiet, arguments[at:])


def main(scripts: str, arguments: list[str]) -> int:
    """Run one command where it belongs; returns the exit code."""
    call = parsed(arguments)
    if call is None:
        return state_code(scripts)
    root = project_of(scripts, call)
    if call.command == "query":
        named = tables_of(" ".join(call.arguments))
        of_context, of_state = sorted(named & CONTEXT_TABLES), sorted(named & STATE_TABLES)
        if of_context and of_state:
            print(
                f"Error: this query joins tables of two databases: {', '.join(of_context)} are ctxrank's,"
                f" {', '.join(of_state)} are BAZINGA's. Ask for each alone.",
                file=sys.stderr,
            )
            return 1
        if of_context:
            return context_code(root, call)
    if call.command in CONTEXT:
        if call.command != "save-reasoning":
            return context_code(root, call)
        # The dashboards read reasoning in the table of the logs, which is state: it is kept there too.
        code = context_code(root, call, is_last=False)
        if code == 0:
            import contextlib  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file
            import io  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
                failed = state_code(scripts)
            if failed:
                print("! BAZINGA's own log did not take it: " + said.getvalue().strip()[-300:], file=sys.stderr)
        return code
    code = state_code(scripts)
    if code == 0:
        if call.command in BOTH:
            tell(root, [call.command, *call.arguments])
        elif call.command == "update-task-group":
            told = status_told(call.arguments)
            if told:
                tell(root, told)
    return code


def status_told(arguments: list[str]) -> list[str]:
    """What ctxrank is told of a group whose status changes; nothing of other changes."""
    flags = {arguments[at]: arguments[at + 1] for at in range(2, len(arguments) - 1, 2)}
    status = flags.get("--status")
    return ["create-task-group", *arguments[:2], flags.get("--name") or arguments[0], status] if status else []


def tables_of(query: str) -> set[str]:
    """The words of a query that may name tables: what is quoted as text, or a comment, names none."""
    import re  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

    bare = re.sub(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", " ", query, flags=re.S)
    return {word.lower() for word in re.findall(r"\w+", bare)}


def project_of(scripts: str, call: Call) -> str:
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


def context_code(root: str, call: Call, *, is_last: bool = True) -> int:
    """Run a command of ctxrank's with this process's streams; returns its exit code."""
    arguments = [*(["--quiet"] if call.is_quiet else []), "--project-root", root, call.command, *call.arguments]
    sys.stdout.flush()
    if has_ctxrank():
        from ctxrank.cli.bazinga.run import run_as_given  # noqa: PLC0415  this python3 may not have it

        return int(run_as_given(tuple(arguments)))
    command = command_of_ctxrank()
    if not command:
        print("Error: " + _NO_CTXRANK, file=sys.stderr)
        return 6
    whole = [*command, "bazinga", *arguments]
    if is_last and os.name == "posix":
        os.execv(whole[0], whole)
    import subprocess  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

    return subprocess.call(whole)


def asked(root: str, arguments: list[str], *, is_quiet: bool = True) -> tuple[int, Any, str]:
    """(exit code, the JSON that ctxrank answers or None, what it said)."""
    if has_ctxrank():
        from ctxrank.cli.bazinga.run import ask  # noqa: PLC0415  this python3 may not have it

        return ask(root, tuple(arguments))
    command = command_of_ctxrank()
    if not command:
        return 6, None, _NO_CTXRANK
    import json  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file
    import subprocess  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

    whole = [*command, "bazinga", *(["--quiet"] if is_quiet else []), "--project-root", root, *arguments]
    done = subprocess.run(whole, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
    text = done.stdout if is_quiet else done.stdout[max(done.stdout.find("{"), 0) :]
    try:
        return done.returncode, json.loads(text) if text.strip() else None, done.stderr.strip()
    except ValueError:
        return done.returncode, text, done.stderr.strip()


def tell(root: str, arguments: list[str]) -> None:
    """Make here what was made there; a failure is said and changes no exit code."""
    code, answer, said = asked(root, arguments)
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


# BazingaDB


def member(scripts: str, name: str) -> Any:
    """A name of the script that was here; BazingaDB with the methods about context answered by ctxrank."""
    state = state_module(scripts)
    return joined(state.BazingaDB) if name == "BazingaDB" else getattr(state, name)


_JOINED: dict[Any, Any] = {}


def joined(original: Any) -> Any:
    """BAZINGA's class, whose methods about context ask ctxrank."""
    if original not in _JOINED:
        _JOINED[original] = type("BazingaDB", (_ContextMethods, original), {"__doc__": original.__doc__})
    return _JOINED[original]


def _given(**flags: Any) -> list[str]:
    """Flags with a value, as words; lists are JSON."""
    import json  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

    words: list[str] = []
    for name, value in flags.items():
        if value is not None:
            words += ["--" + name, json.dumps(value) if isinstance(value, (list, tuple)) else str(value)]
    return words


class _ContextMethods:
    """The methods of BazingaDB about context, with their names, parameters and answers."""

    db_path: str
    quiet: bool

    def _asked(self, *arguments: str, is_quiet: bool = True) -> tuple[int, Any, str]:
        return asked(project_of_database(str(self.db_path)), list(arguments), is_quiet=is_quiet)

    def _answer(self, *arguments: str) -> Any:
        """What ctxrank answers. Raises ValueError, as there, with what is wrong."""
        code, answer, said = self._asked(*arguments)
        if code and answer is None:
            raise ValueError(said.removeprefix("Error: ") if hasattr(said, "removeprefix") else said)
        if said:
            print(said, file=sys.stderr)
        return answer

    def create_session(
        self, session_id: Any, mode: Any, requirements: Any, initial_branch: Any = None, metadata: Any = None
    ) -> Any:
        made = super().create_session(session_id, mode, requirements, initial_branch, metadata)  # type: ignore[misc]
        flags = _given(initial_branch=initial_branch, metadata=metadata)
        tell(project_of_database(str(self.db_path)), ["create-session", session_id, mode, requirements, *flags])
        return made

    def create_task_group(
        self,
        group_id: Any,
        session_id: Any,
        name: Any,
        status: Any = "pending",
        assigned_to: Any = None,
        *more: Any,
        **other: Any,
    ) -> Any:
        made = super().create_task_group(group_id, session_id, name, status, assigned_to, *more, **other)  # type: ignore[misc]
        words = ["create-task-group", group_id, session_id, name, status, *([assigned_to] if assigned_to else [])]
        tell(project_of_database(str(self.db_path)), words)
        return made

    def update_task_group(self, group_id: Any, session_id: Any, status: Any = None, *more: Any, **other: Any) -> Any:
        made = super().update_task_group(group_id, session_id, status, *more, **other)  # type: ignore[misc]
        if status:
            words = ["create-task-group", group_id, session_id, other.get("name") or group_id, status]
            tell(project_of_database(str(self.db_path)), words)
        return made

    def save_context_package(
        self,
        session_id: Any,
        group_id: Any,
        package_type: Any,
        file_path: Any,
        producer_agent: Any,
        consumers: Any,
        priority: Any,
        summary: Any,
        size_bytes: Any = None,
    ) -> Any:
        import json  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

        return self._answer(
            "save-context-package", session_id, group_id, package_type, file_path, producer_agent,
            json.dumps(list(consumers)), priority, summary,
        )  # fmt: skip

    def get_context_packages(
        self, session_id: Any, group_id: Any, agent_type: Any, limit: Any = 3, include_consumed: Any = False
    ) -> Any:
        return self._answer("get-context-packages", session_id, group_id, agent_type, str(limit))

    def mark_context_consumed(self, package_id: Any, agent_type: Any, iteration: Any = 1) -> Any:
        code, _, said = self._asked("mark-context-consumed", str(package_id), agent_type, str(iteration))
        if said:
            print(said, file=sys.stderr)
        return code == 0

    def update_context_references(self, group_id: Any, session_id: Any, package_ids: Any) -> Any:
        import json  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

        said = self._asked("update-context-references", group_id, session_id, json.dumps(list(package_ids)))[2]
        if said:
            print(said, file=sys.stderr)

    def save_reasoning(
        self,
        session_id: Any,
        group_id: Any,
        agent_type: Any,
        reasoning_phase: Any,
        content: Any,
        agent_id: Any = None,
        iteration: Any = None,
        confidence: Any = None,
        references: Any = None,
        **other: Any,
    ) -> Any:
        words = [session_id, group_id, agent_type, reasoning_phase, content]
        flags = _given(agent_id=agent_id, iteration=iteration, confidence=confidence, references=references)
        answer = self._answer("save-reasoning", *words, *flags)
        super().save_reasoning(*words, agent_id, iteration, confidence, references, **other)  # type: ignore[misc]
        return answer

    def get_reasoning(
        self,
        session_id: Any,
        group_id: Any = None,
        agent_type: Any = None,
        phase: Any = None,
        limit: Any = 50,
        output_format: Any = "json",
    ) -> Any:
        flags = _given(group_id=group_id, agent_type=agent_type, phase=phase, limit=limit, format=output_format)
        return self._answer("get-reasoning", session_id, *flags)

    def reasoning_timeline(self, session_id: Any, group_id: Any = None, output_format: Any = "json") -> Any:
        import json  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

        answer = self._answer("reasoning-timeline", session_id, *_given(group_id=group_id, format=output_format))
        return answer if isinstance(answer, str) else json.dumps(answer, indent=2)

    def check_mandatory_phases(self, session_id: Any, group_id: Any, agent_type: Any) -> Any:
        return self._answer("check-mandatory-phases", session_id, group_id, agent_type)

    def save_error_pattern(
        self,
        project_id: Any,
        error_type: Any,
        error_message: Any,
        solution: Any,
        lang: Any = None,
        context_hints: Any = None,
        stack_pattern: Any = None,
    ) -> Any:
        flags = _given(lang=lang, context_hints=context_hints, stack_pattern=stack_pattern)
        return self._answer("save-error-pattern", project_id, error_type, error_message, solution, *flags)

    def get_error_patterns(self, project_id: Any, lang: Any = None, min_confidence: Any = 0.7, limit: Any = 5) -> Any:
        flags = _given(lang=lang, min_confidence=min_confidence, limit=limit)
        return self._answer("get-error-patterns", project_id, *flags)

    def update_error_pattern_confidence(self, pattern_hash: Any, project_id: Any, success: Any) -> Any:
        outcome = "success" if success else "failure"
        return self._answer("update-error-confidence", pattern_hash, project_id, outcome)

    def cleanup_expired_patterns(self, project_id: Any = None) -> Any:
        return self._answer("cleanup-error-patterns", *([project_id] if project_id else []))

    def save_consumption(self, session_id: Any, group_id: Any, agent_type: Any, iteration: Any, package_id: Any) -> Any:
        return self._answer("save-consumption", session_id, group_id, agent_type, str(iteration), str(package_id))

    def get_consumption(self, session_id: Any, group_id: Any = None, agent_type: Any = None, limit: Any = 50) -> Any:
        flags = _given(group_id=group_id, agent_type=agent_type, limit=limit)
        return self._answer("get-consumption", session_id, *flags)

    def save_strategy(
        self,
        project_id: Any,
        topic: Any,
        insight: Any,
        lang: Any = None,
        framework: Any = None,
        strategy_id: Any = None,
    ) -> Any:
        flags = _given(lang=lang, framework=framework, strategy_id=strategy_id)
        return self._answer("save-strategy", project_id, topic, insight, *flags)

    def get_strategies(
        self, project_id: Any, lang: Any = None, framework: Any = None, topic: Any = None, limit: Any = 5
    ) -> Any:
        flags = _given(lang=lang, framework=framework, topic=topic, limit=limit)
        return self._answer("get-strategies", project_id, *flags)

    def update_strategy_helpfulness(self, strategy_id: Any, increment: Any = 1) -> Any:
        return self._answer("update-strategy-helpfulness", strategy_id, str(increment))

    def extract_strategies(
        self, session_id: Any, group_id: Any, project_id: Any, lang: Any = None, framework: Any = None
    ) -> Any:
        return self._answer(
            "extract-strategies", session_id, group_id, project_id, *_given(lang=lang, framework=framework)
        )

    def save_skill_output(
        self, session_id: Any, skill_name: Any, output_data: Any, agent_type: Any = None, group_id: Any = None
    ) -> Any:
        import json  # noqa: PLC0415  start-up: every command of BAZINGA's runs this file

        flags = _given(agent=agent_type, group=group_id)
        code, answer, said = self._asked(
            "save-skill-output", session_id, skill_name, json.dumps(output_data), *flags, is_quiet=False
        )
        if code or not isinstance(answer, dict):
            raise ValueError(said)
        return answer["iteration"]

    def get_skill_output(self, session_id: Any, skill_name: Any, agent_type: Any = None) -> Any:
        return self._answer("get-skill-output", session_id, skill_name, *_given(agent=agent_type))

    def get_skill_output_all(self, session_id: Any, skill_name: Any, agent_type: Any = None) -> Any:
        return self._answer("get-skill-output-all", session_id, skill_name, *_given(agent=agent_type))

    def check_skill_evidence(
        self, session_id: Any, mandatory_skills: Any, agent_type: Any = None, since_minutes: Any = 30
    ) -> Any:
        flags = _given(agent=agent_type, since=since_minutes)
        return self._answer("check-skill-evidence", session_id, ",".join(mandatory_skills), *flags)

    def query(self, sql: Any, params: Any = ()) -> Any:
        if params or not tables_of(sql) & CONTEXT_TABLES:
            return super().query(sql, params)  # type: ignore[misc]
        return self._answer("query", sql)


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
    try:
        code, answer, said = asked(project_of_database(database), ["context-block", *words])
    except Exception as error:
        code, answer, said = 1, None, f"{type(error).__name__}: {error}"
    if said:
        print(said, file=sys.stderr)
    if code or not isinstance(answer, dict) or not answer.get("success"):
        why = answer.get("error") if isinstance(answer, dict) else said
        print(f"WARNING: BAZINGA's own context block is used, ctxrank has none: {why}", file=sys.stderr)
        return None
    return str(answer["context"])
