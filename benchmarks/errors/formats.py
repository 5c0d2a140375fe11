"""Error texts made from the message formats of tools at hand: python benchmarks/errors/formats.py OUT [--only TOOL]

A tool's program holds the formats of its messages ("%qD was not declared in this scope"). Each is filled three times,
with other names, types, numbers and places, and announced as the tool announces an error. The format is the group:
which messages are one template is what the tool says, not what anyone thinks. Nothing of the formats is committed;
OUT gets one TOOL.jsonl for each tool, as corpus.py reads them. A tool that is missing is left out, which is said.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import NamedTuple

_MOST = 350  # formats of a tool
_TEXTS = 3  # of a format
_LEAST_WORDS = 2  # outside of placeholders
_SPEAKS_OF_FAILURE = re.compile(
    r"\b(?:cannot|can't|could not|couldn't|unable|fail(?:ed|ure)|invalid|not|unknown|no|missing|must|expected"
    r"|bad|already|illegal"
    r"|undefined|undeclared|unexpected|conflicting|redefinition|ambiguous|too (?:many|few)|duplicate|without"
    r"|incompatible|unrecognized|unsupported|never|only|does not|is not)\b"
)
_NAMES = (
    "count", "value", "user", "order", "items", "cart", "ledger", "cart_total", "readLine", "parseOrder", "x", "tmp2",
    "MAX_SIZE", "index", "node", "queue", "retry_policy", "toString", "shipping", "n", "handler", "isValid", "status",
)  # fmt: skip
_PATHS = ("src/cart.c", "lib/orders/parse.c", "/srv/app/data.txt", "config.yaml", "build/out.o", "notes", "a/b/c.h")
_TYPES = (
    "int",
    "long int",
    "const char*",
    "unsigned int",
    "double",
    "Basket",
    "Order*",
    "bool",
    "char",
    "void",
    "float",
)
_AKA = (
    "std::string' {aka 'std::__cxx11::basic_string<char>'}", "size_t' {aka 'long unsigned int'}",
    "uint8_t' {aka 'unsigned char'}", "T' {aka 'int'}", "std::vector<int>", "std::map<int, Basket>", "const Basket&",
)  # fmt: skip
_JAVA_TYPES = (
    "int",
    "String",
    "List<Integer>",
    "Basket",
    "Map<String,Order>",
    "long",
    "Object",
    "T",
    "double[]",
    "CAP#1",
)
_DECLARATIONS = (
    "int main(int, char**)", "void Basket::add(const char*)", "count", "Order::Order(int)", "total",
    "double price(int)",
    "struct Basket", "bool operator==(const Order&, const Order&)", "template<class T> T largest(T, T)", "items",
)  # fmt: skip


class Tool(NamedTuple):
    """Where a tool's formats are, how a placeholder is filled and how an error is announced."""

    name: str
    formats: Callable[[], Iterator[str]]
    placeholder: str
    fill: Callable[[str, random.Random], str]
    announced: str  # {m} the message, {f} a file's stem, {n} a line


