"""What a log puts before a message is no part of it."""

import pytest

from ctxrank.indexer.errors.parse.console import as_said, clean
from ctxrank.indexer.errors.parse.units import error_units

_SAID = 'could not translate host name "db" to address: Name or service not known'
_QUOTED = _SAID.replace('"', '\\"')


@pytest.mark.parametrize("above", ["", "starting up\nlistening on port 1\n"])
@pytest.mark.parametrize(
    "line",
    [
        f"Error: {_SAID}",
        f"2014/02/06 06:34:37 {_SAID}",
        f"2024-01-02 03:04:05,678 - app.worker - ERROR - {_SAID}",
        f"ERROR:app.worker:{_SAID}",
        f"[2024-01-02 03:04:05 +0000] [7] [ERROR] {_SAID}",
        f"web-1  | {_SAID}",
        f"0|web  | 2024-01-02 03:04:05: {_SAID}",
        f"12:00:01 web.1    | {_SAID}",
        f"web_1  | 2024-01-02 03:04:05,678 ERROR {_SAID}",
        f"E0102 03:04:05.678901       1 main.go:123] {_SAID}",
        f"2024/01/02 03:04:05 [emerg] 1#1: {_SAID}",
        f"2024-01-02 03:04:05.123 UTC [1] FATAL:  {_SAID}",
        f'time="2024-01-02T03:04:05Z" level=error msg="{_QUOTED}"',
        f'{{"level":"error","ts":1704164645.1,"msg":"{_QUOTED}"}}',
        f"Jan 02 03:04:05 myhost dockerd[123]: {_SAID}",
        f"2024-01-02 03:04:05.123 ERROR 1 --- [main] o.s.boot.SpringApplication : {_SAID}",
        f"2024-01-02T03:04:05.678Z ERROR app::worker: {_SAID}",
        f"FATA[0003] {_SAID}",
    ],
)
def test_time_level_and_speaker_are_no_part_of_a_message(line: str, above: str) -> None:
    assert error_units(clean(f"{above}{line}\n"))[0].message == _SAID


def test_a_cause_beside_the_message_belongs_to_it() -> None:
    line = 'time="2024-01-02T03:04:05Z" level=fatal msg="cannot start" error="port is in use"'
    assert as_said(line) == "ERROR: cannot start: port is in use"


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: no such table",
        "12 | let x = 1;",
        "[Errno 98] Address already in use",
        "app.py:3: error: no",
        "ERROR in ./src/a.js 1:10",
        '{"message": "no such key"}',
        "time=3 msg=4",
    ],
)
def test_another_line_is_as_it_is(line: str) -> None:
    assert as_said(line) == line


@pytest.mark.parametrize("before", ["src/a.ts error: ", "main.c:error: ", "[error] ", "E: ", "npm: "])
def test_what_announces_an_error_is_no_speaker(before: str) -> None:
    printed = f"{before}no such table\n{before}no such row\n"
    assert clean(printed) == printed
