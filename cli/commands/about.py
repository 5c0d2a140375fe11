"""`ctxrank completion` and `ctxrank schema`: the commands themselves, for a shell and for a program."""

from ctxrank.cli.declare import Command, OneOf, argument, by_name

_COMPLETION = Command(
    "completion",
    "ctxrank.cli.completion:completion",
    """Print a script that completes commands, options, values and paths in a SHELL.

    \b
    bash: eval "$(ctxrank completion bash)" in ~/.bashrc
    zsh: eval "$(ctxrank completion zsh)" in ~/.zshrc, after compinit
    fish: ctxrank completion fish > ~/.config/fish/completions/ctxrank.fish

    Example: ctxrank completion bash
    """,
    (argument("shell", type=OneOf(("bash", "zsh", "fish")), metavar="SHELL"),),
    answer={"shell": ("bash", "zsh", "fish"), "script": "string"},
)
_SCHEMA = Command(
    "schema",
    "ctxrank.cli.schema:schema",
    """Print what commands take and answer as JSON: all of them, or COMMAND alone.

    Parameters with their types and defaults, exit codes, and a JSON Schema (draft 2020-12) of each answer and of
    the answer of a failure.

    Example: ctxrank schema package list
    """,
    (argument("words", nargs=-1, metavar="[COMMAND]..."),),
    answer={
        "commands": {
            "*": {
                "help": "string",
                "parameters": [
                    {
                        "name": "string",
                        "kind": ("argument", "option", "flag"),
                        "type": "string",
                        "words": ["string"],
                        "required": "boolean",
                        "multiple": "boolean",
                        "default": "any",
                        "metavar": "string?",
                        "help": "string?",
                    }
                ],
                "exit_codes": {"*": "string"},
                "stdout?": "string",
                "answer": "any",
            }
        },
        "global_options": ["any"],
        "exit_codes": {"*": "string"},
        "failure": "any",
    },
)

COMMANDS = by_name(_COMPLETION, _SCHEMA)
