"""The project's skills configuration, which a session that is made keeps as it is now."""

import os
from collections.abc import Callable

from ctxrank.indexer.agents import Team
from ctxrank.indexer.exceptions import CtxrankError, UsageError
from ctxrank.indexer.records.skills_config import SKILLS_CONFIG_PATH, seed_from_project
from ctxrank.indexer.store.config_file import read_config_file
from ctxrank.indexer.store.store import Change


def project_skills(root: str) -> tuple[object, str]:
    """What the project's skills configuration says, None if there is none; and why it cannot be used."""
    path = os.path.join(root, SKILLS_CONFIG_PATH)
    if not os.path.exists(path):
        return None, ""
    try:
        return read_config_file(path, within=root)[0], ""
    except CtxrankError as error:
        return None, error.message


def seed(change: Change, skills: object, team: Team, note: Callable[[str], None]) -> None:
    """Store it, in the transaction that makes the session; what is wrong with it is noted."""
    if skills is None:
        return
    try:
        seeded = seed_from_project(change, skills, team)
    except UsageError as error:
        note(f"no skills are seeded from {SKILLS_CONFIG_PATH}: {error.message} {error.hint}")
        return
    for text in seeded.notes if seeded else ():
        note(f"{SKILLS_CONFIG_PATH}: {text}")
