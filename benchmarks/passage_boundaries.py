"""Where passages of code begin, against the syntax trees of ast-grep-py (tree-sitter): by language.

python benchmarks/passage_boundaries.py FOLDER… [--json FILE] [--failures LANGUAGE]

A passage begins well where a statement of the file's top level, a member of a type, or a definition anywhere begins (in
JavaScript also a call that is handed a function, as tests are), with the comments, decorators, attributes and
annotations directly above it. A definition is *whole at the top* where these stand in the passage that has its name.
What is cut inside a body, because the body is larger than a passage, counts as begun badly. `--parsed` gives the cutter
the sections of the syntax trees in place of its own: what a parser would gain. `pip install ast-grep-py`, which nothing
else uses.
"""

import argparse
import importlib
import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

# Only this program needs the parser, and what it replaces in the cutter is the cutter's own.
SgRoot: Any = importlib.import_module("ast_grep_py").SgRoot
cutter: Any = importlib.import_module("ctxrank.indexer.text.passages")

_LANGUAGES = {
    ".py": "python", ".js": "javascript", ".ts": "typescript", ".go": "go", ".rs": "rust", ".java": "java",
    ".c": "c", ".h": "c", ".cpp": "cpp", ".cc": "cpp", ".cs": "csharp", ".rb": "ruby", ".php": "php",
}  # fmt: skip
_MAX_BYTES = 300_000
_LEADS = frozenset({"comment", "line_comment", "block_comment", "attribute_item", "decorator", "attribute_list"})
_BODIES = frozenset({
    "class_body", "declaration_list", "field_declaration_list", "interface_body", "enum_body", "object_type",
    "enum_body_declarations", "enum_variant_list", "enumerator_list", "namespace_body", "module", "body_statement",
})  # fmt: skip
_DEFINITIONS = frozenset({
    "function_definition", "class_definition", "decorated_definition", "function_declaration", "class_declaration",
    "method_definition", "method_declaration", "constructor_declaration", "interface_declaration", "enum_declaration",
    "function_item", "struct_item", "enum_item", "trait_item", "impl_item", "mod_item", "macro_definition", "type_item",
    "type_alias_declaration", "type_declaration", "record_declaration", "annotation_type_declaration", "method",
    "class", "singleton_method", "generator_function_declaration", "internal_module", "struct_specifier",
})  # fmt: skip
_STATEMENTS = frozenset({"expression_statement", "lexical_declaration", "variable_declaration"})
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "function"})
_WRAPPERS = frozenset({"decorated_definition", "export_statement", "template_declaration"})


def _defines_function(statement: Any) -> bool:
    """Whether a statement of JavaScript names a function, or hands one to a call as a block (describe, it)."""
    for inner in statement.children():
        value = inner.field("value") or inner.field("right") or inner.field("arguments")
        if value is None:
            continue
        if value.kind() in _FUNCTIONS or any(child.kind() in _FUNCTIONS for child in value.children()):
            return True
    return False


def true_starts(text: str, language: str) -> tuple[set[int], dict[int, int]]:
    """Lines, from 1, that a passage may begin on; and of each definition its own line with the first of its leads."""
    root = SgRoot(text, language).root()
    starts: set[int] = set()
    definitions: dict[int, int] = {}
    waiting: list[tuple[Any, bool]] = [(root, True)]
    while waiting:
        node, is_body = waiting.pop()
        above = -1  # where the leads of the next child began
        last_line = -2
        for child in node.children():
            kind, line, end = child.kind(), child.range().start.line, child.range().end
            end_line = end.line - (end.column == 0 and end.line > line)
            if kind in _LEADS:
                if above < 0 or line > last_line + 1:
                    above = line
                    if is_body:
                        starts.add(line + 1)
                last_line = end_line
                continue
            first = above if above >= 0 and line <= last_line + 1 else line
            is_definition = child.is_named() and kind in _DEFINITIONS and node.kind() not in _WRAPPERS
            if kind in _STATEMENTS and not is_body:
                is_definition = _defines_function(child)
            if child.is_named() and (is_body or is_definition or kind in _WRAPPERS):
                starts.add(first + 1)
            if is_definition:
                name = child.field("name") or child.field("definition") or child
                name = name.field("name") or name
                definitions[name.range().start.line + 1] = first + 1
            above, last_line = -1, -2
            is_inner = kind in _BODIES or (kind == "block" and node.kind() == "class_definition")
            waiting.append((child, is_inner))
    return starts, definitions


