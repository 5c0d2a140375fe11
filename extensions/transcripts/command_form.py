"""Which commands are the same: one that succeeds in another form may be what ended a failure.

`VAR=1 npx --quiet jest src/a.test.ts` is `jest` with a variable, a starter, an option and a path.
"""

from functools import lru_cache

from ctxrank.cli.agents.shell_line import programs, without_rights, words_of

_STARTERS = [program.split() for program in programs("starts")]
_FILE_RUNNERS = frozenset(programs("runs a file"))


@lru_cache(maxsize=256)  # each success is compared with each failure that waits
def _form(command: str) -> tuple[list[str], set[str], list[str]]:
    """What a command runs, without what starts it; its variables and options; and the paths that it names."""
    words = words_of(command)
    added = {word for word in words if word.startswith("-")}
    while words:
        starter = next((one for one in _STARTERS if words[: len(one)] == one and words[len(one) :]), list[str]())
        if starter == ["sudo"]:
            rest = without_rights(words)
            added.add(" ".join(words[: len(words) - len(rest)]))
            words = rest
        elif starter:
            added.add(" ".join(starter))
            words = words[len(starter) :]
        elif "=" in words[0] and words[0].partition("=")[0].isidentifier():
            added.add(words.pop(0))
        else:
            break
    paths = [word for word in words[1:] if not word.startswith("-") and ("/" in word or "." in word)]
    plain = [word for at, word in enumerate(words) if not at or (not word.startswith("-") and word not in paths)]
    return plain, added, paths


def has_form_of(one: str, other: str) -> bool:
    """Whether two commands run the same on the same paths."""
    if one == other:
        return True
    (plain, _, paths), (other_plain, _, other_paths) = _form(one), _form(other)
    return plain == other_plain and paths == other_paths


def includes(command: str, failed: str, output: str) -> bool:
    """Whether a command that succeeds has run what failed: the same, more, or the paths that the failure named."""
    (plain, _, paths), (failed_plain, _, failed_paths) = _form(command), _form(failed)
    if plain != failed_plain or (paths != failed_paths and len(plain) == 1 and plain[0] in _FILE_RUNNERS):
        return False
    if paths == failed_paths or not paths:
        return True
    named = failed_paths or [path for path in paths if path.partition("::")[0] in output]
    return bool(named) and all(any(path.startswith(one) for one in paths) for path in named)


def adds_to(command: str, failed: str) -> bool:
    """Whether a form has variables or options, or is started in a way, that the one that failed had not."""
    return bool(_form(command)[1] - _form(failed)[1])
