"""A line of a log as what its program said: without time, level, process, and the container or part that speaks.

    as_said("2026-01-02 03:04:05,678 - app.worker - ERROR - database is locked")    ->  "ERROR: database is locked"
    as_said('web-1  | level=info msg="listening on \\":80\\""')                        ->  'listening on ":80"'

What stands before a message differs from day to day and from one way to start a program to the next; that the level
is one of errors stays, since it announces one.
"""

from ctxrank.indexer.errors.parse.tables import Expressions

_LINES = Expressions("log_lines")
_FORMS = ("passed on", "stamped", "process", "joined", "counted", "keyed")
_OF_ERRORS = ("ERR", "FAT", "CRI", "PAN", "ALE", "EME", "SEV")


def as_said(line: str) -> str:
    """The line without what a log puts before it; as it is where nothing of the kind is."""
    if " |" in line and (container := _LINES["container"].match(line)):
        line = line[container.end() :]
    for form in _FORMS:
        if (form != "keyed" or "level" in line or "severity" in line) and (found := _LINES[form].match(line)):
            named = found.groupdict("")
            level = (named.get("level") or named.get("in_brackets", "")).upper()
            said = named["message"].replace('\\"', '"') if form == "keyed" else line[found.end() :]
            said += f": {named['cause']}".replace('\\"', '"') if named.get("cause") else ""
            return f"ERROR: {said}" if said and level.startswith(_OF_ERRORS) and "rror" not in said[:40] else said
    return line
