"""Real OpenSearch nodes on loopback, each in a JVM of its own, so that killing one is losing a node.

    with running(folder, count=3) as nodes:
        nodes[0].url, nodes[0].kill(), nodes[0].start(), nodes[0].wait()

The jars come from Maven Central by `mvn`, once. They hold no security plugin: neither auth nor TLS.
"""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Generator
from http.client import HTTPConnection, HTTPException
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_OLDEST_JAVA = 21
_FETCH_SECONDS = 300
_START_SECONDS = 120
_MODULES = ("jdk.compiler", "jdk.incubator.vector")
_PLUGINS = (
    "org.opensearch.transport.Netty4ModulePlugin",
    "org.opensearch.analysis.common.CommonAnalysisModulePlugin",
    "org.opensearch.index.reindex.ReindexModulePlugin",
    "org.opensearch.index.mapper.MapperExtrasModulePlugin",
)
_LOGGING = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


class NoNodesError(Exception):
    """No node can be started here; the text says why."""


def java() -> str:
    """A Java that can run a node. Raises NoNodesError, which says what to install."""
    homes = [os.environ.get("CTXRANK_JAVA_HOME", ""), os.environ.get("JAVA_HOME", "")]
    homes += map(str, sorted(Path("/usr/lib/jvm").glob("*")))
    candidates = [os.path.join(home, "bin", "java") for home in homes if home]
    candidates.append(shutil.which("java") or "")
    for path in candidates:
        if os.access(path, os.X_OK) and _is_enough(path):
            return path
    raise NoNodesError(f"no JDK {_OLDEST_JAVA} or newer is here: install one, or name its folder in CTXRANK_JAVA_HOME")


def jars(folder: Path) -> Path:
    """The folder with the jars, fetched if they are not there yet. Raises NoNodesError."""
    library = folder / "lib"
    if library.is_dir():
        return library
    maven = shutil.which("mvn")
    if maven is None:
        raise NoNodesError("no mvn is here: install maven")
    fetched = folder / f"lib-{os.getpid()}"
    goal = ["dependency:copy-dependencies", f"-DoutputDirectory={fetched}"]
    try:
        command = [maven, "-B", "-q", "-f", str(_HERE / "pom.xml"), *goal]
        subprocess.run(command, check=True, timeout=_FETCH_SECONDS, capture_output=True)
    except (subprocess.SubprocessError, OSError) as error:
        shutil.rmtree(fetched, ignore_errors=True)
        raise NoNodesError(f"the jars could not be fetched: {error}") from error
    if library.is_dir():  # another run was faster
        shutil.rmtree(fetched)
    else:
        fetched.rename(library)
    return library


class ClusterNode:
    """One node, which keeps its data when it is killed and started again."""

    def __init__(self, name: str, home: Path, http_port: int, command: list[str]) -> None:
        self.name = name
        self.home = home
        self.port = http_port
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start its JVM, without waiting for it."""
        with (self.home / "node.log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def wait(self, nodes: int) -> None:
        """Wait until it sees a cluster of so many nodes with every copy in place. Raises NoNodesError."""
        deadline = time.monotonic() + _START_SECONDS
        path = f"/_cluster/health?wait_for_nodes={nodes}&wait_for_status=green&timeout=5s"
        while time.monotonic() < deadline:
            if self._process is None or self._process.poll() is not None:
                break
            with contextlib.suppress(OSError, HTTPException), contextlib.closing(self._connection()) as connection:
                connection.request("GET", path)
                if connection.getresponse().status == 200:
                    return
            time.sleep(0.25)
        tail = (self.home / "node.log").read_text(errors="replace")[-2000:]
        raise NoNodesError(f"node {self.name} did not start within {_START_SECONDS} s:\n{tail}")

    def kill(self) -> None:
        """End it as a power cut would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def files_with(self, word: str) -> list[str]:
        """Which of its files hold a word."""
        found: list[str] = []
        for path in sorted((self.home / "data").rglob("*")):
            with contextlib.suppress(FileNotFoundError, IsADirectoryError):  # a merge removes what it read
                if word.encode() in path.read_bytes():
                    found.append(str(path.relative_to(self.home / "data")))
        return found

    def _connection(self) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=10)


@contextlib.contextmanager
def running(cache: Path, folder: Path, count: int = 1, heap: str = "1g") -> Generator[list[ClusterNode], None, None]:
    """So many nodes in a cluster of their own, ended with the block. Raises NoNodesError."""
    program = java()
    library = jars(cache)
    ports = _free_ports(2 * count)
    names = [f"n{number}" for number in range(count)]
    nodes: list[ClusterNode] = []
    for name, http, transport in zip(names, ports[:count], ports[count:], strict=True):
        home = folder / name
        for part in ("config", "data", "logs", "modules", "plugins"):
            (home / part).mkdir(parents=True)
        settings = _settings(name, home, http, transport, ports[count:], names)
        (home / "config" / "opensearch.yml").write_text(json.dumps(settings))
        (home / "config" / "log4j2.properties").write_text(_LOGGING)
        command = [
            program, f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseSerialGC", "-Dlog4j2.disable.jmx=true",
            f"-Dlog4j2.configurationFile={home}/config/log4j2.properties",
            "--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED",
            "-cp", f"{library}/*", str(_HERE / "Node.java"), str(home), *_PLUGINS,
        ]  # fmt: skip
        nodes.append(ClusterNode(name, home, http, ["nice", "-n", "10", *command]))
    try:
        for node in nodes:
            node.start()
        for node in nodes:
            node.wait(count)
        yield nodes
    finally:
        for node in nodes:
            node.kill()


def _settings(
    name: str, home: Path, http: int, transport: int, transports: list[int], names: list[str]
) -> dict[str, object]:
    return {
        "cluster.name": f"ctxrank-{transports[0]}", "node.name": name, "network.host": "127.0.0.1",
        "http.port": http, "transport.port": transport, "http.type": "netty4", "transport.type": "netty4",
        "path.home": str(home), "path.data": str(home / "data"), "path.logs": str(home / "logs"),
        "discovery.seed_hosts": [f"127.0.0.1:{port}" for port in transports],
        "cluster.initial_cluster_manager_nodes": names,
        "cluster.routing.allocation.disk.threshold_enabled": False,
    }  # fmt: skip


def _is_enough(program: str) -> bool:
    """New enough, and with what a node and its source need: a Java that only runs programs has no compiler."""
    try:
        said = subprocess.run(
            [program, "--list-modules"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return False
    modules = {name: int(version) for name, version in re.findall(r"^([\w.]+)@(\d+)", said, re.MULTILINE)}
    return all(modules.get(name, 0) >= _OLDEST_JAVA for name in _MODULES)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
