"""How many of the fixes that transcripts show are found, and how many of those that are offered are right.

    python benchmarks/transcripts/found_fixes.py --generator made_up --seeds 1 2 3

Offered is what `error match` says of a failure without "ran next, unconfirmed". Right is what contains the fix of the
truth. Found counts the failures that were repaired in two sessions or more.
"""

import argparse
import importlib
import json
import re
import tempfile
from pathlib import Path
from typing import Any

from ctxrank.cli.agents.ask import ask
from ctxrank.cli.call import Call
from ctxrank.indexer import create_store
from ctxrank.indexer.errors.solutions import RAN_NEXT


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--generator", default="made_up")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--failures", action="store_true", help="name what is wrong or missing")
    given = parser.parse_args()
    print(json.dumps({seed: _measured(given.generator, seed, says=given.failures) for seed in given.seeds}, indent=1))


def _measured(generator: str, seed: int, *, says: bool) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as folder:
        real = str(Path(root).resolve())
        truth = importlib.import_module(generator).write(Path(folder), real, 50, seed)
        with create_store(real) as store:
            primary = store.location.primary
        call = Call(db=primary)
        counts: Any = ask(call, "import transcripts", {"folder": folder, "since": "2000-01-01"}).payload
        offered = right = known = 0
        for one in truth:
            found: Any = ask(call, "error match", {"file": "-", "limit": 1}, str(one["output"]).encode()).payload[
                "matches"
            ]
            solution = found[0]["solution"] if found else ""
            is_offered = bool(solution) and not solution.startswith(RAN_NEXT)
            is_right = is_offered and _words(str(one["fix"])) in _words(solution)
            known += one["sightings"] >= 2
            offered += is_offered
            right += is_right
            if says and not is_right:
                print(one["fix"], "|", solution, "|", str(one["output"])[-80:])
        again: Any = ask(call, "import transcripts", {"folder": folder, "since": "2000-01-01"}).payload
        return {
            "failures": counts["failures"], "offered": offered, "right": right, "known": known,
            "precision": round(right / max(offered, 1), 3), "recall": round(right / max(known, 1), 3),
            "new_when_repeated": again["failures"] + again["entries"],
        }  # fmt: skip


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


if __name__ == "__main__":
    main()
