"""Make failures with known root causes: python benchmarks/errors/mutants/make.py OUT [--packages FOLDER]

Each program of programs/ has tests that pass. One change to one line (a mutant) makes some of them fail; each failing
test is run by itself, in one folder and again in another with other lines, and what it prints is one text. All texts of
one mutant have one cause, the change. A line is changed once at most, so that two mutants are two causes. OUT gets one
LANGUAGE.jsonl for each language, as corpus.py reads them. A language whose tools are missing is left out, which is
said. FOLDER holds what package registries have: node_modules with mocha, and the archives of JUnit 4 and Hamcrest.
"""

import argparse
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

_HERE = os.path.dirname(os.path.abspath(__file__))
_TIMEOUT = 20
_MOST_TESTS = 3  # of one mutant whose outputs are kept
_MOST_TRIED = 3  # changes of a line, until one makes a test fail
_GIVEN_UP = re.compile(r"MemoryError|[Oo]ut of memory|OutOfMemory|heap limit|cannot allocate")
_MARK = "=====8<====="


class Setting(NamedTuple):
    """Where the tests are run, and how many lines stand above the code."""

    folder: str
    lines: int


_SETTINGS = {"A": Setting("/home/ana/shop", 0), "B": Setting("/srv/build/worker", 7)}


class Language(NamedTuple):
    """How programs of a language are changed, built and tested."""

    name: str
    suffix: str
    comment: str
    needs: tuple[str, ...]
    packages: tuple[str, ...]
    nothing: tuple[str, ...]  # values that stand for none
    build: str  # a shell command; '' where nothing is built
    failing: Callable[["Language", str, dict[str, str]], list[str]]  # names of the tests that fail
    one: str  # a shell command that runs the test {0}
    is_all: bool = False  # one process runs all tests of all mutants, each by itself


class Mutant(NamedTuple):
    """One changed line."""

    file: str
    line: int  # from 1
    before: str
    after: str


