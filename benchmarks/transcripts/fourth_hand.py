"""Write transcripts of a fourth hand: other ecosystems again, and the truth about what failed and what helped.

    python benchmarks/transcripts/found_fixes.py --generator fourth_hand --seeds 1 2 3

Written from the description of the format alone, after all that the three hands before had shown was mended, and asked
once before anything of it was looked at. Two agents share a session and take turns; each looks around, tries what does
not help, repairs, and mostly shows that it is over: by the same command, by a wider one, or not at all.
"""

import argparse
import json
import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple


class Put(NamedTuple):
    """A file written anew."""

    path: str
    text: str


class Swap(NamedTuple):
    """A part of a file put in the place of another."""

    path: str
    old: str
    new: str


class Case(NamedTuple):
    """What is run, what it prints, what repairs it, what of the repair must be named, and a wider command."""

    runs: str
    prints: str
    repair: tuple[str | Put | Swap, ...]
    named: str
    wider: str = ""


_THINGS = ("heron", "lantern", "quarry", "meadow", "anchor", "violin", "pepper", "glacier", "saddle", "thimble")


def _cabal(x: str) -> Case:
    return Case(
        f"cabal build {x}-core",
        f"Building library for {x}-core-0.3..\n[{{small}} of 14] Compiling {x.title()}.Parse\n"
        f"src/{x.title()}/Parse.hs:{{line}}:{{col}}: error: [GHC-87110]\n"
        f"    Could not load module \u2018Data.{x.title()}Map.Strict\u2019.\n"
        f"    It is a member of the hidden package \u2018{x}-containers-0.6.8\u2019.",
        (Swap(f"{x}-core.cabal", "build-depends: base", f"build-depends: base, {x}-containers"),),
        f"{x}-containers", "cabal build all",
    )  # fmt: skip


def _sbt(x: str) -> Case:
    return Case(
        f"sbt {x}/compile",
        f"[info] compiling {{small}} Scala sources to {{root}}/{x}/target ...\n"
        f"[error] {{root}}/{x}/src/main/scala/{x.title()}Routes.scala:{{line}}:{{col}}: "
        f"could not find implicit value for parameter encoder: io.circe.Encoder[{x.title()}View]\n"
        "[error] one error found\n[error] (compile / compileIncremental) Compilation failed",
        (Swap(f"{x}/src/main/scala/{x.title()}View.scala", f"case class {x.title()}View(id: Int)",
              f"case class {x.title()}View(id: Int) derives Encoder.AsObject"),),
        "derives Encoder.AsObject", "sbt compile",
    )  # fmt: skip


def _rscript(x: str) -> Case:
    return Case(
        f"Rscript analysis/{x}.R",
        f"Loading required package: stats\nError in library({x}stats) : there is no package called \u2018{x}stats\u2019\n"  # noqa: E501  as the tool prints it
        "Calls: suppressPackageStartupMessages -> withCallingHandlers -> library\nExecution halted",
        (f"Rscript -e 'install.packages(\"{x}stats\")'",), f'install.packages("{x}stats")', "make report",
    )  # fmt: skip


def _julia(x: str) -> Case:
    return Case(
        f"julia --project scripts/{x}.jl",
        f"ERROR: LoadError: ArgumentError: Package {x.title()}Frames not found in current path.\n"
        f"- Run `import Pkg; Pkg.add(\"{x.title()}Frames\")` to install the {x.title()}Frames package.\n"
        f"in expression starting at {{root}}/scripts/{x}.jl:{{small}}",
        (f"julia --project -e 'using Pkg; Pkg.add(\"{x.title()}Frames\")'",), f'Pkg.add("{x.title()}Frames")',
    )  # fmt: skip


def _zig(x: str) -> Case:
    return Case(
        "zig build test",
        f"test\n\u2514\u2500 run test\n   \u2514\u2500 compile exe test Debug native: 1 errors\n"
        f"src/{x}.zig:{{line}}:{{col}}: error: no field named '{x}_limit' in struct '{x}.Options'\n"
        f"        .{x}_limit = 40,\n         ^~~~~~~~\nBuild Summary: 1/3 steps succeeded; 1 failed",
        (Swap(f"src/{x}.zig", "pub const Options = struct {", f"pub const Options = struct {{\n    {x}_limit: u32,"),),
        f"{x}_limit: u32", "zig build",
    )  # fmt: skip


