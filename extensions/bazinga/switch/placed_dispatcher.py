#!/usr/bin/env python3
"""Put here by `ctxrank bazinga install`; `ctxrank bazinga uninstall` takes it away.

The script that was here lies beside this one, under the name bazinga_db_state.py. Its commands about state run there,
those about context run in ctxrank, and those that make a session or a group run in both.
"""

import os
import sys
from importlib import import_module
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


def _switch() -> Any:
    sys.path.insert(0, os.path.join(_HERE, "..", "..", "..", "ctxrank"))
    try:
        return import_module("ctxrank_switch")
    finally:
        del sys.path[0]


def __getattr__(name: str) -> Any:  # a name of the script that was here
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_switch().state_module(_HERE), name)


if __name__ == "__main__":
    sys.exit(_switch().main(_HERE, sys.argv[1:]))
