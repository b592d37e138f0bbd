"""PEM files of a connection: read, and refused with one sentence if they are of no use."""

import ssl
import time
from pathlib import Path
from typing import Any

_PKCS8 = ("-----BEGIN PRIVATE KEY-----", "-----BEGIN ENCRYPTED PRIVATE KEY-----")


def read_text(name: str, file: Path) -> str:
    """Return the text of a file; a ValueError says which setting names one that cannot be read."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{name}: {file} cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise ValueError(f"{name}: {file} is no text") from None


def trusting(ca_file: Path | None) -> ssl.SSLContext:
    """Return what a client speaks TLS with that trusts these authorities alone; None: those of this machine."""
    if ca_file is not None:
        read_text("ca_file", ca_file)
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except (OSError, ValueError):  # SSLError is an OSError
        raise ValueError(f"ca_file: {ca_file} has no certificate in PEM") from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def check_own_certificate(certificate: Path, key: Path, password: str | None) -> None:
    """Raise a ValueError that says why this certificate and its key cannot be shown to anybody."""
    read_text("certificate_file", certificate)
    if not any(begin in read_text("key_file", key) for begin in _PKCS8):  # which Java knows alone
        raise ValueError(f"key_file: {key} has no PKCS#8 key in PEM; `openssl pkcs8 -topk8` makes one of another")
    own_certificate(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), certificate, key, password)
    validity = _decoded(certificate)
    begin_s, end_s = (ssl.cert_time_to_seconds(validity[name]) for name in ("notBefore", "notAfter"))
    if end_s < time.time():
        raise ValueError(f"certificate_file: {certificate} expired on {_day(end_s)}")
    if begin_s > time.time():
        raise ValueError(f"certificate_file: {certificate} is not valid before {_day(begin_s)}")


def own_certificate(context: ssl.SSLContext, certificate: Path, key: Path, password: str | None) -> None:
    """Let `context` show a certificate; a ValueError says why it cannot."""
    try:
        # An empty password: a key that needs one is refused, and nobody is asked for it on a terminal.
        context.load_cert_chain(certificate, key, password=password or "")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ValueError(f"certificate_file and key_file: {key} is not the key of {certificate}") from None
        if "ENCRYPTED" in read_text("key_file", key):
            raise ValueError(f"key_file: the key_password of {key} is wrong or missing") from None
        raise ValueError(f"certificate_file: {certificate} has no certificate in PEM, or {key} no key") from None
    except OSError as error:
        raise ValueError(f"certificate_file and key_file cannot be read ({error.strerror})") from None


def _decoded(certificate: Path) -> dict[str, Any]:
    decoded: dict[str, Any] = ssl._ssl._test_decode_cert(str(certificate))  # type: ignore[attr-defined] # nothing public tells
    return decoded


def _day(at_s: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at_s))
