"""What a store of known errors could do instead: the schemes that ours is measured beside."""

import hashlib
import math
import re
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from typing import NamedTuple, Protocol

from rapidfuzz import fuzz


class Answer(NamedTuple):
    """The group that was answered, and how sure the scheme is (1 where it does not say)."""

    group: str
    confidence: float = 1.0


class Contender(Protocol):
    """One scheme. `store` is called once with all patterns, then `answer` for each question; None is silence."""

    def store(self, patterns: list[tuple[str, str]]) -> None:
        """Take (group, text) pairs."""
        ...

    def answer(self, text: str) -> Answer | None:
        """Which stored group this text belongs to."""
        ...


class Hashed(ABC):
    """Equal keys are equal errors."""

    def __init__(self) -> None:
        self._groups: dict[str, str] = {}

    @abstractmethod
    def key(self, text: str) -> str:
        """What two texts must share."""

    def store(self, patterns: list[tuple[str, str]]) -> None:
        for group, text in patterns:
            self._groups.setdefault(self.key(text), group)

    def answer(self, text: str) -> Answer | None:
        group = self._groups.get(self.key(text))
        return None if group is None else Answer(group)


class Predecessor(Hashed):
    """Five substitutions on the first error line, then sha256: what this project replaces."""

    def key(self, text: str) -> str:
        line = re.sub(r"/[^\s]+/", ".../", first_error_line(text))
        line = re.sub(r"[A-Z]:\\[^\s]+\\", r"...\\", line)
        line = re.sub(r"line \d+", "line N", line)
        line = re.sub(r"'[^']{1,50}'", "'...'", line)
        line = re.sub(r'"[^"]{1,50}"', '"..."', line)
        return hashlib.sha256(line.strip()[:500].encode()).hexdigest()


class NaiveMasks(Hashed):
    """Paths, quoted values, hexadecimal and digits masked on the first error line."""

    def key(self, text: str) -> str:
        line = re.sub(r"(?:[\w.$-]*[/\\])+[\w.$-]+(?:[(:]\d+[,:]?\d*\)?)?", "<path>", first_error_line(text))
        line = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "<str>", line)
        return re.sub(r"0x[0-9a-fA-F]+|\d+", "<n>", line).strip()


class Bm25:
    """The best text by BM25, whatever its score."""

    k1, b = 1.2, 0.75

    def __init__(self) -> None:
        self._groups: list[str] = []
        self._texts: list[str] = []
        self._lengths: list[int] = []
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def store(self, patterns: list[tuple[str, str]]) -> None:
        for number, (group, text) in enumerate(patterns):
            words = _words(text)
            self._groups.append(group)
            self._texts.append(text)
            self._lengths.append(len(words))
            for word, count in Counter(words).items():
                self._postings[word].append((number, count))

    def top(self, text: str, limit: int) -> list[int]:
        """The numbers of the best patterns, best first."""
        total = len(self._groups)
        average = sum(self._lengths) / max(1, total)
        scores: dict[int, float] = defaultdict(float)
        for word in set(_words(text)):
            found = self._postings.get(word, [])
            weight = math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5))
            for number, tf in found:
                length = 1 - self.b + self.b * self._lengths[number] / average
                scores[number] += weight * tf * (self.k1 + 1) / (tf + self.k1 * length)
        return sorted(scores, key=lambda number: (-scores[number], number))[:limit]

    def answer(self, text: str) -> Answer | None:
        best = self.top(text, 1)
        return Answer(self._groups[best[0]]) if best else None


class Bm25ThenRatio(Bm25):
    """The most similar first error line among the twenty best by BM25, if it is similar enough."""

    limit = 20
    least_ratio = 85.0

    def answer(self, text: str) -> Answer | None:
        line = _masked(text)
        scored = [(fuzz.ratio(line, _masked(self._texts[n])), -n) for n in self.top(text, self.limit)]
        if not scored or max(scored)[0] < self.least_ratio:
            return None
        ratio, number = max(scored)
        return Answer(self._groups[-number], ratio / 100)


def first_error_line(text: str) -> str:
    """The last line of a traceback, else the first line that speaks of an error, else the first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    if lines[0].startswith("Traceback"):
        return lines[-1]
    return next((line for line in lines if re.search(r"error|failed|fatal", line, re.IGNORECASE)), lines[0])


def _masked(text: str) -> str:
    return NaiveMasks().key(text)


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9_]+", text.lower())
