"""The connection to a cluster and what the updater makes of its answers, without a cluster: a server that says no."""

import base64
import datetime
import ipaddress
import json
import ssl
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from builders import make_store, run_child, save
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ctxrank.indexer.fulltext.fts5_engine import fts5_of
from ctxrank.indexer.wide.cluster import Cluster, ClusterError, Login
from ctxrank.indexer.wide.updater import index_name, send_changes

Reply = Callable[[str, str, bytes], tuple[int, object]]


@contextmanager
def _serving(
    reply: Reply, certificate: Path | None = None, logins: list[str] | None = None
) -> Generator[str, None, None]:
    """A server on loopback that answers so; with a certificate and its key in a folder, over TLS."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            if logins is not None:
                logins.append(self.headers.get("Authorization", ""))
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, value = reply(self.command, self.path, body)
            encoded = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_GET = do_POST = do_PUT = do_DELETE = _answer

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate / "authority.pem", certificate / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"{'http' if certificate is None else 'https'}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_cluster_is_asked_again_each_time_after_twice_as_long(status: int) -> None:
    statuses: Iterator[int] = iter([status, status, status, 200])
    slept: list[float] = []
    with _serving(lambda _method, _path, _body: (next(statuses), {"ok": 1})) as url:
        cluster = Cluster([url], sleep=slept.append)
        assert cluster.required("GET", "/") == {"ok": 1}
        cluster.close()
    assert slept == [0.1, 0.2, 0.4]
    assert cluster.waits == 3
    assert cluster.waited_s == pytest.approx(0.7)


def test_patience_ends() -> None:
    slept: list[float] = []
    with _serving(lambda _method, _path, _body: (429, {})) as url:
        cluster = Cluster([url], sleep=slept.append, patience_s=1)
        with pytest.raises(ClusterError, match=r"the cluster is busy \(429\)"):
            cluster.ask("GET", "/")
        cluster.close()
    assert sum(slept) == pytest.approx(1)


def test_a_node_that_is_away_is_passed_over_and_counted() -> None:
    with _serving(lambda _method, _path, _body: (200, {})) as away:
        pass
    with _serving(lambda _method, _path, _body: (200, {"ok": 1})) as url:
        cluster = Cluster([away, url], sleep=lambda _: None)
        assert cluster.required("GET", "/") == {"ok": 1}
        cluster.close()
    assert (cluster.lost, cluster.waits) == (1, 0)
    with pytest.raises(ClusterError, match="no node of the cluster answers"):
        Cluster([away], sleep=lambda _: None).ask("GET", "/")


def test_a_login_is_sent_to_https_alone() -> None:
    login = Login("reader", "x")
    with pytest.raises(ClusterError, match="https alone"):
        Cluster(["https://127.0.0.1:1", "http://127.0.0.1:2"], login=login)


def test_a_login_goes_to_a_node_whose_certificate_a_named_authority_signed(tmp_path: Path) -> None:
    authority = _certificate(tmp_path)
    seen: list[str] = []

    def reply(_method: str, _path: str, _body: bytes) -> tuple[int, object]:
        return 200, {"ok": 1}

    with _serving(reply, tmp_path, seen) as url:
        cluster = Cluster([url], login=Login("reader", "x"), authority=str(authority))
        assert cluster.required("GET", "/") == {"ok": 1}
        cluster.close()
        stranger = Cluster([url], login=Login("reader", "x"), patience_s=0)
        with pytest.raises(ClusterError, match=r"the certificate of 127\.0\.0\.1 is not trusted"):
            stranger.ask("GET", "/")
    assert seen == ["Basic " + base64.b64encode(b"reader:x").decode()]


def _certificate(folder: Path) -> Path:
    """A certificate for 127.0.0.1 that signed itself, and beside it its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    form, no_password = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, no_password))
    (folder / "authority.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    return folder / "authority.pem"


def test_a_refusal_names_the_kind_of_error_and_nothing_of_the_document() -> None:
    error = {"error": {"type": "mapper_parsing_exception", "reason": "quotes a document"}}
    with _serving(lambda _method, _path, _body: (400, error)) as url:
        cluster = Cluster([url])
        with pytest.raises(ClusterError) as raised:
            cluster.required("GET", "/x?y=1")
        cluster.close()
    assert str(raised.value) == "GET /x: 400 mapper_parsing_exception"


def test_only_what_was_put_off_is_sent_again(tmp_path: Path) -> None:
    sent: list[int] = []
    with make_store(tmp_path) as store:
        for number in range(3):
            save(store, f"{number}.md")
        name = index_name(store.primary)

        def reply(method: str, path: str, body: bytes) -> tuple[int, object]:
            if method == "GET":
                return 404, {}
            if path != "/_bulk":
                return 200, {}
            actions = [line for line in body.splitlines() if line.startswith((b'{"index"', b'{"delete"'))]
            sent.append(len(actions))
            is_first = len(sent) == 1
            return 200, {
                "items": [{"index": {"status": 429 if is_first and at else 201}} for at in range(len(actions))]
            }

        with _serving(reply) as url:
            cluster = Cluster([url], sleep=lambda _: None)
            done = send_changes(store.primary, cluster, fts5_of(store).tokens)
            cluster.close()
        assert name.startswith("ctxrank-")
    assert sent[1] == sent[0] - 1
    assert done == (sent[0], 0, 1)


def test_a_store_imports_nothing_of_it(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md")
    code = (
        "import sys; from ctxrank.cli.main import run; run(['search', 'token', '--db', sys.argv[1]]); "
        "print([name for name in sys.modules if 'wide' in name or name == 'http.client'])"
    )
    assert run_child(code, tmp_path / ".ctxrank" / "ctxrank.db").endswith("[]\n")
