"""Look for inputs that break something: atheris drives one target, led by which lines of ours it reaches.

python tests/fuzz/atheris_run.py query --seconds 60    new inputs go to build/fuzz/query, a crash to build/fuzz/crash-…
python tests/fuzz/atheris_run.py query --merge         those that reach something new become seeds in corpus/query
"""

import argparse
import os
import sys
from typing import NoReturn

import atheris

with atheris.instrument_imports(include=["ctxrank"]):
    from fuzz_targets import TARGETS

_HOME = os.path.dirname(os.path.abspath(__file__))
_FOUND = os.path.join(os.path.dirname(os.path.dirname(_HOME)), "build", "fuzz")
_MAX_INPUT_BYTES = 16_384
# One input may take this long, and all of them together this much memory.
_MAX_SECONDS = 10
_MAX_MEGABYTES = 1024


# While it merges, libFuzzer starts this program again with options of its own, so the target is told this way.
_TARGET = "CTXRANK_FUZZ_TARGET"


def main() -> None:
    """Run atheris on a target; ends the process."""
    if _TARGET in os.environ:
        _fuzz(sys.argv, os.environ[_TARGET])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60, help="for how long [default: 60]")
    parser.add_argument("--merge", action="store_true", help="take the fewest inputs that reach all into the seeds")
    given = parser.parse_args()
    seeds, found = os.path.join(_HOME, "corpus", given.target), os.path.join(_FOUND, given.target)
    for folder in (seeds, found):
        os.makedirs(folder, exist_ok=True)
    options = [
        f"-max_len={_MAX_INPUT_BYTES}", f"-timeout={_MAX_SECONDS}", f"-rss_limit_mb={_MAX_MEGABYTES}",
        f"-artifact_prefix={_FOUND}{os.sep}",
    ]  # fmt: skip
    folders = [seeds, found] if given.merge else [found, seeds]
    options += ["-set_cover_merge=1"] if given.merge else [f"-max_total_time={given.seconds}"]
    if given.merge:
        os.environ[_TARGET] = given.target
    _fuzz([f"{sys.executable} {os.path.abspath(__file__)}", *options, *folders], given.target)


def _fuzz(arguments: list[str], target: str) -> NoReturn:
    atheris.Setup(arguments, TARGETS[target])
    atheris.Fuzz()
    raise SystemExit(0)


main()
