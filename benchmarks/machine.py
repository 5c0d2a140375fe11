"""What was measured on: facts that a result is worth nothing without."""

import datetime
import importlib.util
import os
import platform
import sqlite3
import subprocess
from importlib.metadata import version

import apsw


def facts() -> dict[str, object]:
    """The machine, the versions and the commit; nothing that names a person or a host."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "commit": _commit(),
        "ctxrank": version("ctxrank"),
        "bytecode": _has_bytecode(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "apsw": apsw.apsw_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "sqlite3_module": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
    }


def _commit() -> str:
    """The commit that is checked out, with a + where files differ from it; '' outside a checkout."""
    here = os.path.dirname(os.path.abspath(__file__))
    try:
        is_changed = _git(here, "status", "--porcelain", "--", "../indexer", "../ranking", "../cli")
        return _git(here, "rev-parse", "--short=12", "HEAD") + ("+" if is_changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(folder: str, *words: str) -> str:
    # Without optional locks, looking does not write the checkout's index.
    command = ["git", "--no-optional-locks", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def _has_bytecode() -> bool:
    found = importlib.util.find_spec("ctxrank.cli.main")
    return found is not None and found.cached is not None and os.path.exists(found.cached)


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()
