"""Write transcripts of a third hand: other languages, tools and habits, and the truth about what failed and what helped.

    python benchmarks/transcripts/found_fixes.py --generator third_hand --seeds 1 2 3

Written after the parser was frozen, from the description of the format alone, and asked once. Four hands work in turn:
one runs the same command again, one a narrower or wider form of it, one with other options, and one goes on and never
runs it again. Subagents work at the same time; some repairs take two steps, some tries do not help, some failures go
away by themselves and some stay.
"""  # noqa: E501  as the tool prints it

import argparse
import json
import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple


class Edit(NamedTuple):
    """A change of a file: what is put in the place of what."""

    path: str
    old: str
    new: str


Remedy = str | Edit


@dataclass(frozen=True)
class Trouble:
    """A failure: the forms of its command, what it prints, what helps, and what of that must be said."""

    forms: tuple[str, ...]  # the first fails; any of them shows that it is over
    prints: str
    helps: tuple[Remedy, ...]
    said: str


_NAMES = ("invoice", "tenant", "voucher", "shipment", "roster", "ticket", "quota", "badge", "parcel", "survey")


def _troubles(chance: random.Random) -> list[Trouble]:
    """Each kind for two or three subjects, each time with its own names."""
    found: list[Trouble] = []
    for kind in (
        _composer, _gradle, _dotnet, _terraform, _rails, _mix, _maven, _nginx, _alembic, _psycopg, _swift, _helm, _clang,  # noqa: E501  as the tool prints it
        _vite, _java, _celery, _ansible, _perl, _golang, _rust, _mypy, _eslint, _redis, _quota, _locale,
    ):  # fmt: skip
        found += [kind(name, chance) for name in chance.sample(_NAMES, 2)]
    return found


def _composer(name: str, _: random.Random) -> Trouble:
    cls = name.title()
    return Trouble(
        (f"vendor/bin/phpunit --filter {cls}Test", "vendor/bin/phpunit"),
        f'PHP Fatal error:  Uncaught Error: Class "App\\{cls}\\Ledger" not found in {{root}}/src/{cls}/Book.php:{{n}}\n'
        f"Stack trace:\n#0 {{root}}/tests/{cls}Test.php({{n}}): App\\{cls}\\Book->open()\n#1 {{main}}\n  thrown in "
        f"{{root}}/src/{cls}/Book.php on line {{n}}",
        ("composer dump-autoload -o",), "composer dump-autoload",
    )  # fmt: skip


def _gradle(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"./gradlew :{name}:test", f"./gradlew :{name}:test --info", "./gradlew check"),
        f"> Task :{name}:compileJava FAILED\n{{root}}/{name}/src/main/java/{name.title()}.java:{{n}}: error: package "
        f"org.{name}.money does not exist\nimport org.{name}.money.Amount;\n                ^\n1 error\n\n"
        "FAILURE: Build failed with an exception.",
        (Edit(f"{name}/build.gradle", "dependencies {", f"implementation 'org.{name}:money:2.1'"),),
        f"org.{name}:money",
    )  # fmt: skip


def _dotnet(name: str, _: random.Random) -> Trouble:
    cls = name.title()
    return Trouble(
        ("dotnet build", "dotnet build --no-incremental", "dotnet test"),
        f"{{root}}/src/{cls}/{cls}Store.cs({{n}},17): error CS0246: The type or namespace name 'I{cls}Clock' could not be "  # noqa: E501  as the tool prints it
        f"found (are you missing a using directive or an assembly reference?) [{{root}}/src/{cls}/{cls}.csproj]",
        (Edit(f"src/{cls}/{cls}Store.cs", "using System;", f"using Acme.{cls}.Time;"),), f"using Acme.{cls}.Time",
    )  # fmt: skip


def _terraform(name: str, _: random.Random) -> Trouble:
    return Trouble(
        ("terraform plan -out=plan.bin", "terraform plan"),
        f'Error: Reference to undeclared input variable\n\n  on {name}.tf line {{n}}, in resource "aws_sqs_queue" '
        f'"{name}":\n  {{n}}:   name = var.{name}_queue\n\nAn input variable with the name "{name}_queue" has not been '
        "declared.",
        (Edit("variables.tf", "", f'variable "{name}_queue" {{ type = string }}'),), f'variable "{name}_queue"',
    )  # fmt: skip


