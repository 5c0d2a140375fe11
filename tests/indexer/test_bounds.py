"""The bounds of anything foreign: the threat model has the same numbers, and so has the server of a team's log."""

import re
from pathlib import Path

import pytest

from ctxrank.indexer import bounds

_ROOT = Path(__file__).parents[2]
_UNITS = {"GiB": 1 << 30, "MiB": 1 << 20, "%": 0.01, "": 1}


def test_the_threat_model_has_every_bound_as_it_is() -> None:
    page = (_ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([\d,]+) ?(GiB|MiB|%|) \|", page, re.MULTILINE)
    said = {name: int(number.replace(",", "")) * _UNITS[unit] for name, number, unit in rows}
    assert said == {name: value for name, value in vars(bounds).items() if name.isupper()}


@pytest.mark.needs("team")
def test_the_server_of_a_log_has_the_same_bounds() -> None:
    files = sorted((_ROOT / "extensions" / "team").glob("log_*.sql"))
    statements = "".join(path.read_text(encoding="utf-8") for path in files)
    for said in (
        f"DEFAULT {bounds.MAX_DAY_BYTES} ",
        f"CHECK (size BETWEEN 0 AND {bounds.MAX_RECORD_BYTES})",
        f"octet_length(line) <= {bounds.MAX_RECORD_BYTES})",
        f"cardinality(gone_of)) > {bounds.MAX_PUSHED} THEN",
    ):
        assert re.sub(r"\s+", " ", said) in re.sub(r"\s+", " ", statements), said
