"""Tokens of OAUTHBEARER: from a file, or from an endpoint that gives them to clients with credentials."""

import base64
import json
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from functools import lru_cache
from typing import Any

from kafka.net.sasl.oauth import AbstractTokenProvider

from services.common.kafka.connection import KafkaConnection
from services.common.kafka.faults import KafkaRefusedError
from services.common.kafka.pem_files import read_text

TIMEOUT_S = 5.0
LONGEST_ANSWER_BYTES = 1 << 20
RENEWED_AT = 0.8  # of a token's life


class FileTokens(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """The token in a file, which somebody else renews."""

    def __init__(self, connection: KafkaConnection) -> None:
        self._file = connection.token_file

    def token(self) -> str:
        """Return it as it is now."""
        assert self._file is not None  # noqa: S101 - `token_provider` sees to it
        try:
            return read_text("token_file", self._file).strip()
        except ValueError as error:
            raise KafkaRefusedError(str(error)) from None


class EndpointTokens(AbstractTokenProvider):  # type: ignore[misc]
    """Tokens from an endpoint (OAuth 2.0, client credentials), each kept for most of its life; thread-safe."""

    def __init__(self, connection: KafkaConnection) -> None:
        self._of = connection
        self._lock = threading.Lock()
        self._token, self._renew_at_s = "", 0.0

    def token(self) -> str:
        """Return one that is valid; a `KafkaRefusedError` says in one sentence why there is none."""
        with self._lock:
            if time.monotonic() >= self._renew_at_s:
                answer = self._asked()
                self._token = str(answer["access_token"])
                self._renew_at_s = time.monotonic() + RENEWED_AT * float(answer.get("expires_in", 0))
            return self._token

    def _asked(self) -> dict[str, Any]:
        request = self._request()
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310 - http and https alone
                answer = json.loads(response.read(LONGEST_ANSWER_BYTES))
            if not isinstance(answer, dict) or not isinstance(answer.get("access_token"), str):
                raise KafkaRefusedError("the token_endpoint answers without an access_token")
            float(answer.get("expires_in", 0))
        except urllib.error.HTTPError as error:
            sentence = f"the token_endpoint gives the client {self._of.user!r} no token: it answers {error.code}"
            raise KafkaRefusedError(sentence) from None
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            raise KafkaRefusedError(f"the token_endpoint cannot be asked for a token: {reason}") from None
        except (TypeError, ValueError):
            raise KafkaRefusedError("the token_endpoint answers with something else than a token in JSON") from None
        return answer

    def _request(self) -> urllib.request.Request:
        form = {"grant_type": "client_credentials"}
        if self._of.token_scope is not None:
            form["scope"] = self._of.token_scope
        credentials = base64.b64encode(f"{self._of.user}:{self._of.secret('password')}".encode()).decode()
        assert self._of.token_endpoint is not None  # noqa: S101 - `token_provider` sees to it
        return urllib.request.Request(  # noqa: S310 - its pattern allows http and https alone
            self._of.token_endpoint,
            urllib.parse.urlencode(form).encode(),
            {"Authorization": f"Basic {credentials}", "Accept": "application/json"},
        )


@lru_cache(maxsize=8)
def token_provider(connection: KafkaConnection) -> AbstractTokenProvider:
    """Return where a connection has its tokens from; its clients share them."""
    return FileTokens(connection) if connection.token_file is not None else EndpointTokens(connection)
