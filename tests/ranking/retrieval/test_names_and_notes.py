"""What a path says of a file, which name may hold a secret, and how many damaged rows an answer speaks of."""

import random
import string
from collections.abc import Callable

import pytest
from tables import each_row

from ctxrank.indexer.redaction.ruleset import RedactionMode
from ctxrank.ranking.retrieval import cleaning, folding
from ctxrank.ranking.retrieval.cleaning import cleaned_name
from ctxrank.ranking.retrieval.file_kinds import DATA, EXAMPLE, GENERATED, PROSE, RECORD, SOURCE, TEST, kind_of
from ctxrank.ranking.retrieval.hits import corrupt_row_notes

_is_language: Callable[[str], bool] = vars(folding)["_is_language"]
_without_language: Callable[[str], str] = vars(folding)["_without_language"]


@each_row(
    "kind, paths",
    [
        (RECORD, ("",)),
        (PROSE, ("a.md", "docs/a.rst", "README", "docs/test_a.md", "vendor/README")),
        (TEST, ("tests/a.py", "a_test.go", "vendor/tests/a.py", "examples/tests/a.py")),
        (EXAMPLE, ("examples/a.py", "a/demo/b.json", "fuzz/a.c", "vendor/samples/a.c")),
        (
            GENERATED,
            (
                "vendor/a.py",
                "a.min.js",
                "types/a.d.ts",
                "a/node_modules/b.ts",
                "yarn.lock",
                "x-lock.json",
                "dist/a.json",
            ),
        ),
        (DATA, ("Makefile", "a/.env", "a.yaml", "a.CSV", "setup.py", "a/build.zig", "x.ipynb", "go.sum", "Dockerfile")),
        (SOURCE, ("a.py", "src/example.py", "vendor.py", "lib/min.js", "makefile.py", "a/lock", "distribution/a.c")),
    ],
)
def test_a_path_says_what_a_file_is_the_first_that_fits(kind: str, paths: tuple[str, ...]) -> None:
    assert {path: kind_of(path) for path in paths} == dict.fromkeys(paths, kind)


@each_row(
    "path, place",
    [
        ("docs/de/setup.md", "docs/setup.md"),
        ("docs/pt-BR/setup.md", "docs/setup.md"),
        ("docs/zh_Hant/a.md", "docs/a.md"),
        ("docs/setup.de.md", "docs/setup.md"),
        ("docs/setup.v2.md", "docs/setup.v2.md"),
        ("de/setup.py", ""),
        ("", ""),
        ("docs/dex/setup.md", "docs/dex/setup.md"),
        ("docs/de-12/a.md", "docs/de-12/a.md"),
        ("de.md", "de.md"),
    ],
)
def test_translations_have_one_place(path: str, place: str) -> None:
    assert _without_language(path) == place


def test_a_region_is_of_up_to_four_letters() -> None:
    assert all(map(_is_language, ("de", "DE", "pt-BR", "zh_Hant", "fr-")))
    assert not any(map(_is_language, ("xx1", "de-Latin", "de-1", "de-é", "", "-de")))


def test_a_note_counts_the_rows_that_were_left_out() -> None:
    assert corrupt_row_notes(()) == ()
    assert corrupt_row_notes({7})[0].startswith("1 row of the store is damaged")
    assert corrupt_row_notes({7, 8})[0].startswith("2 rows of the store are damaged")


def test_a_secret_that_was_given_as_a_name_is_taken_out() -> None:
    mode = RedactionMode.PATTERN_ONLY
    token = "ghp_" + "".join(random.Random(3).choices(string.ascii_letters + string.digits, k=36))
    assert token not in cleaned_name(token, mode) and token not in cleaned_name(f"team/{token}", mode)
    assert cleaned_name(token, RedactionMode.OFF) == token
    word = "hunter" + "2" * 2
    assert word not in cleaned_name(f"password={word}", mode) and word not in cleaned_name(f"https://a:{word}@x", mode)
    for name in ("developer", "senior_software_engineer", "shop-2026-11", "thisisonelongplainname", "Größe", "a,b"):
        assert cleaned_name(name, mode) == name


def test_a_name_of_short_parts_is_not_looked_at_and_one_as_long_as_a_token_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked_at(name: str, _: RedactionMode) -> str:
        return f"looked at {name}"

    monkeypatch.setattr(cleaning, "cleaned_task", looked_at)
    short, long = "Ab3" * 4 + "x", "Ab3" * 4 + "xy"
    for name, is_looked_at in (
        (short, False),
        (long, True),
        (f"{short}-{short}_{short}.{short}/{short}", False),
        (f"{short}-{long}", True),
        ("x" * 40, False),
        ("X" * 40, True),
        ("a=b", True),
        ("a@b", True),
        ("a:b", True),
        ("a,b", True),
        ("ü", True),
    ):
        assert cleaned_name(name, RedactionMode.PATTERN_ONLY) == f"{'looked at ' * is_looked_at}{name}"
