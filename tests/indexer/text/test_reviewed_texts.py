"""What is read from texts of every kind, as it was reviewed: passages, names, parts of words, tokens, lines, patterns.

`pytest --rewrite-golden` writes `golden/texts.txt` again: the diff is what gets reviewed.
"""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxrank.extensions.links.globs import GlobTable, covered, fixed_prefix, matches, overlap
from ctxrank.indexer.store.facets import sqlite_globs
from ctxrank.indexer.text.definitions import defined_names
from ctxrank.indexer.text.digests import digest_of
from ctxrank.indexer.text.frontmatter import read_frontmatter
from ctxrank.indexer.text.identifiers import letter_kinds, split_identifiers, split_word
from ctxrank.indexer.text.invisible import without_ignorable, without_invisible
from ctxrank.indexer.text.light_json import is_deep
from ctxrank.indexer.text.lines import (
    error_title,
    fence,
    one_line,
    printable,
    quoted_line,
    searchable,
    session_label,
    shorten,
    visible_json,
)
from ctxrank.indexer.text.mentions import mentions
from ctxrank.indexer.text.passages import split_passages
from ctxrank.indexer.text.spans import Before, Fingerprint, Located, Source, Span
from ctxrank.indexer.text.tokens import cautious_tokens, estimate_tokens, model_factor, model_limit, surcharge

