"""Measuring a store's floor: prompts that are about nothing here, and how near its findings are to them.

    prompts of the user's other projects    what their stores, of this machine, have kept of them: titles of sessions,
                                            which are of one line, and prompts, where a project keeps conversations;
                                            LEAST_PROMPTS of a kind, else none of it
    shuffled words                          words of this store's own findings, a third of them made up

They are pooled, the shuffled words as one project more: the next one's words may be more like those of this store.
Pasted prompts of LEAST_PROJECTS do without. Of other projects' texts nothing is kept but the two numbers of the floor.
It takes a second or two, so that a process of its own does it, with a low priority, started where the store has grown
(`start_measuring`); one a store, however many sessions start meanwhile.
"""

import contextlib
import os
import random
import re
import sys
from itertools import chain

import apsw

from ctxrank.indexer.exceptions import CtxrankError
from ctxrank.indexer.opening import open_store
from ctxrank.indexer.store.config import Config, load_config
from ctxrank.indexer.store.connection import file_uri, put_setting, read_column, read_value
from ctxrank.indexer.store.location import FLOOR_LOCK, at, identity_of, is_known, places_of_stores, refuse_foreign
from ctxrank.indexer.store.one_process import holder, only_one, start_for
from ctxrank.indexer.store.store import Store
from ctxrank.indexer.systems import unbound_memory
from ctxrank.indexer.text.light_json import dumps
from ctxrank.ranking.context.findings import nearest
from ctxrank.ranking.context.floor import (
    KINDS,
    OTHER_PROJECTS,
    SETTING,
    SHUFFLED_WORDS,
    Floor,
    findings_in,
    is_outdated,
    may_be_answered,
)

LEAST_PROMPTS = 100
# With pasted prompts of one project .04 to .08 of those of others are answered, of two .03 to .05, of three .03 to .05;
# with shuffled words, which are lines, beside them .01 to .04, and up to .12 less of the own ones (2026-11).
LEAST_PROJECTS = 3
_MOST_PROMPTS = 300
_LENGTHS = (4, 5, 6, 7, 8, 10, 12, 14, 18, 24)
_UNKNOWN_SHARE = 1 / 3
_WORD = r"[^\W\d_][\w'-]+"
_LETTERS = "bcdfghjklmnpqrstvwxz"
_MOST_TEXTS = 2_000
_NICE = 10


def start_measuring(store: Store) -> None:
    """Have the floor measured in the background, where nobody does."""
    if not holder(os.path.join(store.location.folder, FLOOR_LOCK)):
        start_for(__name__, store.location.primary)


def measure_floor(store: Store, config: Config) -> Floor:
    """Measure the floor of a store, and keep it. Raises LockedError."""
    foreign = foreign_prompts(store)
    lines, pasted = _enough(foreign, is_pasted=False), _enough(foreign, is_pasted=True)
    shuffled = [nearest(store, prompt, config) for prompt in shuffled_prompts(store)]

    def exceeded_by_alpha(projects: list[list[str]], *, are_alone: bool = False) -> float:
        """Of the nearnesses of what projects asked the one that so many exceed as the promise allows; 0 for none."""
        beside = 0 if are_alone else len(shuffled) // (len(projects) + 1)
        asked = [nearest(store, prompt, config) for prompt in chain(*projects)]
        found = sorted(asked + shuffled[:beside], reverse=True)
        return found[may_be_answered(len(found))] if found else 0.0

    line = exceeded_by_alpha(lines)
    of_pasted = exceeded_by_alpha(pasted, are_alone=len(pasted) >= LEAST_PROJECTS)
    floor = Floor(
        line,
        of_pasted if pasted else max(of_pasted, line),
        findings_in(store),
        len([*chain(*lines, *pasted)]) or _MOST_PROMPTS,
        OTHER_PROJECTS if lines or pasted else SHUFFLED_WORDS,
    )
    with store.write() as change:
        put_setting(change.connection, SETTING, dumps(floor._asdict()))
    return floor


def _enough(foreign: list[list[str]], *, is_pasted: bool) -> list[list[str]]:
    """The prompts of a kind, by project; none where they are too few."""
    of_kind = [[prompt for prompt in prompts if ("\n" in prompt.strip()) == is_pasted] for prompts in foreign]
    return list(filter(None, of_kind)) if sum(map(len, of_kind)) >= LEAST_PROMPTS else []


def foreign_prompts(store: Store) -> list[list[str]]:
    """Prompts of the user's other stores, by store, the newest of each; of a store that cannot be read none."""
    own = identity_of(store.primary).uuid
    found = [prompts for place in places_of_stores() if (prompts := _prompts_of(place, own))][:_MOST_PROMPTS]
    return [prompts[: max(_MOST_PROMPTS // len(found), 1)] for prompts in found]


def _prompts_of(place: str, own: str) -> list[str]:
    """The prompts of a store that this user made or trusts, and that is neither the own one nor a copy of it."""
    try:
        refuse_foreign(place)
        # A reader of a closed database in WAL mode makes its log and leaves that behind.
        how = "mode=ro" if os.path.exists(place + "-wal") else "immutable=1"
        primary = apsw.Connection(file_uri(place, how), flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except (apsw.Error, CtxrankError, OSError):
        return []
    try:
        identity = identity_of(primary)
        if identity.uuid == own or not is_known(identity):
            return []
        titles = "SELECT metadata ->> 'title' FROM sessions WHERE metadata ->> 'title' <> '' ORDER BY id DESC LIMIT ?"
        prompts = read_column(primary, titles, (_MOST_PROMPTS,), str)
        if read_value(primary, "SELECT 1 FROM sqlite_schema WHERE name = 'conversations'", (), int):
            said = "SELECT content FROM conversations WHERE agent = '' ORDER BY id DESC LIMIT ?"
            prompts = read_column(primary, said, (_MOST_PROMPTS,), str) + prompts
        return prompts
    except (apsw.Error, CtxrankError):
        return []
    finally:
        primary.close()


def shuffled_prompts(store: Store) -> list[str]:
    """Words of the store's findings, drawn one by one, among them made up ones: the same for the same store."""
    kinds = ", ".join("?" * len(KINDS))
    query = f"""
        SELECT body FROM documents WHERE kind IN ({kinds})
        UNION ALL
        SELECT p.body FROM documents AS p JOIN documents AS o ON o.id = p.owner_id WHERE o.kind IN ({kinds})
        LIMIT ?
    """
    texts = read_column(store.primary, query, (*KINDS, *KINDS, _MOST_TEXTS), str)
    words: list[list[str]] = list(filter(None, (re.findall(_WORD, text) for text in texts)))
    draw = random.Random(len(words))

    def word() -> str:
        if draw.random() < _UNKNOWN_SHARE:
            return "q" + "".join(draw.choices(_LETTERS, k=6))
        text = draw.choice(words)
        return text[draw.randrange(len(text))]

    return [" ".join(word() for _ in range(draw.choice(_LENGTHS))) for _ in range(_MOST_PROMPTS)] if words else []


def main(primary: str) -> None:
    """Measure the floor of a store, if that is still to be done. Raises LockedError where another process does so."""
    os.nice(_NICE)
    unbound_memory()  # a hook may have started it
    lock = os.path.join(at(primary).folder, FLOOR_LOCK)
    with only_one(lock, str(os.getpid())), open_store(primary) as store:
        if is_outdated(store):
            measure_floor(store, load_config(store))


if __name__ == "__main__":
    with contextlib.suppress(CtxrankError):  # the next session tries again
        main(sys.argv[1])
