"""What shells say of the same failure has one wording; what no shell says stays as it is."""

import pytest

from ctxrank.indexer.errors.parse.units import error_units
from ctxrank.indexer.errors.shell_wordings import in_one_wording
from ctxrank.indexer.errors.signature import sign

# Bash's words, and those of dash, zsh, fish, busybox, PowerShell and cmd.
WORDINGS = {
    "jq: command not found": (
        "jq: not found", "command not found: jq", "Unknown command: jq", "jq: applet not found",
        "The term 'jq' is not recognized as a name of a cmdlet, function, script file, or executable program.",
        "'jq' is not recognized as an internal or external command,",
    ),
    "cd: build: No such file or directory": (
        "cd: can't cd to build", "can't cd to build: No such file or directory",
        "cd: no such file or directory: build", "cd: The directory 'build' does not exist",
        "Set-Location: Cannot find path 'build' because it does not exist.",
    ),
    "in.txt: No such file or directory": (
        "cannot open in.txt: No such file", "can't open 'in.txt': No such file or directory",
        "no such file or directory: in.txt", "Get-Content: Cannot find path 'in.txt' because it does not exist.",
    ),
    "out.txt: Permission denied": ("permission denied: out.txt", "cannot create out.txt: Permission denied"),
    "TOKEN: unbound variable": (
        "TOKEN: parameter not set", "The variable '$TOKEN' cannot be retrieved because it has not been set.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("wording", "others"), WORDINGS.items())
def test_each_shell_says_it_in_bashs_words(wording: str, others: tuple[str, ...]) -> None:
    assert {in_one_wording(other) for other in others} == {in_one_wording(wording)} == {wording}


@pytest.mark.parametrize("message", ["page not found: 404", "cannot open the door", "relation does not exist"])
def test_another_message_stays(message: str) -> None:
    assert in_one_wording(message) == message


@pytest.mark.parametrize(
    "output",
    ["run.sh: 3: jq: not found", "run.zsh:3: command not found: jq", "fish: Unknown command: jq\njq .\n^^"],
)
def test_a_script_that_fails_in_another_shell_is_the_same_error(output: str) -> None:
    known, asked = (sign(error_units(text)[0]) for text in ("run.sh: line 3: jq: command not found", output))
    assert (asked.template, asked.missing) == (known.template, "jq")
