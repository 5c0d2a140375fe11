"""Numbers that JSON can say: an infinite one and NaN have no form there."""

import math

from ctxrank.indexer.light_typing import is_dict, is_list, is_tuple


def finite(value: object) -> object:
    """A value with null for each number in it that is infinite or none at all."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_list(value) or is_tuple(value):
        return [finite(item) for item in value]
    return {key: finite(item) for key, item in value.items()} if is_dict(value) else value
