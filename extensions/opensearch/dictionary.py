"""The dictionary of an index in a cluster: document frequencies, and terms by how they are spelt.

A frequency is counted, by an aggregation: what was deleted does not count, however the cluster's files lie. Terms are
enumerated by `_validate/query?rewrite`, which says to what words a query for a beginning or a pattern comes down. It
gives the first MOST_ENUMERATED by text, so that of more than these the most frequent or the shortest may be missed.
"""

import re
from collections.abc import Collection, Iterable, Sequence

import apsw

from ctxrank.extensions.opensearch.cluster import value_at
from ctxrank.extensions.opensearch.documents import cut
from ctxrank.extensions.opensearch.queries import Query, any_of
from ctxrank.indexer.engine import DEFINITION, HEADING, PATH, TEXT, IndexHealth, IndexTerm
from ctxrank.indexer.fulltext.dictionary import has_trigrams, trigrams_of
from ctxrank.indexer.fulltext.index_file import MARKS, Index
from ctxrank.indexer.light_typing import is_dict, is_list

MOST_ENUMERATED = 1000
_COUNTED_AT_ONCE = 1000
# Letters that a stemmer may have taken from the end of a word: its beginning is near the term then.
_MOST_TRIMMED = 5
_NEAREST = 100  # of each beginning
_LEAST_SPELT = 3
# The titles of files alone, which are not counted where a passage has the text.
TITLES: Query = {"bool": {"filter": [{"term": {"kind": "artifact"}}], "must_not": [{"exists": {"field": "body"}}]}}
_FIELDS = {TEXT: "text", PATH: "path", DEFINITION: "names", HEADING: "names"}