_GOLDEN = Path(__file__).parent / "golden" / "texts.txt"
_LINES = {
    "a.md": ["# One", "## Two", "### Three {n}", "```py", "~~~", "Title", "=====", "-----", "- a list", "| a | b |"],
    "a.rst": ["Title", "=====", "-----", "~~~~~", "* item", ".. note:: {n}", "Longer title {n}", "================"],
    "a.py": [
        "def f{n}():",
        "    def g(self):",
        "class C{n}:",
        "@d",
        "# note",
        '    """',
        "    return [",
        "async def h():",
        "        x = '''a",
        "    )",
        "x = \\",
    ],
    "a.go": ["func (s *S) Get{n}() {", "}", "type T{n} struct {", "// note", "\tif x {", "\treturn", "import ("],
    "a.ts": [
        "export class C{n} {",
        "  get(x: number): void {",
        "}",
        "const f{n} = (x) => {",
        "@d()",
        "/** note */",
        "function g() {",
        "  return g(1, 2)",
        "interface I {",
    ],
    "a.c": ["int", "f{n}(int x)", "{", "}", "static void g(void) {", "#define X", "/* note", " */", "  call(x);"],
    "a.java": [
        "public class C{n} {",
        "  @Override",
        "  public int get() {",
        "  }",
        "}",
        "  // note",
        "  int x = f(1);",
    ],
    "a.log": ["2026-11-22 10:00 line {n} is done", "  more of it", "{n}"],
}
_PLAIN = ["", "  ", "text of line {n}", "word " * 12, "a long line {n}, " * 40, "\t- indented", "é{n} wörter"]
_WORDS = (
    "getUserById HTTPServer parse_JSON2 snake_case_name kebab-case SCREAMING_CASE x2y mp3Player ID userID iPhone12Pro "
    "Überweisung größeWert 数据库 数据库Error ÉcoleNormale __init__ v2 utf8 A1B2 getX XMLHttpRequest a aB Ab AB日本"
).split()
_TEXTS = (
    "",
    " ",
    "a",
    "The index answers as before.",
    "x = f(a, b[1], 'c') != {**d}",
    "a\n\n\nb\r\nc",
    "  \t x\t\ty   z",
    "0123456789 12 345 6",
    "AAAAAAA BBBB Cc DdD",
    "!!!??? ... ---- ==== ***",
    "deadbeef0123456789abcdef0123 Zx9Qw8Er7Ty6",
    "検索エンジン 全文",
    "é à ü",
    "👍🏽 done 🎉",
    "\ud800",
    "a``b```c````d",
    "tab\tbell\x07 esc\x1b[31mred\x1b[0m nul\x00",
    "a\u200bb\u00adc\ufeffd",
    "a\u202eb",
    "line one\nline two\n",
    "### heading",
    "> quote",
    '{"a": "b\\u2028\x7f"}',
    "https://example.org/a/b?c=d&e=1",
    "word" * 90,
)
_GLOBS = (
    "*.py",
    "src/**",
    "src/*/a.py",
    "**/test_*.py",
    "src/a.py",
    "docs/",
    "[ab].md",
    "src/?.py",
    "**",
    "a{b,c}.py",
    "/top",
    "",
)
_PATHS = ("a.md", "b.md", "docs/a.md", "src/a.py", "src/b/a.py", "src/b/c/test_x.py", "test_x.py", "top", "x/top")
_FRONT = (
    "---\nid: A-1\ntitle: A title\n---\nbody\n",
    "---\na: [1, 2\n---\nb\n",
    "---\na: 1\n",
    "no",
    "---\n---\n",
    "---\na: 1\na: 2\n...\nb",
    "---\n- list\n---\n",
    "---\na:\n  b: c\n  d: [e, f]\ng: 2026-11-22\nh: true\n---\n\nbody",
    "---\na: *x\n---\n",
    "\ufeff---\na: 'b: c'\n---\nx",
    "---\na: b: c\nd: e\n---\n",
    "---\n" + "a:\n" + "  " * 3 + "b: 1\n---\n",
    "---\n1: 2\nyes: no\nnull: x\n---\n",
    "---  \na: |\n  two\n  lines\n---\n",
)
_MENTIONING = (
    "src/a.py:4 src/a.py#L4 src/a.py:4-9 src/a.py, line 7 src/a.py lines 7-12 ./a/b.c /etc/x.conf ~/x.py http://h/x.py",
    "Makefile and sub/Dockerfile:3, a.b.c.d, v1.2.3, e.g. x.y",
    "`open_store()` `Store.open` `a->b` `A::b` `a` `$ make test` `make test-all` `npm run build` `tox -e py311`",
    "`level: 3` `level=3` `'a.b' := 4` `x = compute(1, 2)` `short()` `# not this` ``double `tick` ``",
    "calls run() and a.run() and `run()` but not 3() or .run()",
    "```py\nx = compute(1,   2)\nmake test\n  deep()\n```\n~~~\ntotal := sum(xs)\n~~~\n",
    " ".join(f"a{number}.py" for number in range(70)),
)
_MODELS = (
    "gpt-4o",
    "claude",
    "claude-3-5-sonnet",
    "claude-opus-4.6",
    "claude-opus-4-7",
    "sonnet-5",
    "haiku-4.7.1",
    "x",
    "",
    "opus 12",
)


def _drawn(path: str, seed: int) -> str:
    chance = random.Random(f"{path}{seed}")
    choices = [*_LINES[path] * 2, *_PLAIN]
    lines = [chance.choice(choices).replace("{n}", str(n)) for n in range(chance.choice((6, 30, 90, 200)))]
    return "\n".join(lines) + "\n" * (seed % 2)


def _edited(text: str, chance: random.Random) -> str:
    """The text after some work: lines gone, new, further in, in another order, and with another word."""
    lines: list[str] = []
    for line in text.split("\n"):
        drawn = chance.random()
        if drawn < 0.1:
            continue
        if drawn < 0.2:
            lines.insert(max(len(lines) - 2, 0), "added = 1")
        lines.append(f"  {line}" if drawn > 0.9 else line.replace("x", "total") if drawn > 0.8 else line)
    return "\n".join(lines)


