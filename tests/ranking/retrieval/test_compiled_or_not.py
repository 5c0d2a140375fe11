"""A search gives the same hits, scores and totals whatever of the compiled modules this installation has."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from release_smoke import COMPILED

_TESTS = Path(__file__).parents[2]
# A module that is None in `sys.modules` is found by no import, as where there was no C compiler.
_CHILD = """
import sys
from pathlib import Path
sys.modules.update(dict.fromkeys(sys.argv[2:]))
import questions_of_stores
print(questions_of_stores.answers(Path(sys.argv[1])))
"""


def _answers(folder: Path, *missing: str) -> list[list[object]]:
    environment = os.environ | {"PYTHONPATH": str(_TESTS)}
    names = [f"ctxrank.{name}" for name in missing]
    command = [sys.executable, "-c", _CHILD, str(folder), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    found: list[list[object]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[list[object]]:
    """What this installation answers."""
    found = _answers(tmp_path_factory.mktemp("as_it_is"))
    assert len(found) == 60
    assert sum(bool(is_capped) for *_, is_capped, _, _ in found) > 20, "many rows are found by their bounds"
    return found


@pytest.mark.slow
@pytest.mark.parametrize("missing", [pytest.param(COMPILED, id="all"), *COMPILED])
def test_sixty_questions_have_the_same_answers_without_compiled_modules(
    answers: list[list[object]], tmp_path: Path, missing: str | tuple[str, ...]
) -> None:
    without = _answers(tmp_path, *((missing,) if isinstance(missing, str) else missing))
    different = [(mine, other) for mine, other in zip(answers, without, strict=True) if mine != other]
    assert not different, (len(different), different[0])
