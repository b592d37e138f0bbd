"""Real handshakes with a server that is said to speak TLS."""

import socket
import ssl
from pathlib import Path

import httpx2
import pytest

from tests.patience import until


def handshake(port: int, trusted: Path, version: ssl.TLSVersion) -> str | None:
    """Return the version that was agreed on, offering this one alone; None where the server would not."""
    context = ssl.create_default_context(cafile=str(trusted))
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # with which OpenSSL still offers the old versions
    context.minimum_version = context.maximum_version = version
    try:
        with (
            socket.create_connection(("127.0.0.1", port), 10) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as spoken,
        ):
            return spoken.version()
    except (ssl.SSLError, ConnectionError):
        return None


def check_tls(port: int, trusted: Path, path: str = "/livez") -> None:
    trusting = ssl.create_default_context(cafile=str(trusted))
    until(lambda: handshake(port, trusted, ssl.TLSVersion.TLSv1_3) is not None)
    assert httpx2.get(f"https://127.0.0.1:{port}{path}", verify=trusting).status_code == 200
    assert handshake(port, trusted, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
    assert handshake(port, trusted, ssl.TLSVersion.TLSv1_2) == "TLSv1.2"
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        assert handshake(port, trusted, ssl.TLSVersion.TLSv1_1) is None
    with pytest.raises(httpx2.TransportError):
        httpx2.get(f"http://127.0.0.1:{port}{path}")
    with pytest.raises(httpx2.ConnectError, match="self-signed"):  # a stranger's certificate is not believed
        httpx2.get(f"https://127.0.0.1:{port}{path}")
