"""The long harness: python tests/torture/torture.py PART… [--seed N] [--length N] [--work DIR]

    kills    writers are killed at random instants                     length × 100 kills
    cuts     the power fails at recorded instants                      length sessions, 200 disks each
    disk     every operation of every act fails                        every (60 / length)-th operation, at least
    crowd    16 processes read and write, one of them holds the lock   length × 6 seconds
    damage   a page of the primary database or the index is damaged               length × 40 pages

Each part prints its seed, and writes results/PART.json; the exit code is 1 where a promise was broken. The same seed
and part give the same instances again (`--first` begins at one of them), as far as clocks and schedulers allow.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from typing import Any

import crowds
import damaged_stores
import disk_faults
import kills
import machine
import power_cuts

_RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
_CUTS_PER_SESSION = 200
_Outcome = dict[str, Any]


def main() -> int:
    """Run the parts that were asked for; 1 where one of them failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("parts", nargs="*", choices=[[], *_PARTS], help="which parts [default: all]")
    parser.add_argument("--seed", type=int, default=None, help="repeat a run [default: a new one]")
    parser.add_argument("--length", type=int, default=10, help="how long [default: 10]")
    parser.add_argument("--first", type=int, default=0, help="of kills: begin at this instance, a multiple of 20")
    parser.add_argument("--work", default=None, help="where the stores are made [default: the system's place]")
    parser.add_argument("--suffix", default="", help="put behind the name of the results, for a second seed")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**8) if given.seed is None else given.seed
    has_failed = False
    for part in given.parts or _PARTS:
        say(f"{part}: seed {seed}, length {given.length}")
        work = tempfile.mkdtemp(prefix=f"torture-{part}-", dir=given.work)
        outcome = _PARTS[part](work, seed, given.length, given.first)
        _write(part + given.suffix, given.length, outcome)
        failures: tuple[str, ...] = outcome["failures"]
        say(f"{part}: {len(failures)} failures; {json.dumps({k: v for k, v in outcome.items() if k != 'failures'})}")
        if failures:
            say(f"{part}: what is left is in {work}")
            has_failed = True
        else:
            shutil.rmtree(work)
    return 1 if has_failed else 0


def say(line: str) -> None:
    """Tell whoever waits."""
    print(line, file=sys.stderr, flush=True)


def _kills(work: str, seed: int, length: int, first: int) -> _Outcome:
    return kills.kill_many(work, seed=seed, count=length * 100, first=first, say=say)._asdict()


def _cuts(work: str, seed: int, length: int, first: int) -> _Outcome:
    return power_cuts.cut_many(work, seed=seed, sessions=length, cuts=_CUTS_PER_SESSION, say=say)._asdict()


def _disk(work: str, seed: int, length: int, first: int) -> _Outcome:
    return disk_faults.fail_everywhere(work, seed=seed, step=max(1, 60 // length), say=say)._asdict()


def _crowd(work: str, seed: int, length: int, first: int) -> _Outcome:
    return crowds.crowd(work, seed=seed, seconds=length * 6, say=say)._asdict()


def _damage(work: str, seed: int, length: int, first: int) -> _Outcome:
    return damaged_stores.damage_many(work, seed=seed, length=length, say=say)._asdict()


_PARTS = {"kills": _kills, "cuts": _cuts, "disk": _disk, "crowd": _crowd, "damage": _damage}


def _write(name: str, length: int, outcome: dict[str, object]) -> None:
    os.makedirs(_RESULTS, exist_ok=True)
    with open(os.path.join(_RESULTS, f"{name}.json"), "w", encoding="utf-8") as file:
        json.dump({"part": name, "length": length, "machine": machine.facts(), "outcome": outcome}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    sys.exit(main())
