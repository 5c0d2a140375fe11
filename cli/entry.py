"""Where the command `ctxrank` begins: before anything is imported.

Garbage collection would run dozens of times while modules load, and find nothing. It begins where a command works for
long: a query makes 15,000 objects that it looks at, an index run of a hundred files 30,000.

A call loads fifty to a hundred modules of ours, and Python looks for each of them at all places where a module may be:
a tenth of the whole call. `OwnModules` looks beside the package that a module is of.
"""

import _collections_abc
import gc
import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
from marshal import loads

from ctxrank.cli.streams import open_streams, restart_in_utf_8
from ctxrank.indexer.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_OBJECTS_BEFORE_COLLECTION = 100_000
# Commands with a parser of their own, found by name: loading click would cost twice a bare interpreter's start.
_OWN_PARSER = {"bazinga": "ctxrank.extensions.bazinga.run"}
_OWN_PARSER["hook"] = "ctxrank.cli.agents.hook"  # its exit code is 0, whatever its words are
_BYTECODE = f".{sys.implementation.cache_tag}.pyc"
_HEAD_BYTES = 16  # of a file of bytecode: for which Python it is, and of which source


class OwnModules(SourceFileLoader):
    """Finds the modules of this package of whose very source Python has kept bytecode; all else is left to Python."""

    @classmethod
    def find_spec(cls, name: str, path: "Sequence[str] | None" = None, target: object = None) -> ModuleSpec | None:
        """A module beside its package; None where Python is to look for it, or to compile it."""
        if not (path and name.startswith("ctxrank.")):
            return None
        last = name.rpartition(".")[2]
        for folder, file in ((path[0], last), (f"{path[0]}/{last}", "__init__")):
            source, cached = f"{folder}/{file}.py", f"{folder}/__pycache__/{file}{_BYTECODE}"
            try:
                found = os.stat(source)
                descriptor = os.open(cached, os.O_RDONLY | os.O_CLOEXEC)  # a file object asks the system 5 times more
                kept = os.pread(descriptor, os.lseek(descriptor, 0, os.SEEK_END), 0)
                os.close(descriptor)
            except OSError:
                continue
            stamps = (int(found.st_mtime) % 2**32 | found.st_size << 32).to_bytes(8, "little")
            if kept[:_HEAD_BYTES] != MAGIC_NUMBER + bytes(4) + stamps:
                return None
            loader = cls(name, source)
            vars(loader)["code"] = kept[_HEAD_BYTES:]
            spec = ModuleSpec(name, loader, origin=source)
            spec.has_location, spec.cached = True, cached
            spec.submodule_search_locations = None if file == last else [folder]
            return spec
        return None

    def create_module(self, spec: ModuleSpec) -> "ModuleType":
        """A module that knows where it is: Python would set its names one by one, each after an error."""
        module = type(sys)(spec.name)
        module.__dict__.update(__loader__=self, __file__=spec.origin, __cached__=spec.cached, __package__=spec.parent)
        return module

    def exec_module(self, module: "ModuleType") -> None:
        """Run what was kept."""
        exec(loads(vars(self).pop("code")), module.__dict__)


def defer_collections() -> None:
    """Let `collections.abc` be there by itself: the rest of `collections` takes a seventh of a bare start.

    SQLite's module asks for no more. The rest is loaded as soon as something of it is asked for.
    """
    light = type(sys)("collections")
    known: dict[str, object] = light.__dict__

    def of_the_rest(name: str) -> object:
        sys.modules.pop("collections", None)
        known.pop("__getattr__", None)
        known.update(__import__("collections").__dict__)
        sys.modules["collections"] = light
        return getattr(light, name)

    known.update(abc=_collections_abc, __getattr__=of_the_rest)
    if "collections" not in sys.modules:
        sys.modules.update({"collections": light, "collections.abc": _collections_abc})


def main() -> None:
    """Run one call and exit with its code."""
    try:
        gc.set_threshold(_OBJECTS_BEFORE_COLLECTION)
        if not (sys.flags.optimize or sys.pycache_prefix):  # else bytecode is elsewhere
            sys.meta_path.insert(0, OwnModules)
        defer_collections()
        restart_in_utf_8()
        open_streams()
        _run()
    except KeyboardInterrupt:  # while modules were loading: nothing was begun
        print("ctxrank: interrupted.", file=sys.stderr)
        sys.exit(130)


def _run() -> None:
    module = _OWN_PARSER.get(sys.argv[1]) if len(sys.argv) > 1 else None
    if module is not None and sys.argv[2:3] not in (["--help"], ["-h"]):
        try:
            run_by_itself = __import__(module, fromlist=["main"]).main
        except ModuleNotFoundError:
            pass  # not installed: the commands below say so
        else:
            run_by_itself()
    from ctxrank.cli.main import main as run_and_exit  # noqa: PLC0415  after garbage collection is off

    run_and_exit()