def main() -> None:
    """Make what can be made."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("--packages", default="", metavar="FOLDER", help="node_modules and *.jar")
    parser.add_argument("--only", metavar="LANGUAGE")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    packages = os.path.abspath(options.packages or ".")
    for language in LANGUAGES:
        if options.only not in (None, language.name):
            continue
        missing = [needed for needed in language.needs if shutil.which(needed) is None]
        missing += [part for part in language.packages if not os.path.exists(os.path.join(packages, part))]
        if missing:
            print(f"{language.name}: left out, not here: {', '.join(missing)}", file=sys.stderr)
            continue
        mutants = 0
        with open(os.path.join(options.out, f"{language.name}.jsonl"), "w", encoding="utf-8") as file:
            for mutant, texts in _made(language, packages):
                mutants += 1
                group = f"{language.name}:{mutant.file}:{mutant.line}"
                for name, text in texts:
                    row = {"id": f"{group}:{name}", "group": group, "text": text, "text_nocode": text,
                           "change": f"{mutant.before.strip()} -> {mutant.after.strip()}"}  # fmt: skip
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                file.flush()
        print(f"{language.name}: {mutants} mutants", file=sys.stderr)


def _made(language: Language, packages: str) -> Iterator[tuple[Mutant, list[tuple[str, str]]]]:
    """Each mutant that a test notices, and what its failing tests print."""
    source = os.path.join(_HERE, "programs", language.name)
    for file in sorted(os.listdir(source)):
        if not file.endswith(language.suffix) or re.search(r"test", file, re.IGNORECASE):
            continue
        with open(os.path.join(source, file), encoding="utf-8") as opened:
            lines = opened.read().split("\n")
        for number, line in enumerate(lines):
            for after in sorted(changes(line, language), key=_shuffled)[:_MOST_TRIED]:
                mutant = Mutant(file, number + 1, line, after)
                if texts := _texts(language, packages, source, mutant):
                    yield mutant, texts
                    break


def _shuffled(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_SWAPS = (
    (r"(?<![<=>!+-])<(?![<=\w])(?= )", "<="), (r"(?<![<=>!-])>(?![>=])(?= )", ">="), (r"<=(?= )", "<"),
    (r">=(?= )", ">"),
    (r"(?<![=!])===(?!=)", "!=="), (r"!==", "==="), (r"(?<![=!<>])==(?!=)", "!="), (r"!=(?!=)", "=="),
    (r"(?<= )\+(?= )", "-"), (r"(?<=[\w)\]] )-(?= )", "+"), (r"(?<=\w )\*(?= \w)", "+"),
    (r"//|(?<=[\w)] )/(?= \w)", "*"),
    (r"\b0\b", "1"), (r"\b1\b", "0"), (r"\b1\b", "2"), (r"\b100\b", "10"), (r"\b5000\b", "6000"), (r"\b20\b", "21"),
    (r"\b300\b", "301"), (r" and ", " or "), (r" or ", " and "), (r"&&", "||"), (r"\|\|", "&&"), (r" not in ", " in "),
    (r"(?<=\()!(?=\w|\()", ""), (r" is not ", " is "), (r"\bmax\b", "min"), (r"\bMath\.floor\b", ""),
    (r"\btrue\b", "false"), (r"\.trim\(\)|\.strip\(\)", ""), (r'"\\n"', '";"'), (r'","', '";"'),
)  # fmt: skip


_ASSIGNMENT = r"(\s*(?:(?:const|let|var|[A-Z]\w*(?:<.*>)?(?:\[\])?) )?[\w.]+(?:\[[^=]*\])? :?= ).+$"


def changes(line: str, language: Language) -> list[str]:
    """What a line can be changed to, each one change."""
    code = line.strip()
    if not code or code.startswith(
        (language.comment, "import", "package", "class ", "module.", "def ", "function ", "@")
    ):
        return []
    if re.match(r"(?:public|static|func|type|class|constructor)\b.*[{(]$", code) or re.match(r"\w+\(.*\) \{$", code):
        return []
    found: list[str] = []
    for pattern, instead in _SWAPS:
        for match in re.finditer(pattern, line):
            if not _in_quotes(line, match.start()) or '"' in pattern:
                found.append(line[: match.start()] + instead + line[match.end() :])
    end = ";" if code.endswith(";") else ""
    for nothing in language.nothing:
        returned = re.match(rf"(\s*return )(?!{re.escape(nothing)})[^,]+?;?$", line)
        given = re.match(_ASSIGNMENT, line) if not line.rstrip().endswith(("{", "[", "(")) else None
        if (changed := returned or given) is not None:
            found.append(f"{changed[1]}{nothing}{end}")
    if re.match(r"\s*[\w.\[\]]+\(.*\);?$", line) or re.match(r"\s*(?:[\w.]+(?:\[.*\])?) = .+$", line) or code in (
        "continue", "continue;",
    ):  # fmt: skip
        indent = line[: len(line) - len(line.lstrip())]
        found.append(indent + ("pass" if language.name == "python" else ""))
    return list(dict.fromkeys(change for change in found if change != line))


def _in_quotes(line: str, at: int) -> bool:
    return line.count('"', 0, at) % 2 == 1


def _texts(language: Language, packages: str, source: str, mutant: Mutant) -> list[tuple[str, str]]:
    """What the failing tests print, each by itself and in each setting; [] where none fails, or the program hangs."""
    found: list[tuple[str, str]] = []
    tests: list[str] = []
    for letter, setting in _SETTINGS.items():
        with tempfile.TemporaryDirectory(prefix="mutant-") as root:
            folder = os.path.join(os.path.realpath(root), "work")
            os.mkdir(folder)
            for name in os.listdir(source):
                with open(os.path.join(source, name), encoding="utf-8") as opened:
                    text = opened.read()
                if name == mutant.file:
                    lines = text.split("\n")
                    lines[mutant.line - 1] = mutant.after
                    text = "\n".join(lines)
                if name.endswith(language.suffix):
                    text = f"{language.comment} A line of the notes.\n" * setting.lines + text
                with open(os.path.join(folder, name), "w", encoding="utf-8") as opened:
                    opened.write(text)
            environment = {
                **{key: os.environ[key] for key in ("PATH", "GOCACHE", "GOPATH", "JAVA_HOME") if key in os.environ},
                "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8", "PACKAGES": packages, "NO_COLOR": "1",
                "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "GOFLAGS": "-mod=mod",
                "PYTHON": sys.executable,
            }  # fmt: skip
            if language.build and _run(language.build, folder, environment)[0] != 0:
                return []
            if letter == "A" and not language.is_all:
                tests = sorted(language.failing(language, folder, environment), key=_shuffled)[:_MOST_TESTS]
            printed = _printed(language, tests, folder, environment)
            if letter == "A" and language.is_all:
                tests = sorted(printed, key=_shuffled)[:_MOST_TESTS]
            for test in tests:
                text = printed.get(test, "")
                if not text or _GIVEN_UP.search(text):
                    return []
                found.append((f"{letter}:{test}", _neutral(text, folder, setting.folder, environment)))
    return found


def _printed(language: Language, tests: list[str], folder: str, environment: dict[str, str]) -> dict[str, str]:
    """What each of these tests prints when it is run by itself; those that pass or hang are left out."""
    if language.is_all:
        parts = _answer(folder, environment).split(_MARK)[1:]
        return {name: said for name, _, said in (part.partition("\n") for part in parts) if "FAILURES!!!" in said}
    outputs = {test: _run(language.one.format(test), folder, environment) for test in tests}
    return {test: text for test, (status, text) in outputs.items() if status}


@functools.cache
def _server(packages: str) -> subprocess.Popen[str]:
    folder = tempfile.mkdtemp(prefix="mutants-")
    with open(os.path.join(folder, "Runner.java"), "w", encoding="utf-8") as file:
        file.write(_RUNNER)
    path = ":".join([folder, *(os.path.join(packages, name) for name in ("junit-4.13.2.jar", "hamcrest-core-1.3.jar"))])
    subprocess.run(["javac", "-nowarn", "-cp", path, "-d", folder, f"{folder}/Runner.java"], check=True,
                   stderr=subprocess.DEVNULL)  # fmt: skip
    command = ["java", "-Xmx1g", "-cp", path, "Runner"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _answer(folder: str, environment: dict[str, str]) -> str:
    """What the one process prints about the program in this folder."""
    server = _server(environment["PACKAGES"])
    assert server.stdin and server.stdout
    server.stdin.write(folder + "\n")
    server.stdin.flush()
    said: list[str] = []
    while (line := server.stdout.readline()) and line != f"{_MARK}end\n":
        said.append(line)
    return "".join(said)


def _run(command: str, folder: str, environment: dict[str, str]) -> tuple[int | None, str]:
    """The exit status and what was printed; None where it took too long."""
    try:
        done = subprocess.run(
            ["bash", "-c", f"ulimit -S -v 8000000; ( {command}\n) 2>&1"], cwd=folder, env=environment, check=False,
            capture_output=True, timeout=_TIMEOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout.decode("utf-8", "replace")


def _neutral(text: str, folder: str, instead: str, environment: dict[str, str]) -> str:
    """The text with nothing of the machine in it that made it."""
    owner = "/".join(instead.split("/")[:3])
    for path, neutral in (
        (folder, instead), (environment["PACKAGES"], f"{owner}/packages"), (environment["HOME"], owner),
        (sys.prefix, "/usr"), (tempfile.gettempdir(), "/tmp"),
    ):  # fmt: skip
        text = re.sub(rf"(?<![\w.-]){re.escape(path)}", neutral, text)
    return re.sub(r"\tat (?:Runner\.|java\.base/java\.lang\.Thread\.).*\n", "", text)


def _failing_python(language: Language, folder: str, environment: dict[str, str]) -> list[str]:
    status, text = _run("$PYTHON -m pytest -q --tb=no -rf -p no:cacheprovider", folder, environment)
    return re.findall(r"^FAILED (\S+)", text, re.MULTILINE) if status is not None else []


def _failing_javascript(language: Language, folder: str, environment: dict[str, str]) -> list[str]:
    command = "node --max-old-space-size=512 $PACKAGES/node_modules/mocha/bin/mocha.js --reporter json test_*.js"
    status, text = _run(f"ulimit -S -v unlimited; {command}", folder, environment)
    start = text.find("{\n")
    return [one["fullTitle"] for one in json.loads(text[start:])["failures"]] if status and start >= 0 else []


def _failing_go(language: Language, folder: str, environment: dict[str, str]) -> list[str]:
    # A panic ends the whole run, so that each test is run by itself.
    found: list[str] = []
    with open(os.path.join(folder, "shop_test.go"), encoding="utf-8") as file:
        text = file.read()
    cases = re.findall(r'\{"(\w+)", "', text)
    tests = [one for one in re.findall(r"^func (Test\w+)\(", text, re.MULTILINE) if one != "TestEvaluate"]
    for test in (*tests, *(f"TestEvaluate$/^{case}" for case in cases)):
        status, _ = _run(language.one.format(test), folder, environment)
        if status is None:
            return []
        if status:
            found.append(test)
    return found


# One JVM for all mutants: each line read is a folder, whose program is compiled and whose tests are run one by one.
_RUNNER = """
import java.io.*;
import java.util.*;