def _rails(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"bin/rails test test/models/{name}_test.rb", "bin/rails test"),
        f"ActiveRecord::PendingMigrationError: \n\nMigrations are pending. To resolve this issue, run:\n\n"
        f"        bin/rails db:migrate RAILS_ENV=test\n\nYou have 1 pending migration:\n\n"
        f"db/migrate/20260101_add_{name}_state.rb",
        ("RAILS_ENV=test bin/rails db:migrate",), "rails db:migrate",
    )  # fmt: skip


def _mix(name: str, _: random.Random) -> Trouble:
    cls = name.title()
    return Trouble(
        ("mix test", f"mix test test/{name}_test.exs", "mix test --trace"),
        f"** (UndefinedFunctionError) function {cls}.Rates.for_day/1 is undefined (module {cls}.Rates is not available)\n"  # noqa: E501  as the tool prints it
        f"    {cls}.Rates.for_day(~D[2026-01-{{d}}])\n    (shop 0.1.0) lib/{name}/book.ex:{{n}}: {cls}.Book.price/2",
        (Edit(f"lib/{name}/book.ex", f"alias {cls}.Rates", f"alias {cls}.Pricing.Rates"),), f"alias {cls}.Pricing.Rates",  # noqa: E501  as the tool prints it
    )  # fmt: skip


def _maven(name: str, _: random.Random) -> Trouble:
    return Trouble(
        ("mvn -q verify", "mvn verify"),
        f"[ERROR] Failed to execute goal on project {name}-api: Could not resolve dependencies for project "
        f"org.acme:{name}-api:jar:1.{{d}}: Could not find artifact org.acme:{name}-model:jar:3.0 in central",
        (f"mvn -q install -pl {name}-model",), f"mvn -q install -pl {name}-model",
    )  # fmt: skip


def _nginx(name: str, _: random.Random) -> Trouble:
    return Trouble(
        ("sudo nginx -t", "sudo systemctl reload nginx"),
        f'nginx: [emerg] host not found in upstream "{name}-backend" in /etc/nginx/conf.d/{name}.conf:{{n}}\n'
        "nginx: configuration file /etc/nginx/nginx.conf test failed",
        (f"echo '127.0.0.1 {name}-backend' | sudo tee -a /etc/hosts",), f"{name}-backend",
    )  # fmt: skip


def _alembic(name: str, _: random.Random) -> Trouble:
    return Trouble(
        ("alembic upgrade head", "alembic upgrade heads"),
        f"FAILED: Multiple head revisions are present for given argument 'head'; please specify a specific target "
        f"revision, '<branchname>@head' to narrow to a specific head ({name}_a, {name}_b)",
        (f"alembic merge -m {name} {name}_a {name}_b",), "alembic merge",
    )  # fmt: skip


def _psycopg(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"uv run python -m {name}.worker", f"python -m {name}.worker"),
        f'Traceback (most recent call last):\n  File "{{root}}/{name}/worker.py", line {{n}}, in main\n'
        f'    run(connection)\npsycopg.errors.UndefinedColumn: column "{name}_due" does not exist\n'
        f"LINE 1: SELECT {name}_due FROM work\n               ^",
        (f'psql "$DB" -c "ALTER TABLE work ADD COLUMN {name}_due date"',), f"ADD COLUMN {name}_due",
    )  # fmt: skip


def _swift(name: str, _: random.Random) -> Trouble:
    return Trouble(
        ("swift build", "swift build -c release", "swift test"),
        f"{{root}}/Sources/{name.title()}/View.swift:{{n}}:14: error: cannot find '{name}Palette' in scope\n"
        f"        .tint({name}Palette.warm)\n         ^~~~~~~",
        (Edit(f"Sources/{name.title()}/View.swift", "import SwiftUI", f"import {name.title()}Theme"),),
        f"import {name.title()}Theme",
    )  # fmt: skip


def _helm(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"helm upgrade {name} charts/{name}", f"helm upgrade --install {name} charts/{name}"),
        f'Error: UPGRADE FAILED: "{name}" has no deployed releases',
        (f"helm uninstall {name} --keep-history=false",), f"helm uninstall {name}",
    )  # fmt: skip