def _dune(x: str) -> Case:
    return Case(
        f"dune build ./bin/{x}.exe",
        f'File "bin/dune", line {{small}}, characters 12-{{col}}:\n{{small}} |  (libraries {x}_wire))\n'
        f'Error: Library "{x}_wire" not found.\n-> required by _build/default/bin/{x}.exe',
        (f"opam install {x}_wire",), f"opam install {x}_wire", "dune build",
    )  # fmt: skip


def _clojure(x: str) -> Case:
    return Case(
        f"clojure -M:test -n {x}.core-test",
        f"Execution error (FileNotFoundException) at {x}.core/loading (core.clj:{{line}}).\n"
        f"Could not locate {x}/codec__init.class, {x}/codec.clj or {x}/codec.cljc on classpath.\n\n"
        "Full report at:\n/tmp/clojure-{hex}.edn",
        (Swap("deps.edn", "{:deps {", f'{{:deps {{org.{x}/codec {{:mvn/version "1.4.0"}}'),), f"org.{x}/codec",
    )  # fmt: skip


def _rebar(x: str) -> Case:
    return Case(
        "rebar3 eunit",
        f"===> Verifying dependencies...\n===> Analyzing applications...\n===> Compiling {x}\n"
        f"===> Compiling src/{x}_srv.erl failed\n   \u250c\u2500 src/{x}_srv.erl:\n   \u2502\n {{line}} \u2502  {x}_srv:lookup(Key).\n"  # noqa: E501  as the tool prints it
        f"   \u2575  \u2570\u2500\u2500 function {x}_lookup/1 undefined\n",
        (Swap(f"src/{x}_srv.erl", "-export([start/0]).", f"-export([start/0]).\n{x}_lookup(K) -> ets:lookup({x}, K)."),),  # noqa: E501  one edit
        f"{x}_lookup(K) -> ets:lookup", "rebar3 do eunit, ct",
    )  # fmt: skip


def _flutter(x: str) -> Case:
    return Case(
        f"flutter test test/{x}_test.dart",
        f"00:0{{small}} +0: loading {{root}}/test/{x}_test.dart\nlib/{x}.g.dart: No such file or directory\n"
        f"lib/{x}.dart:{{line}}:6: Error: Error when reading 'lib/{x}.g.dart': No such file or directory\n"
        f"00:0{{small}} +0 -1: Some tests failed.",
        ("dart run build_runner build --delete-conflicting-outputs",), "build_runner build", "flutter test",
    )  # fmt: skip


def _bazel(x: str) -> Case:
    return Case(
        f"bazel build //{x}:server",
        f"INFO: Analyzed target //{x}:server ({{small}} packages loaded).\n"
        f"ERROR: {{root}}/{x}/BUILD.bazel:{{small}}:11: no such target '//third_party:{x}_proto': target "
        f"'{x}_proto' not declared in package 'third_party'\nERROR: Analysis of target '//{x}:server' failed; build aborted",  # noqa: E501  as the tool prints it
        (Swap("third_party/BUILD.bazel", "# targets", f'# targets\nproto_library(name = "{x}_proto")'),),
        f'proto_library(name = "{x}_proto")', "bazel test //...",
    )  # fmt: skip


def _kubectl(x: str) -> Case:
    return Case(
        f"kubectl apply -f deploy/{x}.yaml",
        f'Error from server (NotFound): error when creating "deploy/{x}.yaml": namespaces "{x}-staging" not found',
        (f"kubectl create namespace {x}-staging",), f"kubectl create namespace {x}-staging",
    )  # fmt: skip


def _aws(x: str) -> Case:
    return Case(
        f"aws s3 sync build/ s3://{x}-assets",
        f"fatal error: An error occurred (NoSuchBucket) when calling the ListObjectsV2 operation: "
        f"The specified bucket does not exist: {x}-assets",
        (f"aws s3 mb s3://{x}-assets",), f"aws s3 mb s3://{x}-assets", "./publish.sh",
    )  # fmt: skip


