"""What stdin and files give a command is bounded: a flood of zeros ends in a sentence, soon and in little memory."""

import io
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from builders import make_store
from tables import each_row, first_quick

from ctxrank.cli.actions.given import given_text, number_of, read_given, read_given_start, readable
from ctxrank.indexer.exceptions import UsageError

# Reads as much as is asked of it, and writes the largest size that the process came to.
FLOODED = """
import resource, subprocess, sys
flood = open(sys.argv[1], "rb")
done = subprocess.run([sys.executable, "-m", "ctxrank.cli", *sys.argv[2:]], stdin=flood, capture_output=True, text=True)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024, done.stderr.strip(), sep="\\n")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, and next to it a file of 300 MB of zeros that takes no room."""
    folder = tmp_path_factory.mktemp("flood")
    subprocess.run([sys.executable, "-m", "ctxrank.cli", "init"], cwd=folder, check=True, capture_output=True)
    subprocess.run(
        [sys.executable, "-m", "ctxrank.cli", "session", "create", "s"], cwd=folder, check=True, capture_output=True
    )
    with (folder / "zeros").open("wb") as file:
        file.truncate(300_000_000)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code", "said"),
    first_quick(
        [
            ("search -", 2, "stdin holds more than 100,000 bytes"),
            ("strategy save --topic general --project p -", 2, "stdin holds more than 4,000,000 bytes"),
            ("reasoning save --session s --agent developer --phase completion -", 2, "stdin holds more than 4,000,000"),
            (
                "reasoning save --session s --agent developer --phase completion --content-file zeros",
                2,
                "zeros holds more",
            ),
            ("purge --secret -", 2, "stdin holds more than 4,000,000 bytes"),
            ("purge --secret zeros", 2, "zeros holds more than 4,000,000 bytes"),
            ("error match", 1, "not known"),
            ("error match zeros", 1, "not known"),
            ("skill save-output lint --session s", 2, "stdin holds more than 128,000,000 bytes"),
            ("skill suggest --agent developer -", 2, "stdin holds more than 100,000 bytes"),
            ("import jsonl -", 2, "it is too long"),
            ("import bazinga zeros", 5, "is not an SQLite database"),
            ("assemble --session s --agent developer --task -", 0, ""),
            ("assemble --session s --agent developer --task-file zeros", 0, ""),
            ("assemble --session s --agent developer --error-file zeros", 0, ""),
            (
                "package save zeros --session s --type research --producer developer --summary x",
                2,
                "larger than 16 MiB",
            ),
            ("bazinga save-reasoning s g developer approach --content-file zeros", 1, "zeros holds more than"),
            ("bazinga save-event s t --payload-file zeros", 1, "zeros holds more than"),
            ("skill seed zeros", 2, "larger than 256 KiB"),
        ],
        8,
    ),
)
def test_three_hundred_megabytes_of_zeros_end_in_a_sentence(project: Path, words: str, code: int, said: str) -> None:
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", FLOODED, "zeros", *words.split()],
        cwd=project, capture_output=True, text=True, check=True, timeout=30,
    )  # fmt: skip
    returned, megabytes, *errors = done.stdout.split("\n")
    assert (int(returned), said in "\n".join(errors)) == (code, True), done.stdout
    assert int(megabytes) < 400
    assert time.monotonic() - started < 8  # about 0.3 s where nothing else runs


def test_what_fits_is_read_whole_and_of_what_does_not_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert read_given(str(tmp_path / "a"), 5) == b"12345"
    with pytest.raises(UsageError, match="a holds more than 4 bytes"):
        read_given(str(tmp_path / "a"), 4)
    assert read_given_start(str(tmp_path / "a"), 4) == b"1234"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"12345")))
    with pytest.raises(UsageError, match="stdin holds more than 4 bytes"):
        read_given("-", 4)
    with pytest.raises(UsageError, match="cannot be read"):
        given_text(print, None, str(tmp_path / "gone"))


@pytest.mark.slow
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_json_of_any_depth_ends_in_a_sentence(project: Path, opening: str) -> None:
    (project / "deep.json").write_text(opening * 200_000)
    (project / "deep.jsonl").write_text(
        json.dumps({"format": "ctxrank-export", "version": 2, "store": "0a0a0a0a-0000-4000-8000-000000000000"})
        + "\n"
        + opening * 200_000
    )
    for words in (
        "skill seed deep.json", "skill save-output lint --session s -", "import jsonl deep.jsonl",
        "bazinga save-event s t --payload-file deep.json",
    ):  # fmt: skip
        started = time.monotonic()
        with (project / "deep.json").open("rb") as stdin:
            done = subprocess.run(
                [sys.executable, "-m", "ctxrank.cli", *words.split()],
                cwd=project, stdin=stdin, capture_output=True, text=True, check=False, timeout=30,
            )  # fmt: skip
        assert done.returncode in (1, 2, 5) and "Traceback" not in done.stderr, (words, done.stderr)
        assert time.monotonic() - started < 6, words


@each_row(
    "text, shown, said",
    [
        ("plain", "plain", []),
        ("é", "é", []),
        ("a\0", "a�", ["1 byte was zero or not UTF-8, shown as �."]),
        ("é\0\udcff", "é��", ["2 bytes were zero or not UTF-8, shown as �."]),
    ],
)
def test_bytes_that_are_no_text_are_counted_and_shown_as_one(text: str, shown: str, said: list[str]) -> None:
    told: list[str] = []
    assert readable(text, told.append) == shown and told == said


def test_a_number_is_of_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        assert number_of(store.primary, "error:3", "error", 12) == number_of(store.primary, "3", "error", 12) == 3
        for text, kind, refusal in (("package:3", "error", "not an error"), ("error:3", "package", "not a package")):
            with pytest.raises(UsageError, match=refusal):
                number_of(store.primary, text, kind, 12)
