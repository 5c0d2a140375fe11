"""Which redaction rules there are, and how they are applied: what a query needs to know of them."""

import enum

# Grows by one when a rule changes what is found; a store redacts again what an older one let through.
RULESET_VERSION: int = 1


class RedactionMode(enum.Enum):
    """How secrets are recognised: by known forms, by looking random where a value stands, or by both."""

    PATTERN_ONLY = "pattern_only"
    ENTROPY = "entropy"
    BOTH = "both"
    OFF = "off"