def _deno(x: str) -> Case:
    return Case(
        f"deno test {x}/",
        f"error: Uncaught (in promise) NotCapable: Requires net access to \"api.{x}.example:443\", run again with the "
        f"--allow-net flag\n    at async file://{{root}}/{x}/client.ts:{{line}}:{{col}}",
        (f"deno test --allow-net {x}/",), "--allow-net",
    )  # fmt: skip


def _bun(x: str) -> Case:
    return Case(
        f"bun run apps/{x}/index.ts",
        f"error: Cannot find package '@{x}/shared' from '{{root}}/apps/{x}/index.ts'\n\nBun v1.1.{{small}} (Linux x64)",
        (f"bun add @{x}/shared",), f"bun add @{x}/shared", "bun test",
    )  # fmt: skip


def _poetry(x: str) -> Case:
    return Case(
        f"poetry run {x} --check",
        f"Warning: '{x}' is an entry point defined in pyproject.toml, but it's not installed as a script.\n"
        f"ModuleNotFoundError: No module named '{x}_cli'",
        ("poetry install --with tools",), "poetry install --with tools",
    )  # fmt: skip


def _latex(x: str) -> Case:
    return Case(
        f"latexmk -pdf paper/{x}.tex",
        f"This is pdfTeX, Version 3.141592653 (TeX Live 2024)\n! LaTeX Error: File `{x}style.sty' not found.\n\n"
        f"Type X to quit or <RETURN> to proceed,\nl.{{small}} \\usepackage\n  {{{{{x}style}}}}",
        (f"tlmgr install {x}style",), f"tlmgr install {x}style", "make paper",
    )  # fmt: skip


def _flyway(x: str) -> Case:
    return Case(
        "flyway migrate",
        f"ERROR: Validate failed: Migrations have failed validation\n"
        f"Migration checksum mismatch for migration version 7.{{fixed}} ({x} index)\n"
        "-> Applied to database : -{small}33\nNeed more flexibility with validation rules?",
        ("flyway repair",), "flyway repair",
    )  # fmt: skip


def _prisma(x: str) -> Case:
    return Case(
        f"npx tsx seed/{x}.ts",
        f"TypeError: Cannot read properties of undefined (reading '{x}Entry')\n    at main "
        f"({{root}}/seed/{x}.ts:{{line}}:{{col}})\n    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",  # noqa: E501  as the tool prints it
        ("npx prisma generate",), "prisma generate",
    )  # fmt: skip


def _protoc(x: str) -> Case:
    return Case(
        f"protoc -I proto --go_out=gen proto/{x}.proto",
        "protoc-gen-go: program not found or is not executable\nPlease specify a program using absolute path or make "
        "sure the program is available in your PATH system variable\n--go_out: protoc-gen-go: Plugin failed with status code 1.",  # noqa: E501  as the tool prints it
        ("go install google.golang.org/protobuf/cmd/protoc-gen-go@latest",), "go install google.golang.org/protobuf",
        "make gen",
    )  # fmt: skip


def _fortran(x: str) -> Case:
    return Case(
        f"gfortran -c {x}.f90",
        f"{x}.f90:{{line}}:{{col}}:\n\n  {{line}} |   use {x}_kinds\n      |       1\n"
        f"Fatal Error: Cannot open module file \u2018{x}_kinds.mod\u2019 for reading at (1): No such file or directory\n"  # noqa: E501  as the tool prints it
        "compilation terminated.",
        (f"gfortran -c {x}_kinds.f90",), f"gfortran -c {x}_kinds.f90", "make",
    )  # fmt: skip


def _lua(x: str) -> Case:
    return Case(
        f"busted spec/{x}_spec.lua",
        f"0 successes / 0 failures / 1 error / 0 pending : 0.0{{small}} seconds\n\nError \u2192 spec/{x}_spec.lua @ {{line}}\n"  # noqa: E501  as the tool prints it
        f"{x} setup\nspec/{x}_spec.lua:{{line}}: module '{x}.lpeg' not found:No LuaRocks module found for {x}.lpeg",
        (f"luarocks install {x}-lpeg",), f"luarocks install {x}-lpeg", "busted",
    )  # fmt: skip


