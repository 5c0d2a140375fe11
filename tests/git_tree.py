"""git as the tests run it: in a folder, without the settings of whoever runs them."""

import os
import subprocess
from pathlib import Path

# A hook of git that runs the tests sets these.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")


def git(folder: Path, *words: str, name: str = "n", email: str = "n@example.org", at: int = 0) -> str:
    """What one git command prints; it is run as that author, `at` seconds after 1970 (now, if 0).

    An empty `email` leaves the author's to the folder's own configuration.

    Raises:
        subprocess.CalledProcessError: git answers with an error.
    """
    environment = {key: value for key, value in os.environ.items() if key not in _ELSEWHERE}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    if at:
        environment |= {"GIT_COMMITTER_DATE": f"@{at} +0000", "GIT_AUTHOR_DATE": f"@{at} +0000"}
    identity = ["-c", f"user.name={name}", *(["-c", f"user.email={email}"] if email else [])]
    command = ["git", *identity, "-c", "protocol.file.allow=always", *words]
    done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout


def commit_all(folder: Path, subject: str = "x", *, at: int = 0) -> None:
    """Commit everything in the folder, which is made a repository if it is none."""
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", subject, at=at)