def _clang(name: str, _: random.Random) -> Trouble:
    return Trouble(
        ("cmake --build build", "cmake --build build -j4"),
        f"/usr/bin/ld: src/{name}.o: in function `{name}_open':\n{name}.c:(.text+0x{{d}}): undefined reference to "
        f"`{name}_codec_init'\ncollect2: error: ld returned 1 exit status",
        (Edit("CMakeLists.txt", "target_link_libraries(app m)", f"target_link_libraries(app m {name}codec)"),),
        f"{name}codec",
    )  # fmt: skip


def _vite(name: str, _: random.Random) -> Trouble:
    return Trouble(
        ("pnpm build", "pnpm build --mode staging"),
        f'[vite]: Rollup failed to resolve import "@acme/{name}-kit" from "{{root}}/src/{name}.vue".\n'
        "error during build:\nError: failed to resolve import",
        (f"pnpm add @acme/{name}-kit",), f"pnpm add @acme/{name}-kit",
    )  # fmt: skip


def _java(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"java -jar build/{name}.jar", f"java -Xmx2g -jar build/{name}.jar"),
        f'Exception in thread "main" java.lang.IllegalStateException: {name}.home is not set\n'
        f"\tat org.acme.{name}.Main.home(Main.java:{{n}})\n\tat org.acme.{name}.Main.main(Main.java:{{n}})",
        (f"java -D{name}.home=/srv/{name} -jar build/{name}.jar",), f"-D{name}.home",
    )  # fmt: skip


def _celery(name: str, chance: random.Random) -> Trouble:
    port = chance.randint(6000, 9000)
    return Trouble(
        (f"uvicorn {name}.web:app --port {port}",),
        f"INFO:     Started server process [{{p}}]\nERROR:    [Errno 98] error while attempting to bind on address "
        f"('127.0.0.1', {port}): address already in use",
        (f"kill $(lsof -t -i :{port})",), "lsof -t -i",
    )  # fmt: skip


def _ansible(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"ansible-playbook site.yml --tags {name}", f"ansible-playbook site.yml --tags {name} -v"),
        f'fatal: [web{{d}}]: FAILED! => {{"changed": false, "msg": "Could not find or access \'{name}.conf.j2\'"}}',
        (f"git mv files/{name}.conf.j2 templates/{name}.conf.j2",), f"templates/{name}.conf.j2",
    )  # fmt: skip


def _perl(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"perl bin/{name}.pl --once", f"perl bin/{name}.pl"),
        f"Can't locate {name.title()}/Format.pm in @INC (you may need to install the {name.title()}::Format module) "
        f"(@INC entries checked: /etc/perl) at bin/{name}.pl line {{n}}.",
        (f"cpanm {name.title()}::Format",), f"cpanm {name.title()}::Format",
    )  # fmt: skip


def _golang(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"go test ./{name}/...", "go test ./...", f"go test -race ./{name}/..."),
        f"{name}/{name}.go:{{n}}:2: no required module provides package example.com/{name}/wire; to add it:\n"
        f"\tgo get example.com/{name}/wire",
        (f"go get example.com/{name}/wire",), f"go get example.com/{name}/wire",
    )  # fmt: skip


def _rust(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"cargo test -p {name}", f"cargo test -p {name} -- --nocapture"),
        f"error[E0277]: the trait bound `{name.title()}: Clone` is not satisfied\n  --> crates/{name}/src/lib.rs:{{n}}:9\n"  # noqa: E501  as the tool prints it
        f"   |\n{{n}} |     keep({name}.clone())\n   |          ^^^^^ the trait `Clone` is not implemented",
        (Edit(f"crates/{name}/src/lib.rs", f"pub struct {name.title()}", f"#[derive(Clone, {name.title()}Mark)]"),),
        "derive(Clone",
    )  # fmt: skip


def _mypy(name: str, _: random.Random) -> Trouble:
    return Trouble(
        ("mypy .", f"mypy src/{name}.py"),
        f'src/{name}.py:{{n}}: error: Item "None" of "{name.title()} | None" has no attribute "total"  [union-attr]\n'
        "Found 1 error in 1 file (checked 61 source files)",
        (Edit(f"src/{name}.py", f"return {name}.total", f"return {name}.total if {name} else 0"),),
        f"{name}.total if {name} else 0",
    )  # fmt: skip


