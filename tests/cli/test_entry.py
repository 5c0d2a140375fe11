"""How the command finds and loads its own modules: as Python does, from what Python keeps of the same source."""

import os
import py_compile
import subprocess
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

import pytest

from ctxrank.cli.entry import OwnModules

_KEPT_BY_TIME = py_compile.PycInvalidationMode.TIMESTAMP


@pytest.fixture(autouse=True)
def _bytecode_beside_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", None)


def _loaded(folder: Path, name: str) -> ModuleType:
    spec = OwnModules.find_spec(name, [str(folder)])
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_module_is_as_python_finds_it(tmp_path: Path) -> None:
    (tmp_path / "rooms").mkdir()
    for source, said in ((tmp_path / "words.py", 1), (tmp_path / "rooms" / "__init__.py", 2)):
        source.write_text(f"said = {said}\n")
        py_compile.compile(str(source), invalidation_mode=_KEPT_BY_TIME)
    for last, said in (("words", 1), ("rooms", 2)):
        name = f"ctxrank.{last}"
        usual = PathFinder.find_spec(name, [str(tmp_path)])
        own = OwnModules.find_spec(name, [str(tmp_path)])
        assert usual is not None and own is not None
        for field in ("name", "origin", "cached", "parent", "has_location"):
            assert getattr(own, field) == getattr(usual, field), field
        places = usual.submodule_search_locations
        assert own.submodule_search_locations == (None if places is None else list(places))
        module, model = _loaded(tmp_path, name), module_from_spec(usual)
        assert module.said == said
        for field in ("__name__", "__file__", "__cached__", "__package__", "__path__"):
            assert getattr(module, field, None) == getattr(model, field, None), field
        assert module.__loader__ is not None and module.__spec__ is not None


def test_what_was_kept_of_another_source_is_not_run(tmp_path: Path) -> None:
    source = tmp_path / "words.py"
    source.write_text("said = 1\n")
    assert OwnModules.find_spec("ctxrank.words", [str(tmp_path)]) is None
    py_compile.compile(str(source), invalidation_mode=_KEPT_BY_TIME)
    kept = os.stat(source)
    source.write_text("said = 2\n")
    os.utime(source, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert _loaded(tmp_path, "ctxrank.words").said == 1, "the same time and size: this is how Python knows it again"
    os.utime(source, (1, 1))
    assert OwnModules.find_spec("ctxrank.words", [str(tmp_path)]) is None
    py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    assert OwnModules.find_spec("ctxrank.words", [str(tmp_path)]) is None


def test_it_leaves_to_python_what_is_not_its_own_and_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text("")
    py_compile.compile(str(tmp_path / "words.py"), invalidation_mode=_KEPT_BY_TIME)
    assert OwnModules.find_spec("other.words", [str(tmp_path)]) is None
    assert OwnModules.find_spec("ctxrank", None) is None
    assert OwnModules.find_spec("ctxrank.nothing", [str(tmp_path)]) is None


@pytest.mark.parametrize("module", ["ctxrank/__init__", "ctxrank/cli/entry", "ctxrank/cli/main"])
def test_ctrl_c_while_modules_load_is_a_sentence_and_130(tmp_path: Path, module: str) -> None:
    source = Path(__file__).resolve().parents[2]
    for folder in ("ctxrank/cli", "ctxrank/indexer"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "ctxrank/__init__.py").touch()
    for file in ("cli/entry.py", "cli/streams.py", "indexer/light_typing.py"):
        (tmp_path / "ctxrank" / file).write_bytes((source / file).read_bytes())
    (tmp_path / f"{module}.py").write_text("raise KeyboardInterrupt\n")
    script = [sys.executable, "-S", str(source / "bin/ctxrank"), "search", "database"]
    environment = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "ctxrank: interrupted.\n")


def test_without_words_the_help_is_shown(tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-m", "ctxrank"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, "Usage: ctxrank" in ended.stdout + ended.stderr) == (2, True)


_DEFERRED = """
import sys
from ctxrank.cli.entry import defer_collections
{before}
defer_collections()
import apsw, ctxrank.ranking.context.assembly.assemble, ctxrank.ranking.retrieval.search
from collections.abc import Mapping
assert ("keyword" in sys.modules) == {is_whole}, sorted(sys.modules)
{after}
import collections.abc
assert collections.abc.Mapping is Mapping and collections.deque is __import__("_collections").deque
assert sys.modules["collections"].Counter is collections.Counter and "keyword" in sys.modules
assert not hasattr(collections, "nothing") and not hasattr(sys.modules["collections"], "nothing")
"""


@pytest.mark.parametrize("before", ["", "import collections", "import collections.abc"])
@pytest.mark.parametrize(
    "after", ["", "import functools, enum, yaml", "from collections import OrderedDict", "import collections"]
)
def test_the_abstract_types_are_there_without_the_rest_of_collections(before: str, after: str) -> None:
    code = _DEFERRED.format(before=before, is_whole=bool(before), after=after)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
