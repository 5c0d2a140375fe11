"""What mkdocs does beside rendering docs/: pages from elsewhere in the tree, and links as the site has them.

    README.md, ARCHITECTURE.md, CHANGELOG.md, …  ─►  pages of the site
    ctxrank schema                                ─►  reference.md: every option, exit code and field of an answer

A link to a page that is in the site leads there; a link to any other file of the tree shows the file's name.
"""

import json
import posixpath
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent.parent
# The pages that do not lie in docs/, by what they are called in the site.
ELSEWHERE = {
    "index.md": "README.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
    "benchmarks.md": "benchmarks/README.md",
}
REFERENCE = "reference.md"
_LINK = re.compile(r"(?P<label>!?\[[^\]]*\])\((?P<target>(?![a-z]+:|#)[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from elsewhere, and the reference."""
    for name, source in ELSEWHERE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    files.append(File.generated(config, REFERENCE, content=reference(_schema())))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A page's text with its links as the site has them."""
    del config, files
    home = posixpath.dirname(ELSEWHERE.get(page.file.src_uri, f"docs/{page.file.src_uri}"))
    return _LINK.sub(lambda link: _link(link, home), markdown)


def _link(link: re.Match[str], home: str) -> str:
    in_tree = posixpath.normpath(posixpath.join(home, link["target"]))
    pages = {source: name for name, source in ELSEWHERE.items()}
    if in_tree in pages:
        return f"{link['label']}({pages[in_tree]}{link['anchor'] or ''})"
    if in_tree.startswith("docs/") and (ROOT / in_tree).is_file():
        return f"{link['label']}({in_tree.removeprefix('docs/')}{link['anchor'] or ''})"
    label = link["label"].strip("![]").strip("`")
    return f"`{label}`" if label.strip("/") in in_tree else f"{label} (`{in_tree}`)"


def _schema() -> dict[str, Any]:
    command = [sys.executable, "-m", "ctxrank.cli", "schema", "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)


def reference(schema: Mapping[str, Any]) -> str:
    """The page of every command, from what `ctxrank schema` says: one section a command."""
    lines = ["# Every option and answer", "", "Made from `ctxrank schema`, which says the same as JSON.", ""]
    for name, command in schema["commands"].items():
        lines += _section(name, command)
    return "\n".join(lines) + "\n"


def _section(name: str, command: Mapping[str, Any]) -> Iterator[str]:
    about, _, example = command["help"].partition("Example: ")
    yield from (f"## {name}", "", " ".join(about.split()), "")
    if example:
        yield from ("```text", example.strip(), "```", "")
    if command["parameters"]:
        yield from ("| option | | default |", "|---|---|---|")
        for parameter in command["parameters"]:
            yield _row(*_parameter(parameter))
        yield ""
    codes = ", ".join(f"{code} {meaning}" for code, meaning in command["exit_codes"].items())
    yield from (f"Exit codes: {codes}.", "")
    if fields := list(_fields(command["answer"] or {})):
        yield from ("| field of the answer | type |", "|---|---|")
        yield from (_row(f"`{path}`", kind) for path, kind in fields)
        yield ""


def _parameter(parameter: Mapping[str, Any]) -> tuple[str, str, str]:
    words = ", ".join(parameter["words"]) or parameter["metavar"] or parameter["name"]
    about = parameter["help"] or ("required" if parameter["required"] else "")
    default = parameter["default"]
    return f"`{words}`", about, "" if default in (None, False, "", []) else f"`{default}`"


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _fields(schema: Mapping[str, Any], path: str = "", depth: int = 3) -> Iterator[tuple[str, str]]:
    """The fields of a JSON schema as `hits[].id`, down to some depth."""
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}".lstrip(".")
        inner = field.get("items", field) if depth else {}
        is_list = "items" in field
        yield here + ("[]" if is_list else ""), _type(field)
        yield from _fields(inner, here + ("[]" if is_list else ""), depth - 1)


def _type(field: Mapping[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    kinds: Sequence[str] | str = field.get("type", "")
    return kinds if isinstance(kinds, str) else " or ".join(kinds)