class Dictionary:
    """The terms of one index: what our tokenizer makes of a text, and how many documents hold a term.

    Each is counted once, as of one snapshot: `forget_terms` begins another one.
    """

    def __init__(self) -> None:
        tokenizer = Index(apsw.Connection(":memory:"), IndexHealth.OK, "")
        self.tokens, self.tokens_at, self.unstemmed = tokenizer.tokens, tokenizer.tokens_at, tokenizer.unstemmed
        self.find_words = tokenizer.find_words
        self.forget_terms()

    def forget_terms(self) -> None:
        """Count anew whatever is asked from now on."""
        self._df: dict[tuple[str, str], int] = {}
        self._ids: dict[tuple[str, str], int] = {}
        self._keys: list[str] = []  # by their ids, as `counts` has them

    def ask(self, path: str, body: Query) -> dict[object, object]:
        """What the cluster answers of this index. Raises ClusterError."""
        raise NotImplementedError  # an index, which knows its cluster, has this

    def check_unknown(self, surfaces: Sequence[str]) -> None:
        """There is one dictionary, so nothing can be missing from another."""

    def expect(self, terms: Collection[str], names: Collection[str] = ()) -> None:
        """Count what will be looked up, in one question. Raises ClusterError."""
        keys = [(field, term) for term in terms for field in (TEXT, PATH)]
        self._count(keys + [(field, name) for name in names for field in (DEFINITION, HEADING)])

    def _count(self, keys: Iterable[tuple[str, str]]) -> None:
        """Count these terms, each with its field before it, in one question. Raises ClusterError."""
        unknown = [key for key in dict.fromkeys(keys) if key not in self._df]
        for start in range(0, len(unknown), _COUNTED_AT_ONCE):
            part = unknown[start : start + _COUNTED_AT_ONCE]
            filters = {str(at): {"term": {_FIELDS[field]: _held(field, term)}} for at, (field, term) in enumerate(part)}
            counted: Query = {"filters": {"filters": filters}, "aggs": {"titles": {"filter": TITLES}}}
            asked: Query = {"size": 0, "track_total_hits": False, "aggs": {"df": counted}}
            buckets = value_at(self.ask("_search", asked), "aggregations", "df", "buckets")
            for at, key in enumerate(part):
                held = int(str(value_at(buckets, str(at), "doc_count") or 0))
                titles = int(str(value_at(buckets, str(at), "titles", "doc_count") or 0))
                self._df[key] = max(held - titles, min(held, 1))

    def look_up(self, term: str, field: str = TEXT) -> IndexTerm | None:
        """A term of a field that some document holds. Raises ClusterError."""
        return next(iter(self.look_up_any([term], field)), None)

    def look_up_any(self, terms: Collection[str], field: str = TEXT) -> list[IndexTerm]:
        """Those of these terms that some document holds, by text. Raises ClusterError."""
        self._count([(field, term) for term in terms])
        return [found for term in sorted(set(terms)) if (found := self._term(field, term))]

    def look_up_prefix(self, beginning: str, also: Collection[str], most: int, field: str = TEXT) -> list[IndexTerm]:
        """Terms that begin so and those of `also`, the most frequent first. Raises ClusterError."""
        prefix: Query = {"prefix": {_FIELDS[field]: {"value": cut(beginning), **_rewritten(MOST_ENUMERATED)}}}
        found = self.look_up_any({*self._enumerated(field, prefix), *also}, field)
        return sorted(found, key=lambda term: (-term.df, term.term))[:most]

    def near_terms(self, word: str, most: int) -> list[IndexTerm]:
        """Words two edits away from a word, or from what a stemmer may have left of it. Raises ClusterError."""
        bases = {word[: len(word) - trimmed] for trimmed in range(_MOST_TRIMMED + 1)}
        queries: list[Query] = [
            {"fuzzy": {"text": {"value": base, "fuzziness": 2, "prefix_length": 1, **_rewritten(_NEAREST)}}}
            for base in sorted(bases)
            if len(base) >= _LEAST_SPELT
        ]
        found = self.look_up_any(self._spelt(any_of(queries)), TEXT) if queries else []
        trigrams = set(trigrams_of(word))
        shared = {term.term: len(trigrams.intersection(trigrams_of(term.term))) for term in found}
        return sorted(found, key=lambda term: (-shared[term.term], term.df, term.term))[:most]

    def terms_containing(self, part: str, most: int) -> list[IndexTerm]:
        """Words that contain a part of three letters or more, the shortest first. Raises ClusterError."""
        if len(part) < _LEAST_SPELT:
            return []
        pattern: Query = {"wildcard": {"text": {"value": f"*{part}*", **_rewritten(MOST_ENUMERATED)}}}
        found = self.look_up_any(self._spelt(pattern), TEXT)
        return sorted(found, key=lambda term: (len(term.term), term.term))[:most]

    def _term(self, field: str, term: str) -> IndexTerm | None:
        key = (field, term)
        df = self._df[key]
        if not df:
            return None
        id_ = self._ids.get(key)
        if id_ is None:
            id_ = self._ids[key] = len(self._keys)
            self._keys.append((MARKS[PATH] if field == PATH else "") + _held(field, term))
        return IndexTerm(id_, term, df)

    def _spelt(self, query: Query) -> list[str]:
        """Of what a query comes down to the words that somebody types: no numbers, hashes or runs of CJK."""
        return list(filter(has_trigrams, self._enumerated(TEXT, query)))

    def _enumerated(self, field: str, query: Query) -> list[str]:
        """The terms of texts or paths that a query comes down to, on all shards."""
        body = self.ask("_validate/query?rewrite=true&all_shards=true", {"query": query})
        explanations = body.get("explanations")
        found: dict[str, None] = {}
        for one in explanations if is_list(explanations) else []:
            text = str(one.get("explanation", "")) if is_dict(one) else ""
            found.update(dict.fromkeys(re.findall(rf"\b{_FIELDS[field]}:([^\s()^]+)", text)))
        return list(found)


def _held(field: str, term: str) -> str:
    """A term as the cluster's field has it."""
    return cut(MARKS[field] + term if _FIELDS[field] == "names" else term)


def _rewritten(most: int) -> Query:
    return {"rewrite": f"top_terms_boost_{most}"}
