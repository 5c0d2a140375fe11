"""A checkout of the predecessor, recognised by the shape of the two scripts that are switched.

    Tree.found(folder).scripts       the script of its database, and its prompt builder

Nothing in it is run: the scripts are parsed, and everything that the switch relies on must be there.
"""

import ast
import os

from ctxrank.indexer.exceptions import UsageError
from ctxrank.indexer.light_typing import NamedTuple

DATABASE_FOLDER = ".claude/skills/bazinga-db/scripts"
BUILDER_FOLDER = ".claude/skills/prompt-builder/scripts"
OWN_FOLDER = ".claude/ctxrank"
DATABASE = "bazinga/bazinga.db"

_BLOCK_PARAMETERS = ["conn", "session_id", "group_id", "agent_type", "model"]


class Script(NamedTuple):
    """A script that is switched: where it is, and the name under which the one that was there is kept beside it."""

    folder: str
    name: str
    kept_name: str

    def path(self, root: str) -> str:
        """Where it is."""
        return os.path.join(root, self.folder, self.name)

    def kept(self, root: str) -> str:
        """Where the one that was there is kept."""
        return os.path.join(root, self.folder, self.kept_name)


DATABASE_SCRIPT = Script(DATABASE_FOLDER, "bazinga_db.py", "bazinga_db_state.py")
BUILDER_SCRIPT = Script(BUILDER_FOLDER, "prompt_builder.py", "prompt_builder_before_ctxrank.py")
SCRIPTS = (BUILDER_SCRIPT, DATABASE_SCRIPT)


def require_project(root: str) -> None:
    """Raises UsageError where there is no project of the predecessor, or one without the two scripts."""
    for folder in (".claude", "bazinga"):
        if not os.path.isdir(os.path.join(root, folder)):
            raise UsageError(
                f"{root} is not a project of BAZINGA: it has no folder {folder}/.",
                "Run it in the project, or name that: --project-root DIR. Nothing was changed.",
            )
    for script in SCRIPTS:
        path = script.path(root)
        if os.path.islink(path) or not os.path.isfile(path):
            raise UsageError(f"There is no file {path}.", "Nothing was changed.")


def require_known(script: Script, text: bytes, path: str) -> None:
    """Raises UsageError where a script has not what the switch relies on."""
    if missing := _missing(script, text):
        raise UsageError(
            f"{path} is not a script that ctxrank knows: {missing}.",
            "Nothing was changed. What it is known by is in docs/predecessor.md.",
        )


def _missing(script: Script, text: bytes) -> str:
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        return f"it is not Python ({error})"
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    if "main" not in functions or main_line(module) is None:
        return "it has no main() that it runs at its end"
    if script is DATABASE_SCRIPT:
        is_known = any(isinstance(node, ast.ClassDef) and node.name == "BazingaDB" for node in module.body)
        return "" if is_known else "it has no class BazingaDB"
    if "build_prompt" not in functions:
        return "it has no build_prompt"
    block = functions.get("build_context_block")
    if block is None or [one.arg for one in block.args.args] != _BLOCK_PARAMETERS:
        return f"it has no build_context_block({', '.join(_BLOCK_PARAMETERS)})"
    return ""


def main_line(module: ast.Module) -> int | None:
    """The line (from 0) of the last statement, `if __name__ == "__main__":`; None for a script that ends otherwise."""
    last = module.body[-1] if module.body else None
    if isinstance(last, ast.If) and ast.unparse(last.test).startswith("__name__ =="):
        return last.lineno - 1
    return None
