"""Floor: how near a finding must be to a prompt, so that what is about nothing here gets no answer in 95 of 100 cases.

    nearness = T · (shared − 1)^SHARED_POWER        T = c·s / (c·s + h), as in formulas/blend.py

    shared   words of the prompt that the finding holds, as they were typed: one is chance, and counts nothing; a word
             that prompts of any project have is a part of one (common_words.tsv)
    c        the same parts of what the shared words are worth, by what they are worth in whole

The floor is a store's own: a rank among the nearness of prompts that are about nothing here. The rank of split
conformal prediction (Vovk, Gammerman and Shafer 2005, section 4.2) keeps the promise on average over all stores and
draws of these prompts, so that half of the stores answer more. This one keeps it in all but DOUBT of them (Vovk 2012,
"Conditional validity of inductive conformal predictors"): with m of n above it, the chance that of all others more than
ALPHA are is

    P(Bin(n, ALPHA) ≤ m) ≤ DOUBT

It is measured in the background (floor_measurement.py), once for prompts of one line and once for pasted ones, and kept
as a setting. A store of few findings has the curve of stores that were measured.

Which measure (2026-11): at .05 of foreign prompts it keeps .69 of the own ones of 8 programs' issues, .73 of 6 more's,
.68 of subjects of commits, .52 where programs write such, too, and .81 of dialogues; with all words in whole .68, .69,
.66, .41 and .81. A word that b of all prompts have counts 1 / (1 + k·b): k of 5 to 12 are alike, and leaving out the
words above some b is worse. Without the power .57 of the issues remain.
"""

from itertools import accumulate
from math import comb, log

from ctxrank.indexer.light_typing import NamedTuple
from ctxrank.indexer.store.connection import read_row, read_value
from ctxrank.indexer.store.parents import ParentDocument
from ctxrank.indexer.store.store import Store

# Findings are what somebody wrote down. Files of the project are not: an agent reads these by itself.
KINDS = ("package", "reasoning", "error", "strategy", "linked")
ALPHA = 0.05  # of prompts that are about nothing here, how many may get an answer
DOUBT = 0.2  # that it is more
SHARED_POWER = 0.1
LEAST_FINDINGS = 20  # with fewer the curve holds
# The curve over ln(rows of the index): stores of 4 to 19 notes have, at 8 to 62 rows, 0 to .62 (notes of commits) and
# .53 to .72 (dialogues, with all words in whole), and with pasted prompts .68 to .82 (issues). Notes of commits are
# what findings are like.
_CURVE_START, _CURVE_SLOPE, _CURVE_PASTED = 0.3, 0.082, 0.75
_GROWN_BY = 0.25  # of the findings it was measured with, more or fewer: measured again
SETTING = "floor with confidence"  # one that was measured otherwise is not read
OTHER_PROJECTS, SHUFFLED_WORDS = "prompts of other projects", "lines of shuffled words"


class PromptFinding(NamedTuple):
    """A finding above the floor; `words` are those of the prompt that it shares, the most telling first.

    `passage` is the text of its best passage, '' where its own row (title and summary) matches best.
    """

    parent: ParentDocument
    passage: str
    words: tuple[str, ...]


class Floor(NamedTuple):
    """What a finding's nearness must reach; `findings` there were when it was measured, by so many `prompts`."""

    line: float
    pasted: float
    findings: int
    prompts: int
    source: str  # of the prompts

    def of(self, prompt: str) -> float:
        """The floor for a prompt."""
        return self.pasted if "\n" in prompt.strip() else self.line


def nearness(text: float, shared: float) -> float:
    """How near a finding with this T is, that shares so many words; a common one is a part of one."""
    return text * (shared - 1) ** SHARED_POWER if shared > 1 else 0.0


def may_be_answered(count: int) -> int:
    """How many of so many prompts about nothing here may be above a floor, so that of all others ALPHA are at most."""
    chances = (comb(count, at) * ALPHA**at * (1 - ALPHA) ** (count - at) for at in range(count))
    return max(sum(chance <= DOUBT for chance in accumulate(chances)) - 1, 0)


def floor_of(store: Store, rows: int) -> Floor:
    """The floor of a store whose index has so many rows: as measured, else by the curve."""
    line = _CURVE_START + _CURVE_SLOPE * log(max(rows, 1))
    return measured_floor(store) or Floor(line, max(line, _CURVE_PASTED), 0, 0, "")


def measured_floor(store: Store) -> Floor | None:
    """The floor as it was measured last; None where it never was."""
    fields = ", ".join(f"value ->> '{name}'" for name in Floor._fields)
    return read_row(store.primary, f"SELECT {fields} FROM settings WHERE key = ?", (SETTING,), Floor)


def is_outdated(store: Store) -> bool:
    """Whether the store has so many findings more, or fewer, than its floor was measured with."""
    count = findings_in(store)
    measured = measured_floor(store)
    before = measured.findings if measured else 0
    return count >= LEAST_FINDINGS and abs(count - before) > _GROWN_BY * before


def findings_in(store: Store) -> int:
    """How many findings a store has."""
    query = f"SELECT count(*) FROM documents WHERE kind IN ({', '.join('?' * len(KINDS))})"
    return read_value(store.primary, query, KINDS, int) or 0
