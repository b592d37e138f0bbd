"""A server that speaks HTTPS with a certificate of its own, which no machine trusts by itself."""

import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ANSWER = b'{"items": [], "next_cursor": null}'


def own_certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for 127.0.0.1 that its own key has signed, and that key."""
    paths = folder / "certificate.pem", folder / "key.pem"
    asked = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=coincide -addext"
    files = ["-out", str(paths[0]), "-keyout", str(paths[1])]
    command = ["openssl", *asked.split(), "subjectAltName=IP:127.0.0.1", *files]
    subprocess.run(command, check=True, capture_output=True)
    return paths


def signed_certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate for 127.0.0.1 that an authority has signed, which the file leaves out, and its key."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "authority").mkdir()
    authority = own_certificate(folder / "authority")
    paths = folder / "certificate.pem", folder / "key.pem"
    asked = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    extensions = ["-addext", "subjectAltName=IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]
    files = ["-CA", str(authority[0]), "-CAkey", str(authority[1]), "-out", str(paths[0]), "-keyout", str(paths[1])]
    subprocess.run(["openssl", *asked.split(), *extensions, *files], check=True, capture_output=True)
    return paths


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(ANSWER)))
        self.end_headers()
        self.wfile.write(ANSWER)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def https_server(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield its URL, and the certificate that a client needs to know it by."""
    certificate, key = own_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Answer)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}", certificate
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
