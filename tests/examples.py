"""How many examples a property is tried on: a fifth where a person waits (`make test`), all in `make slow`."""

import os

ALL = os.environ.get("PROPERTY_EXAMPLES") == "all"


def examples(count: int) -> int:
    return count if ALL else max(count // 5, 5)
