"""How often and how well, in the words of all commands about errors."""


def times(count: int) -> str:
    """How often, in words."""
    return "once" if count == 1 else f"{count} times"


def record_words(state: str, confirmations: int, refutations: int) -> str:
    """A solution's state, with its record where it has one."""
    if not confirmations and not refutations:
        return state
    return f"{state} ({confirmations} for, {refutations} against)"
