"""A page of frozen answers: one in full for each option, exit code and format of a command, a digest for the crossings.

    $ ctxrank --json package list -n 2
    exit 0, 31 lines of JSON, sha256 9f3c27ab01d4e655

What a digest is of is kept outside the repository by the run that passed last, so that a change can be read.
"""

import hashlib
import json
from collections.abc import Iterator
from difflib import SequenceMatcher, unified_diff
from itertools import zip_longest
from pathlib import Path

_SHORT_CHARS = 300  # a call and its answer that are no longer are in full
_BETWEEN = "\n\n$ "


def digest_of(answer: str) -> str:
    """A call, its exit code, and a digest of all that it answered."""
    call, _, rest = answer.partition("\nexit ")
    code, _, printed = rest.partition("\n")
    kind = "lines of JSON" if '\n  "outcome": ' in printed else "lines"
    digest = hashlib.sha256(answer.encode()).hexdigest()[:16]
    return f"{call}\nexit {code}, {printed.count(chr(10))} {kind}, sha256 {digest}\n"


class FrozenPage:
    """The answers of a family of calls; those whose numbers are in `in_full` are shown whole, as short ones are."""

    def __init__(self, page: Path, answers: list[str], in_full: set[int]) -> None:
        self._page = page
        shown = [text if number in in_full or len(text) <= _SHORT_CHARS else "" for number, text in enumerate(answers)]
        entries = [whole or digest_of(text) for whole, text in zip(shown, answers, strict=True)]
        self.text = "\n".join(entries)
        self._digested = {
            entry.removesuffix("\n").removeprefix("$ "): text
            for entry, text, whole in zip(entries, answers, shown, strict=True)
            if not whole
        }

    def changes(self, folder: Path) -> list[str]:
        """A diff of each answer that differs from the page; of a digest's too, where `folder` has what it was of."""
        old, new = _entries(self._page.read_text(encoding="utf-8") if self._page.exists() else ""), _entries(self.text)
        kept = folder / f"{self._page.stem}.json"
        known: dict[str, str] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        return [
            line
            for kind, *(i, j, k, m) in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
            if kind != "equal"
            for before, now in zip_longest(old[i:j], new[k:m], fillvalue="")
            for line in _diff(known.get(before, before), self._digested.get(now, now))
        ]

    def is_as_written(self) -> bool:
        """Whether the page has these bytes."""
        return self._page.read_bytes() == self.text.encode()

    def keep(self, folder: Path) -> None:
        """Keep what the digests are of, for the next change."""
        (folder / f"{self._page.stem}.json").write_text(json.dumps(self._digested), encoding="utf-8")

    def write(self) -> None:
        """Make the page say what is answered now."""
        self._page.write_text(self.text, encoding="utf-8", newline="")


def _entries(page: str) -> list[str]:
    return page.removesuffix("\n").removeprefix("$ ").split(_BETWEEN)


def _diff(before: str, now: str) -> Iterator[str]:
    call = (now or before).removeprefix("$ ").partition("\n")[0]
    yield f"$ {call}"
    old, new = (text.removesuffix("\n").removeprefix("$ ").split("\n") for text in (before, now))
    for line in [*unified_diff(old, new, lineterm="", n=1)][2:]:
        yield f"    {line}"