def _parsed_sections(text: str, path: str) -> list[Any]:
    """What the cutter takes for sections, from a syntax tree: the best that a parser could do for it."""
    starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    _, definitions = true_starts(text, _LANGUAGES[os.path.splitext(path)[1]])
    lines = text.split("\n")
    openings: list[Any] = []
    for line, first in sorted(definitions.items(), key=lambda one: one[1]):
        level = len(lines[line - 1]) - len(lines[line - 1].lstrip())
        openings.append(cutter._Opening(starts[first - 1], level, lines[line - 1].strip()[:60]))
    sections: list[Any] = cutter._nest(text, iter(openings))
    return sections


def _files(folders: list[str]) -> Iterator[tuple[str, str, str]]:
    for folder in folders:
        for top, below, names in os.walk(folder):
            below[:] = sorted(name for name in below if not name.startswith(".") and name != "node_modules")
            for name in sorted(names):
                language = _LANGUAGES.get(os.path.splitext(name)[1])
                path = os.path.join(top, name)
                if language and os.path.getsize(path) <= _MAX_BYTES and not name.endswith(".min.js"):
                    try:
                        with open(path, encoding="utf-8", newline="") as file:
                            yield path, language, file.read()
                    except UnicodeDecodeError:
                        continue


def main() -> None:
    """Print a table: language, files, passages, and the shares; MB of text a second."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--json", default="", help="Write the figures to this file, too.")
    parser.add_argument("--failures", default="", help="List where passages of this language begin badly instead.")
    parser.add_argument("--parsed", action="store_true", help="Take the sections from the syntax trees.")
    options = parser.parse_args()
    if options.parsed:
        cutter._sections = _parsed_sections
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    seconds: dict[str, float] = defaultdict(float)
    for path, language, text in _files(options.folders):
        counts = counted[language]
        began = time.process_time()
        passages: list[Any] = cutter.split_passages(text, path)
        seconds[language] += time.process_time() - began
        starts, definitions = true_starts(text, language)
        lines = text.split("\n")
        counts["files"] += 1
        counts["chars"] += len(text)
        first_lines: list[int] = []
        for passage in passages:
            line: int = passage.start_line
            while line < passage.end_line and not lines[line - 1].strip():
                line += 1
            counts["passages"] += 1
            is_good = line == 1 or line in starts or not lines[line - 1].strip()
            counts["begin well"] += is_good
            if not is_good:
                counts["at a definition without its top"] += line in definitions
            if not is_good and options.failures == language:
                sys.stdout.write(f"{path}:{line}: {lines[line - 1]}\n")
            first_lines.append(passage.start_line)
        for line, lead in definitions.items():
            if lead < line:
                counts["definitions with a top"] += 1
                counts["whole at the top"] += not any(lead < first <= line for first in first_lines)
    figures: dict[str, dict[str, float]] = {}
    for language, counts in sorted(counted.items()):
        if options.failures:
            break
        figures[language] = {
            "files": counts["files"], "MB": round(counts["chars"] / 1e6, 2), "passages": counts["passages"],
            "begin well": round(counts["begin well"] / max(counts["passages"], 1), 3),
            "definitions with a top": counts["definitions with a top"],
            "whole at the top": round(counts["whole at the top"] / max(counts["definitions with a top"], 1), 3),
            "MB/s": round(counts["chars"] / 1e6 / seconds[language], 1),
        }  # fmt: skip
        sys.stdout.write(f"{language:12} {json.dumps(figures[language])}\n")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