public class Runner {
    public static void main(String[] none) throws Exception {
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String folder = asked.readLine(); folder != null; folder = asked.readLine()) {
            File out = new File(folder, "out");
            out.mkdir();
            List<String> given = new ArrayList<>(List.of("-nowarn", "-d", out.getPath()));
            for (File file : new File(folder).listFiles((in, name) -> name.endsWith(".java"))) {
                given.add(file.getPath());
            }
            OutputStream unread = OutputStream.nullOutputStream();
            javax.tools.JavaCompiler compiler = javax.tools.ToolProvider.getSystemJavaCompiler();
            if (compiler.run(null, unread, unread, given.toArray(new String[0])) == 0) {
                java.net.URL[] classes = {out.toURI().toURL()};
                try (java.net.URLClassLoader loader = new java.net.URLClassLoader(classes)) {
                    tested(loader);
                }
            }
            System.out.println("MARKend");
            System.out.flush();
        }
        System.exit(0);
    }

    static void tested(ClassLoader loader) throws Exception {
        for (String name : new String[] {"shop.OrdersTest", "shop.CalcTest", "shop.RoutesTest"}) {
            Class<?> tests = Class.forName(name, true, loader);
            for (java.lang.reflect.Method method : tests.getMethods()) {
                if (method.isAnnotationPresent(org.junit.Test.class)) {
                    ByteArrayOutputStream said = new ByteArrayOutputStream();
                    Thread thread = new Thread(() -> {
                        org.junit.runner.JUnitCore core = new org.junit.runner.JUnitCore();
                        core.addListener(new org.junit.internal.TextListener(new PrintStream(said)));
                        core.run(org.junit.runner.Request.method(tests, method.getName()));
                    });
                    thread.setDaemon(true);
                    thread.start();
                    thread.join(3000);
                    if (thread.isAlive()) {
                        thread.stop();
                        return;
                    }
                    System.out.println("MARK" + name + "#" + method.getName());
                    System.out.print(said);
                }
            }
        }
    }
}
""".replace("MARK", _MARK)
_JAVA_PATH = "$PACKAGES/junit-4.13.2.jar:$PACKAGES/hamcrest-core-1.3.jar"
LANGUAGES = (
    Language("python", ".py", "#", (), (), ("None",), "", _failing_python,
             "$PYTHON -m pytest -q -p no:cacheprovider '{0}'"),
    Language("javascript", ".js", "//", ("node",), ("node_modules/mocha",), ("null", "undefined"), "",
             _failing_javascript,
             "ulimit -S -v unlimited; node --max-old-space-size=512 $PACKAGES/node_modules/mocha/bin/mocha.js"
             " test_*.js -f '{0}'"),
    Language("java", ".java", "//", ("java", "javac"), ("junit-4.13.2.jar", "hamcrest-core-1.3.jar"), ("null", "0"), "",
             _failing_python, "", is_all=True),
    Language("go", ".go", "//", ("go",), (), ("nil", "0"), "ulimit -S -v unlimited; go test -c -o shop.test .",
             _failing_go,
             "timeout 5 ./shop.test -test.run '^{0}$' && exit 0; status=$?; [ $status = 124 ] && exit 0;"
             " echo 'exit status '$status; echo 'FAIL\texample.org/shop\t0.004s'; exit 1"),
)  # fmt: skip


if __name__ == "__main__":
    main()
