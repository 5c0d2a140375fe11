"""The benchmarks run: small sizes, no judgement of times."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parent.parent / "benchmarks" / "run.py"


@pytest.mark.parametrize("name", ["in_process", "indexing"])
def test_a_benchmark_runs_and_keeps_its_raw_results(tmp_path: Path, name: str) -> None:
    command = [sys.executable, str(RUN), "--quick", "--only", name, "--out", str(tmp_path)]
    done = subprocess.run(command, env=_environment(), check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert all(figure["values"] for figure in result["figures"])
    assert all(figure["name"] in done.stdout for figure in result["figures"])


def test_a_quick_run_leaves_the_kept_results_alone(tmp_path: Path) -> None:
    kept = RUN.parent / "results"
    before = {path.name: path.stat().st_mtime_ns for path in kept.glob("*.json")}
    command = [sys.executable, str(RUN), "--quick", "--only", "rescan"]
    subprocess.run(command, env=_environment(), check=True, capture_output=True, cwd=tmp_path, timeout=120)
    assert {path.name: path.stat().st_mtime_ns for path in kept.glob("*.json")} == before


def _environment() -> dict[str, str]:
    """The temporary folder of the test is the benchmark's too."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