def _eslint(name: str, _: random.Random) -> Trouble:
    return Trouble(
        ("yarn lint", "yarn lint --max-warnings 0"),
        f"Oops! Something went wrong! :(\n\nESLint couldn't find the config \"{name}-style\" to extend from. Please check "  # noqa: E501  as the tool prints it
        f'that the name of the config is correct.\n\nThe config "{name}-style" was referenced from .eslintrc.json',
        (f"yarn add -D eslint-config-{name}-style",), f"eslint-config-{name}-style",
    )  # fmt: skip


def _redis(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"node jobs/{name}.mjs", f"node --trace-warnings jobs/{name}.mjs"),
        f"Error: connect ECONNREFUSED 127.0.0.1:6379\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:{{n}}:16)"  # noqa: E501  as the tool prints it
        f"\n    at {name}Queue (file://{{root}}/jobs/{name}.mjs:{{n}}:5)",
        ("docker compose up -d redis",), "docker compose up -d redis",
    )  # fmt: skip


def _quota(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"docker build -t {name} .",),
        f"ERROR: failed to solve: failed to copy files: write /var/lib/docker/{name}/{{p}}: no space left on device",
        ("docker builder prune -f",), "docker builder prune",
    )  # fmt: skip


def _locale(name: str, _: random.Random) -> Trouble:
    return Trouble(
        (f"python tools/report_{name}.py", f"PYTHONUTF8=1 python tools/report_{name}.py"),
        f'Traceback (most recent call last):\n  File "{{root}}/tools/report_{name}.py", line {{n}}, in <module>\n'
        f"    print(open('{name}.txt').read())\nUnicodeDecodeError: 'ascii' codec can't decode byte 0xc3 in position {{d}}: "  # noqa: E501  as the tool prints it
        "ordinal not in range(128)",
        (f"PYTHONUTF8=1 python tools/report_{name}.py",), "PYTHONUTF8=1",
    )  # fmt: skip


_LOOKS = ("git log --oneline -5", "sed -n 1,80p src/app.py", "rg -n TODO", "ls -la", "cat Makefile", "git diff --stat")
_CHORES = ("make fmt", "git commit -am wip", "npx prettier -w .", "touch .stamp", "git add -p", "make docs")
_USELESS = ("rm -rf node_modules", "git clean -fdx build", "export DEBUG=1 && make clean", "git stash && git stash pop")


class _Scribe:
    """The lines of one session; agents take turns."""

    def __init__(self, root: str, chance: random.Random, at: datetime) -> None:
        self.session = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        self.lines: list[str] = []
        self._root, self._chance, self._at = root, chance, at

    def say(self, who: str, text: str) -> None:
        self._put("assistant", [{"type": "thinking", "thinking": "…"}, {"type": "text", "text": text}], who)

    def ask(self, text: str) -> None:
        self._put("user", text, "")

    def call(self, who: str, tool: str, given: Mapping[str, object], result: str, *, failed: bool = False) -> None:
        number = f"toolu_{self._chance.getrandbits(72):x}"
        self._put("assistant", [{"type": "tool_use", "id": number, "name": tool, "input": dict(given)}], who)
        if self._chance.random() < 0.15:  # another agent gets a word in
            self.say(f"side-{self._chance.randint(1, 3)}", "Reading on.")
        content = [{"type": "text", "text": result}] if self._chance.random() < 0.5 else result
        self._put("user", [{"type": "tool_result", "tool_use_id": number, "is_error": failed, "content": content}], who)

    def run(self, who: str, command: str, result: str, code: int = 0) -> None:
        where = self._chance.choice(("", "", f"cd {self._root} && ", "set -o pipefail; "))
        tail = self._chance.choice(("", "", " 2>&1", " 2>&1 | tail -40"))
        text = f"Exit code {code}\n{result}" if code else result
        given = {"command": f"{where}{command}{tail}", "description": "Run it"}
        self.call(who, "Bash", given, text, failed=bool(code))

    def apply(self, who: str, remedy: Remedy) -> None:
        if isinstance(remedy, str):
            self.run(who, remedy, "done")
            return
        other = f"# {self._chance.choice(_NAMES)} {self._chance.randint(1, 99)}"
        new = f"{remedy.old}\n{remedy.new}" if self._chance.random() < 0.5 else f"{other}\n{remedy.old}\n{remedy.new}"
        path = f"{self._root}/{remedy.path}"
        if self._chance.random() < 0.3:
            given: dict[str, object] = {
                "file_path": path, "edits": [{"old_string": remedy.old, "new_string": new}],
            }  # fmt: skip
            self.call(who, "MultiEdit", given, "Applied 1 edit.")
        else:
            given = {"file_path": path, "old_string": remedy.old, "new_string": new}
            self.call(who, "Edit", given, "The file has been updated.")

    def _put(self, kind: str, content: object, who: str) -> None:
        self._at += timedelta(seconds=self._chance.randint(2, 45))
        line: dict[str, object] = {
            "parentUuid": None, "isSidechain": bool(who), "userType": "external", "cwd": self._root,
            "sessionId": self.session, "version": "2.0.0", "gitBranch": "main", "type": kind,
            "message": {"role": kind, "content": content}, "uuid": str(uuid.UUID(int=self._chance.getrandbits(128))),
            "timestamp": self._at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
        }  # fmt: skip
        self.lines.append(json.dumps(line | ({"agentId": who} if who else {})))
        if self._chance.random() < 0.03:
            self.lines.append(json.dumps({"type": "file-history-snapshot", "messageId": line["uuid"]}))


