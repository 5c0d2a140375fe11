"""Settings of the ranking, as a configuration file gives them: `ranking:` with a number for each name.

The formulas' modules say what each means and why it has its value; `ctxrank eval sweep` finds values for labels
of one's own. Here is only what is allowed: beyond these ranges a formula means nothing any more.
"""

from collections.abc import Mapping

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import is_dict

RANGES: Mapping[str, tuple[float, float]] = {
    "k1": (0.1, 10.0),
    "b": (0.0, 1.0),
    "title": (0.0, 20.0),
    "path": (0.0, 20.0),
    "identifiers": (0.0, 20.0),
    "near": (0.0, 5.0),
    "exact": (0.0, 5.0),
    "text": (0.0, 1.0),
}


def checked_settings(value: object, source: str) -> dict[str, float]:
    """The numbers by name. Raises UsageError for a name that is none, and for what is no number in its range."""
    if not is_dict(value):
        raise UsageError(f"{source}: ranking is '{value}'.", f"Give a number for each of {', '.join(RANGES)}.")
    settings: dict[str, float] = {}
    for name, given in value.items():
        if name not in RANGES:
            raise UsageError(f"{source}: ranking has no '{name}'.", f"It has {', '.join(RANGES)}.")
        least, most = RANGES[str(name)]
        if isinstance(given, bool) or not isinstance(given, int | float) or not least <= given <= most:
            raise UsageError(f"{source}: ranking's {name} is '{given}'.", f"Give a number from {least:g} to {most:g}.")
        settings[str(name)] = float(given)
    return settings