def _hardhat(x: str) -> Case:
    return Case(
        f"npx hardhat test test/{x}.js",
        f"Error HH8: There's one or more errors in your config file:\n\n  * Invalid value undefined for "
        f"HardhatConfig.networks.{x}.url - Expected a value of type string.",
        (Put(".env", f"{x.upper()}_URL=http://127.0.0.1:8545\n"),), f"{x.upper()}_URL",
    )  # fmt: skip


def _systemd(x: str) -> Case:
    return Case(
        f"systemctl --user start {x}.service",
        f"Failed to start {x}.service: Unit {x}.service not found.",
        (f"systemctl --user link {{root}}/units/{x}.service",), f"units/{x}.service",
    )  # fmt: skip


def _mocha(x: str) -> Case:
    return Case(
        f"pytest tests/{x} -q",
        f"    def test_{x}_export(client):\n>       assert client.get('/{x}.csv').status_code == 200\n"
        f"E       assert 404 == 200\n\ntests/{x}/test_export.py:{{line}}: AssertionError\n"
        f"FAILED tests/{x}/test_export.py::test_{x}_export - assert 404 == 200\n1 failed, {{small}} passed in 0.{{small}}s",  # noqa: E501  as the tool prints it
        (Swap("app/urls.py", "urlpatterns = [", f'urlpatterns = [\n    path("{x}.csv", views.{x}_export),'),),
        f'path("{x}.csv"', "pytest -q",
    )  # fmt: skip


_KINDS: tuple[Callable[[str], Case], ...] = (
    _cabal, _sbt, _rscript, _julia, _zig, _dune, _clojure, _rebar, _flutter, _bazel, _kubectl, _aws, _deno, _bun,
    _poetry, _latex, _flyway, _prisma, _protoc, _fortran, _lua, _hardhat, _systemd, _mocha,
)  # fmt: skip
_GLANCES = ("git status -s", "ls", "head -40 README.md", "grep -rn FIXME .", "tree -L 2", "git diff", "env | sort")
_ERRANDS = ("git stash list", "make tidy", "git commit -qam 'checkpoint'", "dos2unix notes.txt", "touch CHANGES")
_IN_VAIN = ("make distclean", "rm -rf .cache", "git checkout -- .", "sync", "ulimit -n 4096")


class _Log:
    """One session's file; two agents write to it."""

    def __init__(self, root: str, chance: random.Random, at: datetime) -> None:
        self.name = str(uuid.UUID(int=chance.getrandbits(128)))
        self.lines: list[str] = []
        self._root, self._chance, self._at = root, chance, at

    def line(self, kind: str, content: object, agent: str) -> None:
        self._at += timedelta(seconds=self._chance.randint(1, 90))
        found: dict[str, object] = {
            "type": kind, "uuid": str(uuid.UUID(int=self._chance.getrandbits(128))), "sessionId": self.name,
            "timestamp": self._at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z", "cwd": self._root, "gitBranch": "trunk",
            "message": {"role": kind, "content": content},
        }  # fmt: skip
        if agent:
            found |= {"isSidechain": True, "agentId": agent}
        self.lines.append(json.dumps(found, ensure_ascii=self._chance.random() < 0.5))

    def use(self, agent: str, tool: str, given: dict[str, object], result: str, *, failed: bool = False) -> None:
        mark = f"toolu_{self._chance.getrandbits(80):020x}"
        said: list[object] = [{"type": "tool_use", "id": mark, "name": tool, "input": given}]
        if self._chance.random() < 0.3:
            said.insert(0, {"type": "text", "text": self._chance.choice(("Let me see.", "Next step.", "Trying this."))})
        self.line("assistant", said, agent)
        if self._chance.random() < 0.1:
            self.lines.append(json.dumps({"type": "system", "subtype": "info", "content": "tick"}))
        content: object = [{"type": "text", "text": result}] if self._chance.random() < 0.3 else result
        back: dict[str, object] = {"type": "tool_result", "tool_use_id": mark, "content": content}
        self.line("user", [back | ({"is_error": True} if failed else {})], agent)

    def shell(self, agent: str, command: str, result: str, code: int = 0) -> None:
        shown = self._chance.choice((command, command, f"cd {self._root} && {command}", f"time {command}"))
        if self._chance.random() < 0.2:
            shown += " 2>&1"
        self.use(agent, "Bash", {"command": shown}, f"Exit code {code}\n{result}" if code else result, failed=code > 0)

    def repair(self, agent: str, step: str | Put | Swap) -> None:
        if isinstance(step, str):
            self.shell(agent, step.replace("{root}", self._root), self._chance.choice(("", "ok", "Done.")))
        elif isinstance(step, Put):
            self.use(agent, "Write", {"file_path": f"{self._root}/{step.path}", "content": step.text}, "File created.")
        else:
            given: dict[str, object] = {
                "file_path": f"{self._root}/{step.path}", "old_string": step.old, "new_string": step.new,
            }  # fmt: skip
            self.use(agent, "Edit", given, "The file has been edited.")


