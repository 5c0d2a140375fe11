"""A project of the predecessor, and its commands as `ctxrank bazinga` runs them."""

import json
from pathlib import Path
from typing import Any

from builders import Answer, answer_of, make_store, open_again

from ctxrank.cli.call import Call
from ctxrank.extensions.bazinga.run import run
from ctxrank.indexer.opening import create_store
from ctxrank.indexer.store.store import Store

SESSION = "bazinga_20261101_090000"


class Project:
    """A folder with `.claude`, `bazinga` and a store that holds one session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / ".claude").mkdir()
        (folder / "bazinga").mkdir()
        make_store(folder).close()
        self.bazinga("create-session", SESSION, "parallel", "Refresh the tokens")

    def bazinga(self, *arguments: str, quiet: bool = True) -> Answer:
        """Run one command on this project's store."""
        options = ("--project-root", str(self.folder), *(["--quiet"] if quiet else []))
        return bazinga(*options, *arguments)

    def json(self, *arguments: str) -> Any:
        """What a command answers that must go well."""
        answer = self.bazinga(*arguments)
        assert answer.code == 0, answer
        return answer.json()

    def artifact(self, name: str, text: str | None = "A finding.\n") -> str:
        """The path of a file among the session's artifacts; a text of None makes none."""
        path = f"bazinga/artifacts/{SESSION}/{name}"
        if text is not None:
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        return path

    def package(
        self,
        name: str,
        *,
        group: str = "AUTH",
        consumers: tuple[str, ...] = ("developer",),
        priority: str = "medium",
        summary: str = "A finding.",
        text: str = "A finding.\n",
    ) -> int:
        """Save a package; returns its id."""
        answer = self.json(
            "save-context-package", SESSION, group, "research", self.artifact(name, text), "investigator",
            json.dumps(consumers), priority, summary,
        )  # fmt: skip
        return int(answer["package_id"])

    def waiting(self, agent: str = "developer", group: str = "AUTH", limit: int = 50) -> list[str]:
        """The names of the files that wait for an agent, the most important first."""
        found = self.json("get-context-packages", SESSION, group, agent, str(limit))
        return [Path(package["file_path"]).name for package in found]

    def store(self) -> Store:
        """The store itself."""
        with create_store(str(self.folder)) as store:
            return open_again(store)


def bazinga(*arguments: str) -> Answer:
    """Run `ctxrank bazinga …` in this process."""
    return answer_of(lambda: run(Call(), arguments))
