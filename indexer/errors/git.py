"""The one place where git is run: a question about a checkout, whose configuration may be anybody's.

    run_git("/home/me/shop", "rev-parse", "--verify", "HEAD")        b"4a1f…\n"

A checkout's own `.git/config` and attributes can name programs for git to run: file system monitors, hooks, filters,
external diffs, text conversions, pagers, signature checks, transports. All of them are off, as are the system's and the
user's configuration; time and output are bounded. Never asked on a query.
"""

import os
import select
import subprocess
import time

_SECONDS = 10.0
_MAX_OUTPUT_BYTES = 16 * 2**20
_CHUNK_BYTES = 64 * 1024
_OFF = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.attributesFile": os.devnull,
    "diff.external": "",
    "log.showSignature": "false",
    "protocol.allow": "never",  # nothing that a partial clone lacks is fetched
    "submodule.recurse": "false",
}
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",  # a look must not come between the user and another git
}
_INHERITED_OFF = ("GIT_EXTERNAL_DIFF", "GIT_TRACE", "GIT_ASKPASS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND")
DIFF_OFF = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all")


def run_git(root: str, *arguments: str) -> bytes:
    """What git prints; nothing where it cannot answer: no git, no tree, no commit yet, too long, too much."""
    deadline = time.monotonic() + _SECONDS
    # Filters have names of their own, so they are asked for. Reading a configuration runs nothing.
    named = _output(root, _OFF, ("config", "--null", "--name-only", "--get-regexp", r"^filter\."), deadline)
    filters = {os.fsdecode(name): "" for name in (named or b"").split(b"\0") if name}
    filters = {name: "false" if name.lower().endswith(".required") else "" for name in filters}
    return _output(root, {**_OFF, **filters}, arguments, deadline) or b""


def _output(root: str, settings: dict[str, str], arguments: tuple[str, ...], deadline: float) -> bytes | None:
    environment = {name: value for name, value in os.environ.items() if name not in _INHERITED_OFF}
    environment.update(_ENVIRONMENT, GIT_CONFIG_COUNT=str(len(settings)))
    for place, (name, value) in enumerate(settings.items()):
        environment[f"GIT_CONFIG_KEY_{place}"], environment[f"GIT_CONFIG_VALUE_{place}"] = name, value
    try:
        process = subprocess.Popen(
            ("git", "--no-pager", "-C", root, *arguments), env=environment, bufsize=0, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, ValueError):
        return None
    with process:
        try:
            found = _read(process, deadline)
            if found is not None and process.wait(max(deadline - time.monotonic(), 0.1)) == 0:
                return found
            return None
        except subprocess.TimeoutExpired:
            return None
        finally:
            process.kill()


def _read(process: "subprocess.Popen[bytes]", deadline: float) -> bytes | None:
    assert process.stdout is not None, "it was asked for"
    parts: list[bytes] = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            return None
        part = os.read(process.stdout.fileno(), _CHUNK_BYTES)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > _MAX_OUTPUT_BYTES:
            return None
