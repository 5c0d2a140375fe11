"""What is made of tables is made once for as long as they are as they are."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from ctxrank.indexer.text.tables import kept_from_tables


def test_it_is_made_again_where_a_table_or_the_module_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    module, table = tmp_path / "module.py", tmp_path / "tables" / "one.tsv"
    table.parent.mkdir()
    spec = ModuleSpec("module", None, origin=str(module))
    made: list[str] = []

    def make() -> dict[str, int]:
        made.append("")
        return {"made": len(made)}

    def kept() -> dict[str, int]:
        return kept_from_tables(spec, make, str(table.parent))

    module.touch()
    for number, changed in enumerate((table, module, table), start=1):
        changed.write_text("x" * number)
        assert kept() == kept() == {"made": number}


@pytest.mark.parametrize("damaged", [b"", b"i\0\0\0\0", b"(\0\0\0\0", b"\0" * 9], ids=len)
def test_a_damaged_file_is_as_good_as_none(damaged: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "module.py").touch()
    spec = ModuleSpec("module", None, origin=str(tmp_path / "module.py"))
    place = tmp_path / "module.py.tables"
    assert kept_from_tables(spec, lambda: "first") == "first" and place.exists()
    place.write_bytes(damaged)
    assert kept_from_tables(spec, lambda: "second") == "second" == kept_from_tables(spec, lambda: "third")
