"""Our matcher as a contender: patterns in a real store, questions through the calls that the command makes."""

from typing import NamedTuple

from errors.baselines import Answer

from ctxrank.indexer.errors import lookup
from ctxrank.indexer.errors import patterns as patterns_module
from ctxrank.indexer.errors.lookup import Whose
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import Signature, sign
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.store.store import Change
from ctxrank.ranking.errors.calibration import CalibrationFamily, evidence
from ctxrank.ranking.errors.match import consider, match_errors

PROJECT = "default"
_SOLUTION = "What fixed it."


class Ours:
    """The matcher; `folder` holds the store and is somebody else's to remove."""

    def __init__(self, folder: str) -> None:
        self.opened = create_store(folder)
        self._groups: dict[int, str] = {}

    def store(self, patterns: list[tuple[str, str]]) -> None:
        with self.opened.write() as change:
            for number, (group, text) in enumerate(patterns):
                self._groups[save(change, f"{number}", text)] = group

    def answer(self, text: str) -> Answer | None:
        answers = (match_errors(self.opened.primary, sign(one), Whose(PROJECT), 3) for one in error_units(text)[:3])
        matches = next((answer.matches for answer in answers if answer.matches), ())
        return Answer(self._groups[matches[0].pattern_id], matches[0].recognition) if matches else None

    def group_of(self, pattern_id: int) -> str:
        """The group that a stored pattern was given."""
        return self._groups[pattern_id]

    def best(self, text: str) -> "Best | None":
        """What would be answered if nothing were too uncertain: what calibration is fitted on."""
        considered = consider(self.opened.primary, signed(text), Whose(PROJECT))
        if not considered.eligible:
            return None
        known, likeness, _, margin, rivals, *_ = one = considered.eligible[0]
        return Best(self._groups[known.pattern_id], one.family, evidence(likeness, margin, rivals))

    def close(self) -> None:
        """Let go of the store."""
        self.opened.close()


class Best(NamedTuple):
    """The best pattern and the evidence for it."""

    group: str
    family: CalibrationFamily
    evidence: tuple[float, ...]


def signed(text: str) -> Signature:
    """The signature of a text's primary error."""
    return sign(error_units(text)[0])


def save(change: Change, name: str, text: str) -> int:
    """One pattern with its signature; returns its id."""
    signature = signed(text)
    number = patterns_module.upsert(
        change,
        patterns_module.ErrorPattern(PROJECT, name, signature.error_type, signature.headline, _SOLUTION, 1, 1),
    )
    lookup.put(change, number, PROJECT, signature)
    return number
