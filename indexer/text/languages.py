"""Languages by the extensions of their files, as far as passages and definitions are found in them."""

MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
PROSE = MARKDOWN | {".rst", ".txt", ".adoc", ".asciidoc", ".org", ".tex", ".rtf"}
PYTHON = frozenset({".py", ".pyi", ".pyx"})
# One extension a line would take a page.
# fmt: off
BRACES = frozenset({
    ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".go", ".rs", ".java", ".kt", ".kts",
    ".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".mm", ".cs", ".swift", ".dart", ".zig",
    ".php", ".rb", ".lua", ".ex", ".exs", ".sh", ".bash", ".zsh", ".scala",
})
# fmt: on


# Where every function has a keyword, a name before a parenthesis is a call.
FUNCTION_KEYWORD = frozenset({".go", ".rs", ".kt", ".kts", ".swift", ".lua", ".ex", ".exs", ".rb", ".scala", ".zig"})
