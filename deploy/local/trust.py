"""Give a Java that brings its own certificate authorities those that this machine, and so Python, trusts."""

import hashlib
import ssl
import struct
from collections.abc import Sequence
from pathlib import Path

#: Not a secret: it only feeds the checksum of the file.
_PASSWORD = "changeit"  # noqa: S105


def trust_options(folder: Path) -> list[str]:
    """Return the options that make Java trust what Python trusts, with the file they name written to ``folder``.

    Where Python knows of no authority there are none, and Java trusts its own.
    """
    authorities = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not authorities:
        return []
    store = folder / "authorities.jks"
    store.write_bytes(java_key_store(authorities))
    return [f"-Djavax.net.ssl.trustStore={store}", f"-Djavax.net.ssl.trustStorePassword={_PASSWORD}"]


def java_key_store(certificates: Sequence[bytes]) -> bytes:
    """Return a Java key store (JKS, version 2) that trusts ``certificates``, each in DER.

    The format is that of OpenJDK's sun.security.provider.JavaKeyStore: big-endian, ended by a SHA-1 over the
    password, a fixed phrase and all before.
    """
    entries = [_entry(f"authority-{place}", each) for place, each in enumerate(certificates)]
    content = struct.pack(">III", 0xFEEDFEED, 2, len(entries)) + b"".join(entries)
    digest = hashlib.sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + content)  # noqa: S324 - the format's
    return content + digest.digest()


def _entry(alias: str, certificate: bytes) -> bytes:
    trusted, created_ms = 2, 0
    head = struct.pack(">I", trusted) + _text(alias) + struct.pack(">q", created_ms) + _text("X.509")
    return head + struct.pack(">I", len(certificate)) + certificate


def _text(ascii_text: str) -> bytes:
    return struct.pack(">H", len(ascii_text)) + ascii_text.encode("ascii")