def main() -> None:
    """Make what can be made."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("--only", metavar="TOOL")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for tool in TOOLS:
        if options.only not in (None, tool.name):
            continue
        groups = {_group(tool, one): one for one in tool.formats() if _is_message(tool, one)}
        if not groups:
            print(f"{tool.name}: left out, not here", file=sys.stderr)
            continue
        chosen = sorted(groups, key=_shuffled)[:_MOST]
        with open(os.path.join(options.out, f"{tool.name}.jsonl"), "w", encoding="utf-8") as file:
            for group in chosen:
                for number in range(_TEXTS):
                    text = _text(tool, groups[group], random.Random(f"{group}:{number}"))
                    row = {
                        "id": f"{group}:{number}",
                        "group": f"{tool.name}:{group}",
                        "text": text,
                        "text_nocode": text,
                    }
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
        print(f"{tool.name}: {len(chosen)} formats", file=sys.stderr)


def _shuffled(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _group(tool: Tool, text: str) -> str:
    """The format with every placeholder alike and without plurals: formats that differ in no more say the same."""
    said = re.sub(tool.placeholder, "\x00", text).replace("%<", "'").replace("%>", "'").lower()
    words = re.findall(r"\x00|[^\W\d_]+", said)
    return " ".join("@" if word == "\x00" else re.sub(r"(?<=\w{3})e?s$", "", word) for word in words)


def _is_message(tool: Tool, text: str) -> bool:
    rest = re.sub(tool.placeholder, " ", text)
    words = re.findall(r"[A-Za-z]{2,}", rest)
    return (
        len(words) > _LEAST_WORDS and len(text) < 160 and rest != text and _SPEAKS_OF_FAILURE.search(rest) is not None
        and not re.search(r"[{}]\w|\t|^\s|\s$|-->|\busage\b", rest)
    )  # fmt: skip


def _text(tool: Tool, text: str, chance: random.Random) -> str:
    message = re.sub(tool.placeholder, lambda match: tool.fill(match[0], chance), text)
    message = message.replace("%<", "\u2018").replace("%>", "\u2019").replace("%%", "%")
    stem = chance.choice(("cart", "orders", "ledger", "main", "Parser", "node"))
    return tool.announced.format(m=message, f=stem, n=chance.randint(2, 400))


def _strings(path: str) -> Iterator[str]:
    """The printable texts of a program file."""
    with open(path, "rb") as file:
        for found in re.finditer(rb"[\x20-\x7e\n]{10,400}(?=\0)", file.read()):
            yield found[0].decode("ascii").strip("\n")


def _gcc_formats() -> Iterator[str]:
    if shutil.which("g++"):
        path = subprocess.run(["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True, check=False).stdout
        for text in _strings(path.strip()) if os.path.isabs(path) else ():
            if "%q" in text or "%<" in text:
                yield text


def _fill_gcc(sign: str, chance: random.Random) -> str:
    letter = sign[-1]
    if letter in "dui":
        return str(chance.randint(0, 90))
    if letter in "THIV":
        inner = chance.choice(_TYPES if chance.random() < 0.6 else _AKA)
        if "q" not in sign:
            return inner.partition("'")[0]
        inner = inner.replace("' {aka '", "\u2019 {aka \u2018").replace("'}", "\u2019}")
        return f"\u2018{inner}" if inner.endswith("}") else f"\u2018{inner}\u2019"
    value = chance.choice(_DECLARATIONS if letter in "DF" else _NAMES)
    return f"\u2018{value}\u2019" if "q" in sign else value


def _program_formats(name: str) -> Callable[[], Iterator[str]]:
    def formats() -> Iterator[str]:
        path = shutil.which(name)
        if path is not None:
            yield from (one for one in _strings(os.path.realpath(path)) if "\n" not in one)

    return formats


def _postgres_formats() -> Iterator[str]:
    root = "/usr/lib/postgresql"
    for version in sorted(os.listdir(root))[-1:] if os.path.isdir(root) else ():
        yield from (one for one in _strings(os.path.join(root, version, "bin", "postgres")) if one[:1].islower())


def _fill_c(sign: str, chance: random.Random) -> str:
    if sign[-1] in "duixXzlcf":
        return str(chance.randint(0, 9000))
    return chance.choice(_NAMES if chance.random() < 0.6 else _PATHS)


def _perl_formats() -> Iterator[str]:
    found = subprocess.run(["perldoc", "-l", "perldiag"], capture_output=True, text=True, check=False) if shutil.which(
        "perldoc") else None  # fmt: skip
    paths = [found.stdout.strip()] if found and found.stdout else []
    paths += [f"/usr/share/perl/{version}/pod/perldiag.pod" for version in _listed("/usr/share/perl")]
    for path in filter(os.path.isfile, paths):
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("=item ") and "<<" not in line:
                    yield re.sub(r"[A-Z]<(.*?)>", r"\1", line[6:].strip())
        return


def _listed(folder: str) -> list[str]:
    return sorted(os.listdir(folder), reverse=True) if os.path.isdir(folder) else []


_BUNDLE = """
public class Bundle {
    public static void main(String[] names) throws Exception {
        java.util.ResourceBundle bundle =
            (java.util.ResourceBundle) Class.forName(names[0]).getDeclaredConstructor().newInstance();
        for (String key : bundle.keySet()) {
            System.out.println(key + "\\t" + bundle.getString(key).replace("\\n", "\\\\n"));
        }
    }
}
"""


def _javac_formats() -> Iterator[str]:
    if shutil.which("java") is None:
        return
    opened = "jdk.compiler/com.sun.tools.javac.resources=ALL-UNNAMED"
    with tempfile.TemporaryDirectory(prefix="formats-") as folder:
        path = os.path.join(folder, "Bundle.java")
        with open(path, "w", encoding="utf-8") as file:
            file.write(_BUNDLE)
        done = subprocess.run(
            ["java", "--add-opens", opened, "--add-exports", opened, path, "com.sun.tools.javac.resources.compiler"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    for line in done.stdout.split("\n"):
        key, _, text = line.partition("\t")
        if key.startswith("compiler.err.") and "\\n" not in text:
            yield text.replace("''", "'")


def _fill_java(sign: str, chance: random.Random) -> str:
    return chance.choice(_JAVA_TYPES if chance.random() < 0.4 else _NAMES)


_C_SIGNS = r"%[-+ #0]*\d*(?:\.\d+|\.\*)?(?:hh|h|ll|l|z)?[sduixXcf]"
TOOLS = (
    Tool("gcc", _gcc_formats, r"%[q+#]*(?:w|l|ll|z)?[DEFTHIVsducxi]", _fill_gcc, "{f}.cpp:{n}:5: error: {m}\n"),
    Tool("git", _program_formats("git"), _C_SIGNS, _fill_c, "fatal: {m}\n"),
    Tool("perl", _perl_formats, _C_SIGNS, _fill_c, "{m} at {f}.pl line {n}.\n"),
    Tool("javac", _javac_formats, r"\{\d+\}", _fill_java, "{f}.java:{n}: error: {m}\n"),
    Tool("postgres", _postgres_formats, _C_SIGNS, _fill_c, "ERROR:  {m}\n"),
    Tool("bash", _program_formats("bash"), _C_SIGNS, _fill_c, "./{f}.sh: line {n}: {m}\n"),
)  # fmt: skip


if __name__ == "__main__":
    main()
