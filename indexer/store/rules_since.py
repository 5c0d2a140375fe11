"""Since when the user's own redaction rules hold: what was stored before them, they have not seen.

    note_rules(store, rules)        a change of the rules is noted with the change log's number of that moment
    rules_hold_since(store)         2317: documents up to that number are older than the rules

`purge --redact` takes everything through them, and then they hold since 0.
"""

import json

from ctxrank.indexer.light_typing import TYPE_CHECKING
from ctxrank.indexer.store.connection import KEEP_SETTING, put_setting, read_setting

if TYPE_CHECKING:  # who has no rules of their own loads none
    from ctxrank.indexer.redaction.user_rules import UserRules
    from ctxrank.indexer.store.store import Store

_KEY = "user_rules"


def note_rules(store: "Store", rules: "UserRules") -> None:
    """Keep that these are the rules now, if others were; a store that cannot be written is updated next time."""
    digest = rules.digest()
    if digest != _noted(store)[0]:
        store.write_if_free(KEEP_SETTING, (_KEY, json.dumps({"digest": digest, "since": store.last_seq()})))


def note_all_redacted(store: "Store", rules: "UserRules | None") -> None:
    """Keep that everything stored went through these rules."""
    digest = "" if rules is None else rules.digest()
    if (digest, 0) != _noted(store):
        with store.write() as change:
            put_setting(change.connection, _KEY, json.dumps({"digest": digest, "since": 0}))


def rules_hold_since(store: "Store") -> int:
    """Up to which number of the change log documents are older than the user's rules; 0 where none is."""
    rules = store.config.redaction_mode.rules
    if rules is None:
        return 0
    digest, since = _noted(store)
    return since if digest == rules.digest() else store.last_seq()


def _noted(store: "Store") -> tuple[str, int]:
    noted = json.loads(read_setting(store.primary, _KEY) or "{}")
    return str(noted.get("digest", "")), int(noted.get("since", 0))