def write(folder: Path, root: str, sessions: int, seed: int, failures: int = 200) -> list[dict[str, object]]:
    """Write the sessions; returns of each failure what it prints, what helps, and in how many sessions it was seen."""
    chance = random.Random(f"third {seed}")
    troubles = _troubles(chance)
    plan = [troubles[at % len(troubles)] for at in range(failures)]
    chance.shuffle(plan)
    seen: dict[int, set[int]] = {}
    begins = datetime.now(UTC) - timedelta(days=30)
    for number in range(sessions):
        scribe = _Scribe(root, chance, begins + timedelta(hours=11 * number))
        scribe.ask("Carry on with the list, please.")
        for trouble in plan[number::sessions]:
            if _meet(scribe, trouble, chance, root):
                seen.setdefault(troubles.index(trouble), set()).add(number)
        scribe.say("", "All of today's points are done; what is left is written down in the list.")
        (folder / f"{scribe.session}.jsonl").write_text("\n".join(scribe.lines) + "\n", encoding="utf-8")
    return [
        {"output": _printed(one, chance, root), "fix": one.said, "sightings": len(seen.get(at, ()))}
        for at, one in enumerate(troubles)
    ]


def _printed(trouble: Trouble, chance: random.Random, root: str) -> str:
    text = trouble.prints.replace("{root}", root)
    for mark, low, high in (("{n}", 3, 480), ("{d}", 1, 28), ("{p}", 1000, 65000)):
        text = text.replace(mark, str(chance.randint(low, high)))
    return text


def _meet(scribe: _Scribe, trouble: Trouble, chance: random.Random, root: str) -> bool:
    """One meeting with a failure; whether it was repaired and that was seen."""
    who = chance.choice(("", "", "", f"side-{chance.randint(1, 3)}"))
    scribe.run(who, trouble.forms[0], _printed(trouble, chance, root), chance.choice((1, 1, 2, 101)))
    _around(scribe, who, chance)
    if chance.random() < 0.25:
        scribe.run(who, chance.choice(_USELESS), "")
        scribe.run(who, trouble.forms[0], _printed(trouble, chance, root), 1)
    if chance.random() < 0.08:
        return False  # given up
    for remedy in trouble.helps:
        scribe.apply(who, remedy)
        _around(scribe, who, chance)
    hand = chance.random()
    if hand < 0.55:
        shows = trouble.forms[0]
    elif hand < 0.85:
        shows = chance.choice(trouble.forms)
    else:  # goes on, and never runs it again
        scribe.say(who, "That should do; on to the next point.")
        return False
    scribe.run(who, shows, "ok")
    return True


def _around(scribe: _Scribe, who: str, chance: random.Random) -> None:
    for _ in range(chance.randint(0, 3)):
        somebody = who if chance.random() < 0.7 else f"side-{chance.randint(1, 3)}"
        what = chance.random()
        if what < 0.4:
            scribe.run(somebody, chance.choice(_LOOKS), "…")
        elif what < 0.6:
            scribe.call(somebody, "Read", {"file_path": f"{chance.choice(_NAMES)}.md"}, "1\t…")
        elif what < 0.8:
            scribe.run(somebody, chance.choice(_CHORES), "")
        else:
            scribe.apply(somebody, Edit(f"src/{chance.choice(_NAMES)}.txt", "", f"x = {chance.randint(1, 9999)}"))


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
