"""The compiled modules: every `_*.c` of a room. All else about the package is in pyproject.toml.

They are what is done for each word of each text, and for each row of a query. Without a C compiler Python and FTS5
do the same, slower. One binary serves every Python from 3.11 on.
"""

import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class BuildWhatCompiles(build_ext):
    """Names as its outputs only what was built: a strict editable install makes a link to each of them."""

    def run(self) -> None:
        super().run()
        built = (os.path.join(self.build_lib, self.get_ext_filename(one.name)) for one in self.extensions)
        self.extensions = [one for one, path in zip(self.extensions, built, strict=True) if os.path.exists(path)]


def _module(source: Path) -> Extension:
    return Extension(
        ".".join(("ctxrank", *source.with_suffix("").parts)),
        [str(source)],
        depends=sorted(map(str, source.parent.glob("*.h"))),
        extra_compile_args=["-ffp-contract=off"],  # a product is rounded before it is added, as in Python
        optional=True,
        py_limited_api=True,
    )


_SOURCES = sorted(source for folder in ("indexer", "ranking") for source in Path(folder).glob("*/_*.c"))
setup(
    ext_modules=list(map(_module, _SOURCES)),
    cmdclass={"build_ext": BuildWhatCompiles},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
