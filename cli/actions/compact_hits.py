"""Hits for readers that pay by the token: `search --format compact`.

    package:7 queue/database-is-locked.md:21 "database is locked" in the job queue — Eight workers switch to WAL at …

A line is at most MAX_TOKENS, as `estimate_tokens` counts: the id and the place first, then as much of the title as
TITLE_TOKENS allow, and of the snippet what is left.
"""

import os
from bisect import bisect_right

from ctxrank.indexer.store.freshness import shown_path
from ctxrank.indexer.text.lines import one_line
from ctxrank.indexer.text.tokens import estimate_tokens
from ctxrank.ranking.retrieval.hits import Hit
from ctxrank.ranking.retrieval.snippets import ELLIPSIS, MARK, is_code, marked

MAX_TOKENS = 60
PLACE_TOKENS = 36  # of the id and the path: a longer path loses its first folders
TITLE_TOKENS = 18


def compact_line(hit: Hit) -> str:
    """A hit on one line."""
    line = f":{hit.passages[0].match_line}" if hit.passages else ""
    folded = f" (+{len(hit.folded)})" if hit.folded else ""
    place = _place(hit.id, one_line(os.path.join(hit.checkout, shown_path(hit.path))), line)
    title = one_line(hit.title)
    shown_title = "" if hit.path.endswith(title) else _cut(title, TITLE_TOKENS)
    of = f"({hit.whose}) " if hit.whose else ""
    head = f"{place} {of}{shown_title}".rstrip()
    text = _best_text(hit, title)
    room = MAX_TOKENS - estimate_tokens(f"{head} — {folded}")
    shown = _cut(text, room) if room > 0 else ""
    return f"{head} — {shown}{folded}" if shown else f"{head}{folded}"


def _place(id_: str, path: str, line: str) -> str:
    if not path:
        return id_
    whole = f"{id_} {path}{line}"
    while estimate_tokens(whole) > PLACE_TOKENS and "/" in path.removeprefix(f"{ELLIPSIS}/"):
        path = f"{ELLIPSIS}/{path.removeprefix(f'{ELLIPSIS}/').partition('/')[2]}"
        whole = f"{id_} {path}{line}"
    return whole if estimate_tokens(whole) <= PLACE_TOKENS else id_


def _best_text(hit: Hit, title: str) -> str:
    """The best line of code, or the snippet of prose without its marks and a heading that is the title."""
    if hit.passages and is_code(hit.path):
        best = hit.passages[0]
        return " ".join(one_line(line.text) for line in best.lines if line.number == best.match_line)
    text = one_line(marked(hit.snippet, hit.marks, MARK))
    text = text.removeprefix(f"{ELLIPSIS} ").removesuffix(f" {ELLIPSIS}")
    heading = text.lstrip("# ")
    return heading.removeprefix(title).lstrip("# ") if heading.startswith(title) else text


def _cut(text: str, tokens: int) -> str:
    """As many characters as there is room for, cut after a word where there is one; … where something is missing."""
    if estimate_tokens(text) <= tokens:
        return text
    fits = bisect_right(range(1, len(text)), tokens, key=lambda at: estimate_tokens(f"{text[:at]} {ELLIPSIS}"))
    whole_words = text[:fits].rpartition(" ")[0]
    kept = (whole_words or text[:fits]).rstrip()
    return f"{kept} {ELLIPSIS}" if kept else ""
