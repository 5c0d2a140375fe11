"""The experiment on forgotten links runs; on its small worlds tiers keep what it requires of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[2] / "benchmarks" / "links" / "run_links.py"


@pytest.mark.slow
def test_with_links_deleted_tiers_are_never_below_links_or_search_alone(tmp_path: Path) -> None:
    command = [sys.executable, str(RUN), "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    result = json.loads((tmp_path / "links.json").read_text(encoding="utf-8"))
    assert result["missed"] == [] and result["kept_words"] <= 0.3
    figures = {tuple(one.values())[:5]: one["recall"] for one in result["figures"]}
    assert figures["gold", "own words", 0.0, 2000, "tiers"] == 1.0
    assert figures["gold", "own words", 0.6, 2000, "tiers"] > figures["gold", "own words", 0.6, 2000, "links"]
