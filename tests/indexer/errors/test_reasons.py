"""What a report says beside its message is read by what lines look like, and is read the same from what is stored."""

import pytest

from ctxrank.indexer.errors.parse.units import error_units

CHECK = (
    "Public key for {0}.rpm is not installed. Failing package is: {0}\n GPG Keys are configured as: file:///etc/{0}\n"
)
LINK = "Error: The `brew link` step did not complete successfully\nCould not symlink {}\n"
API = "Error writing data to kv/app: Error making API request.\n\nURL: PUT http://127.0.0.1:8200\nCode: 503.\n\n* {}\n"


@pytest.mark.parametrize(
    ("text", "message", "reason"),
    [
        (CHECK.format("mysql") + "Error: GPG check FAILED\n", "GPG check FAILED", CHECK.format("mysql").split("\n")[0]),
        (LINK.format("bin/node"), "The `brew link` step did not complete successfully", "Could not symlink bin/node"),
        ("Upload failed\n\nThe host has no space.\nAsk for more.\n", "Upload failed", "The host has no space."),
        ("Cannot do 'x' in line 1\n  --\n  1: x\n  --\n\nIt is no 'y'.\n", "Cannot do 'x' in line 1", "It is no 'y'."),
        (API.format("Vault is sealed"), "writing data to kv/app: Error making API request.", "Vault is sealed"),
    ],
)
def test_the_lines_that_give_the_reason_belong_to_the_error(text: str, message: str, reason: str) -> None:
    unit = error_units(text)[0]
    assert unit.message == message
    assert reason in unit.reasons
    again = error_units(unit.text)[0]
    assert (again.message, again.reasons) == (unit.message, unit.reasons)


@pytest.mark.parametrize(
    "beside",
    [
        "    at run (/srv/shop/a.js:3:1)",
        "   12 | a { color: $b; }",
        "   |     ^^^^",
        "Try --help for more.",
        "[ 45%] Building CXX object a.o",
        "Downloading packages",
        "Finished in 2.4 s",
        "-----",
        "make: *** [all] Error 2",
    ],
)
def test_calls_code_advice_and_progress_are_no_reasons(beside: str) -> None:
    text = f"Error: the lockfile of 'shop' cannot be read\n{beside}\n"
    assert error_units(text)[0].reasons == ()


def test_a_later_paragraph_that_begins_another_error_is_no_reason() -> None:
    report = "Error: 'x' is so\n\nIt is no 'y'.\n\na.yaml\n  Error: 'z' is so\n"
    assert error_units(report)[0].reasons == ("It is no 'y'.",)


def test_what_stands_above_counts_only_where_it_says_what_is_wrong() -> None:
    said = "Loaded plugin a\nPlugin b is not installed\nError: the hook of 'shop' cannot be run\n"
    assert error_units(said)[0].reasons == ("Plugin b is not installed",)
