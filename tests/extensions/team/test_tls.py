"""The way to the log, with TLS: a server with a certificate, the authority that signed it, and others that did not."""

import datetime
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from postgres_nodes import Node, primary

from ctxrank.extensions.team.log import opened, postgres_errors
from ctxrank.indexer.exceptions import CtxrankError

pytestmark = [pytest.mark.slow, pytest.mark.team]

NAME = "log.example"


class Authority:
    """Who signs certificates."""

    def __init__(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._certificate = self._signed(self._name, self._key.public_key(), is_authority=True)

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, is_authority: bool = False, host: str = NAME
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        return builder.sign(self._key, hashes.SHA256())

    def write(self, path: Path) -> Path:
        """The authority's own certificate, as sslrootcert takes it."""
        path.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))
        return path

    def equip(self, node: Node, host: str) -> None:
        """Give a server a certificate for a name, and let it speak TLS alone."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        certificate = self._signed(subject, key.public_key(), host=host)
        public, private = node.data / "server.crt", node.data / "server.key"
        public.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        plain = serialization.NoEncryption()
        private.touch(mode=0o600)
        private.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain),
        )
        owner = node.data.stat()
        for path in (public, private):
            shutil.chown(path, owner.st_uid, owner.st_gid)
        node.configure("ssl = on\n")
        (node.data / "pg_hba.conf").write_text("hostssl all all 127.0.0.1/32 trust\n", encoding="ascii")
        node.stop()
        node.start()


class Way(NamedTuple):
    """A server that speaks TLS alone, and the file of the authority that signed for its name."""

    node: Node
    authority: Path

    def dsn(self, host: str = NAME, authority: Path | None = None) -> str:
        """How a machine connects: by a name that means this machine."""
        return (
            f"host={host} hostaddr=127.0.0.1 port={self.node.port} user=postgres dbname=postgres "
            f"sslmode=verify-full sslrootcert={authority or self.authority}"
        )


@pytest.fixture(scope="module")
def way(team_programs: Path, team_folder: Path) -> Iterator[Way]:
    with primary(team_programs, team_folder / "tls") as node:
        authority = Authority("an authority")
        authority.equip(node, NAME)
        yield Way(node, authority.write(team_folder / "authority.pem"))


def test_a_server_that_proves_its_name_is_spoken_to_over_tls(way: Way) -> None:
    with opened(way.dsn()) as connection:
        row = connection.execute("SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone()
    assert row in [(True, "TLSv1.2"), (True, "TLSv1.3")]


def test_a_server_of_another_name_is_not(way: Way) -> None:
    with (
        pytest.raises(CtxrankError, match="does not match host name"),
        postgres_errors(),
        opened(way.dsn("log2.example")),
    ):
        pass


def test_nor_is_one_that_another_authority_signed_for(way: Way, tmp_path: Path) -> None:
    other = Authority("another authority").write(tmp_path / "other.pem")
    with (
        pytest.raises(CtxrankError, match="certificate verify failed"),
        postgres_errors(),
        opened(way.dsn(NAME, other)),
    ):
        pass


def test_nor_is_one_that_speaks_no_tls(way: Way, node: Node) -> None:
    plain = way.dsn().replace(f"port={way.node.port}", f"port={node.port}")
    with pytest.raises(CtxrankError, match="does not support SSL"), postgres_errors(), opened(plain):
        pass
