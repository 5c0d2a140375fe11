"""The connection to a cluster and what the updater makes of its answers, without a cluster: a server that says no."""

import base64
import datetime
import gc
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from builders import Answer, answer_of, make_store, run_child, save
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from silent_servers import standing_in

from ctxrank.cli.main import run
from ctxrank.extensions.opensearch import cluster as module
from ctxrank.extensions.opensearch.cluster import Cluster, ClusterError
from ctxrank.extensions.opensearch.updater import Refused, Sent, index_name, send_changes
from ctxrank.indexer.fulltext.fts5_engine import fts5_of

Reply = Callable[[str, str, bytes], tuple[int, object]]


@contextmanager
def _serving(
    reply: Reply, certificate: Path | None = None, logins: list[str] | None = None, *, is_json: bool = True
) -> Generator[str, None, None]:
    """A server on loopback that answers so; with a certificate and its key in a folder, over TLS."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            if logins is not None:
                logins.append(self.headers.get("Authorization", ""))
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, value = reply(self.command, self.path, body)
            encoded = (json.dumps(value) if is_json else str(value)).encode()
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


def test_patience_ends() -> None:
    slept: list[float] = []
    with _serving(lambda _method, _path, _body: (429, {})) as url:
        cluster = Cluster([url], sleep=slept.append, patience_s=1)
        with pytest.raises(ClusterError, match=r"the cluster is busy \(429\)"):
            cluster.ask("GET", "/")
        cluster.close()
    assert sum(slept) == pytest.approx(1)


def test_a_node_that_is_away_is_passed_over() -> None:
    with _serving(lambda _method, _path, _body: (200, {})) as away:
        pass
    with _serving(lambda _method, _path, _body: (200, {"ok": 1})) as url:
        cluster = Cluster([away, url], sleep=lambda _: None)
        assert cluster.required("GET", "/") == {"ok": 1}
        cluster.close()
    assert cluster.waits == 0
    with pytest.raises(ClusterError, match="no node of the cluster answers"):
        Cluster([away], sleep=lambda _: None).ask("GET", "/")


def test_an_answer_that_is_given_up_leaves_no_open_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python says so as the socket is collected; a test in which it says so fails."""
    monkeypatch.setattr(module, "_MAX_ANSWER_BYTES", 2)

    def answering(connection: socket.socket, _: threading.Event) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n{}\n")

    with standing_in(answering) as port, pytest.raises(ClusterError, match="more than 2 bytes"):
        Cluster([f"http://127.0.0.1:{port}"], sleep=lambda _: None).ask("GET", "/")
    gc.collect()


def test_a_login_is_sent_to_https_alone() -> None:
    login = ("reader", "x")
    with pytest.raises(ClusterError, match="https alone"):
        Cluster(["https://127.0.0.1:1", "http://127.0.0.1:2"], login=login)


def test_a_login_goes_to_a_node_whose_certificate_a_named_authority_signed(tmp_path: Path) -> None:
    authority = _certificate(tmp_path)
    seen: list[str] = []

    def reply(_method: str, _path: str, _body: bytes) -> tuple[int, object]:
        return 200, {"ok": 1}

    with _serving(reply, tmp_path, seen) as url:
        cluster = Cluster([url], login=("reader", "x"), authority=str(authority))
        assert cluster.required("GET", "/") == {"ok": 1}
        cluster.close()
        stranger = Cluster([url], login=("reader", "x"), patience_s=0)
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
    assert done == Sent(sent[0], 0, 1)


def _cluster_that(refuses: Callable[[str], tuple[int, str] | None], sent: list[tuple[str, str]]) -> Reply:
    """One without an index that takes documents, but for those whose id it refuses; `sent` gets each action."""

    def reply(method: str, path: str, body: bytes) -> tuple[int, object]:
        if method == "GET":
            return 404, {}
        if path != "/_bulk":
            return 200, {}
        items: list[object] = []
        for line in body.splitlines():
            action = json.loads(line)
            kind = next(iter(action))
            if kind in ("index", "delete"):
                id_ = action[kind]["_id"].rpartition(":")[2]
                sent.append((kind, id_))
                no = refuses(id_) if kind == "index" else None
                items.append({kind: {"status": no[0], "error": {"type": no[1]}} if no else {"status": 200}})
        return 200, {"items": items}

    return reply


def test_a_document_that_is_refused_is_set_aside_with_what_was_there_of_it_and_the_others_are_sent(
    tmp_path: Path,
) -> None:
    with make_store(tmp_path) as store:
        for number in range(3):
            save(store, f"{number}.md")
        ids = [str(row[0]) for row in store.primary.execute("SELECT id FROM documents ORDER BY seq")]
        bad = ids[1]
        sent: list[tuple[str, str]] = []
        kept: list[dict[str, object]] = []
        reply = _cluster_that(lambda id_: (400, "mapper_parsing_exception") if id_ == bad else None, sent)

        def noting(method: str, path: str, body: bytes) -> tuple[int, object]:
            if path.endswith("/_mapping") and method == "PUT":
                kept.append(json.loads(body)["_meta"])
            return reply(method, path, body)

        with _serving(noting) as url:
            cluster = Cluster([url], sleep=lambda _: None)
            done = send_changes(store.primary, cluster, fts5_of(store).tokens)
            cluster.close()
        assert done == Sent(len(ids) - 1, 0, 0, (Refused(int(bad), "400 mapper_parsing_exception"),))
        assert sent == [*(("index", id_) for id_ in ids), ("delete", bad)]
        assert (kept[-1]["visible_seq"], kept[-1]["set_aside"]) == (store.last_seq(), [int(bad)])


