"""Tokens of OAUTHBEARER from a real server over HTTP, and from a file."""

import base64
import json
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from services.common.kafka.connection import KafkaConnection
from services.common.kafka.faults import KafkaRefusedError
from services.common.kafka.tokens import EndpointTokens, token_provider


class Endpoint:
    """What it answers, and what it was asked."""

    def __init__(self, status: int = 200, body: bytes | None = None, expires_in: float = 3600) -> None:
        self.status, self.body, self.expires_in = status, body, expires_in
        self.asked: list[tuple[str, dict[str, list[str]]]] = []

    def answer(self) -> bytes:
        token = {"access_token": f"token-{len(self.asked)}", "expires_in": self.expires_in}
        return json.dumps(token).encode() if self.body is None else self.body


@contextmanager
def served(endpoint: Endpoint) -> Iterator[KafkaConnection]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers["Content-Length"])).decode()
            endpoint.asked.append((self.headers["Authorization"], urllib.parse.parse_qs(form)))
            self.send_response(endpoint.status)
            self.end_headers()
            self.wfile.write(endpoint.answer())

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield connection(f"http://127.0.0.1:{server.server_address[1]}/token")
        finally:
            server.shutdown()
            thread.join()


def connection(endpoint: str) -> KafkaConnection:
    own = {"protocol": "SASL_SSL", "mechanism": "OAUTHBEARER", "user": "client", "password": "hidden"}
    return KafkaConnection.model_validate({**own, "token_endpoint": endpoint, "token_scope": "kafka"})


def test_a_token_is_asked_for_with_credentials_and_kept() -> None:
    endpoint = Endpoint()
    with served(endpoint) as to:
        tokens = EndpointTokens(to)
        assert [tokens.token(), tokens.token()] == ["token-1", "token-1"]
    credentials = base64.b64encode(b"client:hidden").decode()
    form = {"grant_type": ["client_credentials"], "scope": ["kafka"]}
    assert endpoint.asked == [(f"Basic {credentials}", form)]


def test_a_token_that_does_not_last_is_asked_for_anew() -> None:
    with served(Endpoint(expires_in=0)) as to:
        tokens = EndpointTokens(to)
        assert [tokens.token(), tokens.token()] == ["token-1", "token-2"]


@pytest.mark.parametrize(
    ("endpoint", "sentence"),
    [
        (Endpoint(401), "the token_endpoint gives the client 'client' no token: it answers 401"),
        (Endpoint(body=b"<html>"), "the token_endpoint answers with something else than a token in JSON"),
        (Endpoint(body=b"[]"), "the token_endpoint answers without an access_token"),
        (Endpoint(body=b'{"token": "x"}'), "the token_endpoint answers without an access_token"),
    ],
)
def test_no_token_is_one_sentence(endpoint: Endpoint, sentence: str) -> None:
    with served(endpoint) as to, pytest.raises(KafkaRefusedError) as refusal:
        EndpointTokens(to).token()
    assert str(refusal.value) == sentence


def test_an_endpoint_that_is_away_is_one_sentence() -> None:
    with pytest.raises(KafkaRefusedError, match=r"^the token_endpoint cannot be asked for a token: .*refused"):
        EndpointTokens(connection("http://127.0.0.1:1/token")).token()


def test_the_token_of_a_file_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    own = {"protocol": "SASL_SSL", "mechanism": "OAUTHBEARER", "token_file": str(file)}
    tokens = token_provider(KafkaConnection.model_validate(own))
    assert tokens.token() == "first"
    file.write_text("second\n")
    assert tokens.token() == "second"
    file.unlink()
    with pytest.raises(KafkaRefusedError, match=r"^token_file: .* cannot be read"):
        tokens.token()
