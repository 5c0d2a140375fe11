"""A store whose records hold a secret that only newer redaction rules know."""

import secrets
from pathlib import Path

from builders import make_store, save

from ctxrank import assemble
from ctxrank.indexer.errors.solutions import NewKnownError, save_error
from ctxrank.indexer.records.reasoning import NewReasoning, save_reasoning
from ctxrank.indexer.records.skill_outputs import save_skill_output
from ctxrank.indexer.records.strategies import NewStrategy, save_strategy
from ctxrank.indexer.store.store import Store

WORD = "walrus"
_TEXTS = (
    ("documents", "body"), ("packages", "summary"), ("reasoning", "content"), ("reasoning", "refs"),
    ("error_patterns", "solution"), ("error_patterns", "context_hints"), ("strategies", "insight"),
    ("skill_outputs", "output"), ("documents", "title"), ("anchors", "name"),
)  # fmt: skip


def leave_token(folder: Path) -> str:
    """Make the store; returns what stands in each of its records."""
    token = "ghp_" + secrets.token_hex(18)
    with make_store(folder) as store:
        save(store, "a.md", f"# A\n\nof the {WORD}\n", session="S", summary=f"the {WORD}")
        new = NewReasoning("S", None, "developer", "decisions", f"the {WORD}", references=f'["{WORD}"]')
        save_reasoning(store, new)
        save_error(store, NewKnownError("ValueError: a thing is wrong", f"the {WORD}", hints=(WORD,)))
        save_strategy(store, NewStrategy(project="default", insight=f"the {WORD}", topic="general"))
        save_skill_output(store, "S", "lint", f'{{"said": "the {WORD}"}}', agent="developer")
        make_older(store, token)
        assemble(store, session="S", agent="developer", task="the walrus")
        store.primary.execute("UPDATE receipts SET inputs = replace(inputs, ?, ?)", (WORD, token))
    return token


def make_older(store: Store, token: str) -> None:
    """Put it where the word stood, in what was stored under rules that did not know it."""
    for table, column in _TEXTS:
        store.primary.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (WORD, token))
    store.primary.execute("UPDATE documents SET ruleset = 1")