def test_a_request_that_is_too_large_is_sent_in_parts(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        for number in range(5):
            save(store, f"{number}.md")
        ids = [str(row[0]) for row in store.primary.execute("SELECT id FROM documents ORDER BY seq")]
        sent: list[tuple[str, str]] = []
        reply = _cluster_that(lambda _: None, sent)

        def small(method: str, path: str, body: bytes) -> tuple[int, object]:
            lines = body.splitlines()
            is_large = (
                path == "/_bulk" and b"index" in lines[0][:9] and (len(lines) > 2 or f':{ids[2]}"'.encode() in body)
            )
            return (413, {}) if is_large else reply(method, path, body)

        with _serving(small) as url:
            cluster = Cluster([url])
            done = send_changes(store.primary, cluster, fts5_of(store).tokens)
            cluster.close()
        assert [id_ for kind, id_ in sent if kind == "index"] == [*ids[:2], *ids[3:]]
        assert (done.changed, done.refused) == (len(ids) - 1, (Refused(int(ids[2]), "413 too large"),))


@pytest.mark.parametrize("status", [403, 500])
def test_what_refuses_more_than_a_document_ends_the_run(tmp_path: Path, status: int) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md")
        with _serving(_cluster_that(lambda _: (status, "cluster_block_exception"), [])) as url:
            cluster = Cluster([url])
            with pytest.raises(ClusterError, match=f"a document was refused: {status} cluster_block_exception"):
                send_changes(store.primary, cluster, fts5_of(store).tokens)
            cluster.close()


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, "Unauthorized", r"the cluster wants a user \(401\)"),
        (403, '{"error": {"type": "security_exception"}}', "without a user one may not GET /x: 403 security_exception"),
        (502, "<html>Bad Gateway</html>", r"no node .* \(127.0.0.1:\d+: 502, of what stands before the nodes\)"),
        (500, "no JSON", "GET /x: 500$"),
        (200, "<html>Welcome</html>", "200 with what is no JSON: it is no node of OpenSearch"),
    ],
)
def test_each_refusal_has_its_own_words(status: int, body: str, said: str) -> None:
    with _serving(lambda _method, _path, _body: (status, body), is_json=False) as url:
        cluster = Cluster([url], sleep=lambda _: None, patience_s=0.5)
        with pytest.raises(ClusterError, match=said):
            cluster.required("GET", "/x?y=1")
        cluster.close()


def test_a_password_that_is_refused_names_its_user(tmp_path: Path) -> None:
    authority = _certificate(tmp_path)
    with _serving(lambda _method, _path, _body: (401, "Unauthorized"), tmp_path, is_json=False) as url:
        cluster = Cluster([url], login=("reader", "x"), authority=str(authority))
        with pytest.raises(ClusterError, match=r"the cluster refuses the password of reader \(401\)"):
            cluster.ask("GET", "/")
        cluster.close()


def _synced(url: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> tuple[Answer, list[float]]:
    """`wide sync` without its waits, and how long they would have been."""
    waits: list[float] = []

    def note(_: Cluster, seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(Cluster, "wait", note)
    monkeypatch.setenv("CTXRANK_WIDE", url)
    monkeypatch.chdir(folder)
    return answer_of(lambda: run(["wide", "sync"])), waits


def test_a_busy_cluster_is_waited_for_two_minutes_also_before_anything_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path).close()
    with _serving(lambda _method, _path, _body: (429, {})) as url:
        answer, waits = _synced(url, monkeypatch, tmp_path)
    assert answer.code == 6 and "the cluster is busy (429)" in answer.err
    assert sum(waits) == pytest.approx(120)


def test_a_cluster_that_was_never_there_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_store(tmp_path).close()
    for status in (None, 502):
        with _serving(lambda _method, _path, _body: (502, {})) as url:
            answer, waits = _synced("http://127.0.0.1:1" if status is None else url, monkeypatch, tmp_path)
        assert (answer.code, sum(waits) <= 0.5) == (6, True) and "no node of the cluster answers" in answer.err


def test_a_run_names_what_it_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md")
        bad = str(store.primary.execute("SELECT id FROM documents WHERE kind = 'package'").get)
    with _serving(_cluster_that(lambda id_: (400, "illegal_argument_exception") if id_ == bad else None, [])) as url:
        answer, _ = _synced(url, monkeypatch, tmp_path)
    assert answer.code == 6 and "package:1 is set aside: the cluster refuses it (400 illegal_arg" in answer.err
    assert answer.out.startswith("Sent 1 changes")


def test_a_store_imports_nothing_of_it(tmp_path: Path) -> None:
    with make_store(tmp_path) as store:
        save(store, "a.md")
    code = (
        "import sys; from ctxrank.cli.main import run; run(['search', 'token', '--db', sys.argv[1]]); "
        "print([name for name in sys.modules if 'wide' in name or name == 'http.client'])"
    )
    assert run_child(code, tmp_path / ".ctxrank" / "ctxrank.db").endswith("[]\n")
