"""Which redaction rules there are, and how they are applied: what a query needs to know of them."""

import enum

# Grows by one when a rule changes what is found; a store redacts again what an older one let through.
RULESET_VERSION: int = 1


# Names of values that are secrets whatever they look like; everything else that is one is a long word.
_NAMES_OF_SECRETS = (
    "passw", "pwd", "secret", "token", "key", "private", "credential", "auth", "bearer", "://", "-----",
)  # fmt: skip
_SHORTEST_RANDOM_WORD = 14


def may_hold_secret(text: str) -> bool:
    """False only where no rule could find anything: spares a plain sentence the rules, and their import."""
    lower = text.lower()
    if any(name in lower for name in _NAMES_OF_SECRETS) and any(sign in text for sign in "=:\"'<"):
        return True
    return "<private>" in lower or any(len(word) >= _SHORTEST_RANDOM_WORD for word in text.split())


class RedactionMode(enum.Enum):
    """How secrets are recognised: by known forms, by looking random where a value stands, or by both."""

    PATTERN_ONLY = "pattern_only"
    ENTROPY = "entropy"
    BOTH = "both"
    OFF = "off"
