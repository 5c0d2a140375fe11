"""The benchmarks run: small sizes, no judgement of times."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[2] / "benchmarks" / "run.py"


@pytest.mark.slow
@pytest.mark.needs("evaluation")
def test_a_benchmark_runs_and_keeps_its_raw_results(tmp_path: Path) -> None:
    command = [sys.executable, str(RUN), "--quick", "--only", "real_store", "--out", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "real_store.json").read_text(encoding="utf-8"))
    assert all(figure["values"] for figure in result["figures"])
    assert all(figure["name"] in done.stdout for figure in result["figures"])
