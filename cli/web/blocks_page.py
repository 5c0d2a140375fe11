"""stub"""

from ctxrank.cli.web.answers import Commands, Given, Json


def values(ask: Commands, given: Given) -> Json:
    """Nothing yet."""
    return {}
