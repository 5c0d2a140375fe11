"""Where the line that was read first only concludes or names nothing, the line that says what is wrong leads."""

import pytest

from ctxrank.indexer.errors.parse.structure import concludes
from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.signature import sign


@pytest.mark.parametrize(
    ("report", "message"),
    [
        ('a.pas(7,9) Error: Identifier not found "x"\na.pas(9) Fatal: There were 1 errors\nFatal: It is aborted\n',
         'Identifier not found "x"'),
        ("%Error: a.sv:7:9: Pin not found: 'rst'\n  7 |  .rst(r),\n%Error: Exiting due to 1 error(s)\n",
         "Pin not found: 'rst'"),
        ("Error detected while processing /home/a/.vimrc:\nline   7:\nE185: Cannot find color scheme 'nord'\n",
         "Cannot find color scheme 'nord'"),
        ("error: failed to connect to it\nerror: Failed to connect socket to '/run/x'\n",
         "failed to connect to it: Failed to connect socket to '/run/x'"),
        ("*** FATAL CONFIG FILE ERROR ***\nReading it, at line 7\n>>> 'io-thread 4'\nBad directive\n",
         "CONFIG FILE ERROR ***: 'io-thread 4'"),
    ],
)  # fmt: skip
def test_what_is_wrong_leads_and_signs_as_it_is_kept(report: str, message: str) -> None:
    first = error_units(report)[0]
    assert first.message == message
    assert sign(error_units(first.text)[0]).instance == sign(first).instance


@pytest.mark.parametrize("said", ["Compilation aborted", "Exiting due to 3 error(s)", "/usr/bin/x returned an error"])
def test_a_line_that_concludes_is_told_by_its_words(said: str) -> None:
    assert concludes(said)
    assert not concludes(f"{said}: 'name'")
