"""stub"""

from ctxrank.cli.web.answers import Commands, Given, Json


def values(ask: Commands, given: Given) -> Json:
    """Nothing yet."""
    return {}


def latencies(times: object) -> Json:
    """Nothing yet."""
    return {}