def write(folder: Path, root: str, sessions: int, seed: int, failures: int = 200) -> list[dict[str, object]]:
    """Write the sessions; returns of each failure what it prints, what helps, and in how many sessions it was over."""
    chance = random.Random(f"fourth {seed}")
    cases = [kind(thing) for kind in _KINDS for thing in chance.sample(_THINGS, 2)]
    order = [at % len(cases) for at in range(failures)]
    chance.shuffle(order)
    over: dict[int, set[int]] = {}
    start = datetime.now(UTC) - timedelta(days=25)
    for number in range(sessions):
        log = _Log(root, chance, start + timedelta(hours=9 * number))
        log.line("user", "Please go on where we stopped.", "")
        for at in order[number::sessions]:
            if _episode(log, cases[at], chance, root):
                over.setdefault(at, set()).add(number)
        log.line("assistant", [{"type": "text", "text": "The open points are closed as far as I could."}], "")
        (folder / f"{log.name}.jsonl").write_text("\n".join(log.lines) + "\n", encoding="utf-8")
    return [
        {
            "output": _print(case, chance, root), "fix": case.named.replace("{root}", root),
            "sightings": len(over.get(at, ())),
        }
        for at, case in enumerate(cases)
    ]  # fmt: skip


def _print(case: Case, chance: random.Random, root: str) -> str:
    text = case.prints.replace("{root}", root).replace("{fixed}", "2").replace("{hex}", f"{chance.getrandbits(48):x}")
    for mark, last in (("{line}", 700), ("{col}", 60), ("{small}", 9)):
        text = text.replace(mark, str(chance.randint(1, last)))
    return text.replace("{{", "{").replace("}}", "}")


def _episode(log: _Log, case: Case, chance: random.Random, root: str) -> bool:
    """One failure and what became of it; whether it was repaired and that was seen."""
    agent = chance.choice(("", "", f"a{chance.getrandbits(20):05x}"))
    log.shell(agent, case.runs, _print(case, chance, root), chance.choice((1, 1, 1, 2, 127)))
    _idle(log, agent, chance)
    if chance.random() < 0.2:
        log.shell(agent, chance.choice(_IN_VAIN), "")
        log.shell(agent, case.runs, _print(case, chance, root), 1)
    if chance.random() < 0.07:
        return False
    for step in case.repair:
        log.repair(agent, step)
        _idle(log, agent, chance)
    how = chance.random()
    if how < 0.1:
        log.line("assistant", [{"type": "text", "text": "Moving on."}], agent)
        return False
    log.shell(agent, case.wider if case.wider and how > 0.75 else case.runs, chance.choice(("", "ok", "all good")))
    return True


def _idle(log: _Log, agent: str, chance: random.Random) -> None:
    for _ in range(chance.randint(0, 3)):
        who = agent if chance.random() < 0.6 else f"b{chance.randint(1, 4)}"
        what = chance.random()
        if what < 0.5:
            log.shell(who, chance.choice(_GLANCES), "\u2026")
        elif what < 0.75:
            log.use(who, "Read", {"file_path": f"{chance.choice(_THINGS)}.txt"}, "1\t\u2026")
        elif what < 0.9:
            log.shell(who, chance.choice(_ERRANDS), "")
        else:
            log.repair(who, Put(f"notes/{chance.choice(_THINGS)}.txt", f"seen {chance.randint(1, 999)}\n"))


def main() -> None:
    """Write a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--root", default="/home/me/shop")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    truth = write(given.folder, given.root, 50, given.seed)
    (given.folder / "truth.json").write_text(json.dumps(truth, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