def _followed(path: str, seed: int) -> Iterator[tuple[str, Span, Located | None, object]]:
    """What a store keeps of spans, and where they are after some work: the named ones, and lines drawn at random."""
    text, chance = _drawn(path, seed), random.Random(seed)
    before, after = Source(path, text), Source(path, _edited(text, chance))
    named = [(name, span) for name in defined_names(text, path).code[:5] for span in before.defined(name)[:2]]
    starts = [chance.randrange(1, len(before.lines) + 1) for _ in range(6)]
    for name, span in [*named, *(("", Span(start, start + chance.randrange(4))) for start in starts)]:
        kept = Fingerprint.read(str(before.fingerprint(span)))
        nearest = after.exact(kept, span.start)
        known = [[*map(sorted, (one.lines, one.words))] for one in (kept, after.known(kept))]
        yield (
            name,
            span,
            after.find(kept, name, span.start, Before(before, span)),
            (nearest, before.trimmed(span), known),
        )


def _parts() -> Iterator[str]:
    for path in _LINES:
        for seed in range(8):
            text = _drawn(path, seed)
            found = [(one.heading, one.start_line, one.end_line) for one in split_passages(text, path, 1 + seed % 3)]
            names = defined_names(text, path)
            yield f"{path} {seed}: {len(found)} {digest_of(repr(found), 4)} {len(names.code)} {len(names.headings)}"
            if seed < 2:
                yield from (f"   {start}-{end} {heading}" for heading, start, end in found[:12])
    for path in _LINES:
        for seed in range(4):
            followed = [*_followed(path, seed)]
            yield f"spans of {path} {seed}: {digest_of(repr(followed), 8)}"
            yield from (f"   {name} {tuple(span)} -> {found}" for name, span, found, _ in followed[:4])
    for text in _MENTIONING:
        yield f"{text!r}: {[(one.kind, *one[1:]) for one in mentions(text)]}"
    for word in _WORDS:
        yield f"{word}: {split_word(word)} {split_identifiers(word, f'{word} x')!r} {letter_kinds(word)}"
    for text in _TEXTS:
        tokens = (
            f"{estimate_tokens(text)} {cautious_tokens(text):.3f} {surcharge(text):.3f} {estimate_tokens(text * 40)}"
        )
        yield f"{text[:40]!r}: {tokens} {surcharge(text * 9):.3f}"
        said = (one_line, printable, searchable, quoted_line, fence, without_invisible, without_ignorable)
        yield f"   {[one(text)[:60] for one in said]}"
        yield f"   {shorten(text, 12)!r} {error_title('KeyError', text)[:60]!r} {visible_json(text)[:60]!r}"
    yield f"{session_label(None, None)!r} {session_label('n', None)!r} {session_label('n', 'The title is long ' * 9)!r}"
    for glob in _GLOBS:
        yield f"{glob}: {[path for path in _PATHS if matches(glob, path)]} {[*covered(glob, sorted(_PATHS))]}"
        others = [other for other in _GLOBS if overlap(glob, other)]
        yield f"   {fixed_prefix(glob)!r} {not set('*?[{') & set(glob)} {sqlite_globs(glob)} {others}"
        yield f"   {[at for at in GlobTable(_GLOBS).near(glob) if overlap(glob, _GLOBS[at])]}"
    for front in _FRONT:
        yield f"{front!r}: {tuple(read_frontmatter(front))}"
    for model in _MODELS:
        yield f"{model}: {model_factor(model)} {model_limit(model)}"
    yield f"{[depth for depth in range(1, 400, 3) if is_deep('[' * depth + ']' * depth)][:1]}"


def test_what_is_read_from_texts_is_what_was_reviewed(request: pytest.FixtureRequest) -> None:
    found = [line.encode("utf-8", "backslashreplace").decode() for line in _parts()]
    if request.config.getoption("--rewrite-golden"):
        _GOLDEN.parent.mkdir(exist_ok=True)
        _GOLDEN.write_text("\n".join([*found, ""]), encoding="utf-8")
    assert [*found, ""] == _GOLDEN.read_text(encoding="utf-8").split("\n")
