"""What a store of a hundred known errors answers to each of them, and to each said a little otherwise, as reviewed.

`pytest --rewrite-golden` writes `golden/answers.txt` again: the diff is what gets reviewed.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders import make_store
from tool_outputs import LONGER, OUTPUTS, REPORTS, TRACEBACK

from ctxrank.indexer.errors import lookup, patterns
from ctxrank.indexer.errors.lookup import Whose
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign
from ctxrank.indexer.store.store import Store
from ctxrank.ranking.errors.match import ErrorMatch, match_errors

_GOLDEN = Path(__file__).parent / "golden" / "answers.txt"
_TEXTS = {
    "a traceback": TRACEBACK,
    **{name: text for name, (text, _) in OUTPUTS.items()},
    **{f"report: {name}": text for name, (text, _, _) in REPORTS.items()},
    **LONGER,
}


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Each error once, every third confirmed and every seventh refuted."""
    with make_store(tmp_path_factory.mktemp("known")) as store, store.write() as change:
        for at, text in enumerate(_TEXTS.values()):
            unit = error_units(text)[0]
            signature = sign(unit)
            identity = signature.instance + signature.given_reason
            pattern = patterns.ErrorPattern("default", identity, signature.error_type, text[:60], "Fix it.", 1, 1)
            number = patterns.upsert(change, pattern)
            lookup.put(change, number, "default", signature)
            change.connection.execute(
                "UPDATE error_patterns SET confirmations = ?, refutations = ? WHERE id = ?",
                (at % 3 == 0, 2 * (at % 7 == 0), number),
            )
        yield store


def _otherwise(text: str) -> Iterator[tuple[str, str]]:
    """The same error in other places, with other names, other numbers, and with a word more."""
    yield "as it is", text
    yield "elsewhere", re.sub(r"/srv/(\w+)", r"/home/ana/\1", text).replace("cart", "basket")
    yield "other names", re.sub(r"(['\"`])([\w.-]+)\1", r"\1zebra_\2\1", text)
    yield "other numbers", re.sub(r"\d+", lambda found: str(int(found[0]) + 1), text)
    yield "a word more", re.sub(r"(?i)\b(error|cannot|not|failed)\b", r"\1 never", text, count=1)


def _shown(match: ErrorMatch) -> str:
    said = f"{match.grade} {match.word} {match.confidence:.4f} {match.recognition:.4f} {match.state}"
    return f"{match.pattern_id} {said} {match.masked} {match.differences} {match.why} {match.renamed}"


def _lines(store: Store) -> Iterator[str]:
    for name, text in _TEXTS.items():
        for way, said in _otherwise(text):
            if said == text and way != "as it is":
                continue
            for unit in error_units(said)[:1]:
                answer = match_errors(store.primary, sign(unit), Whose("default"), 2)
                yield f"# {name}, {way}: {answer.total} {answer.reason}"
                yield from (f"   {_shown(one)}" for one in answer.matches)
                yield from (f"   unsure {_shown(one)[:90]}" for one in answer.unsure[:2])
                yield from (f"   same kind {_shown(one)[:90]}" for one in answer.same_kind[:2])


def test_answers_are_those_that_were_reviewed(known: Store, request: pytest.FixtureRequest) -> None:
    found = list(_lines(known))
    if request.config.getoption("--rewrite-golden"):
        _GOLDEN.parent.mkdir(exist_ok=True)
        _GOLDEN.write_text("\n".join([*found, ""]), encoding="utf-8")
    assert [*found, ""] == _GOLDEN.read_text(encoding="utf-8").split("\n")
