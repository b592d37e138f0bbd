"""A first word with Kafka: one short conversation finds why it will not have us, for which its client tries in vain.

The client of Kafka tries again whatever goes wrong, and says in the end that it took too long.
"""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka.errors import KafkaConnectionError, KafkaError
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from services.common.kafka.client_options import client_options
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.faults import KafkaRefusedError

CONNECT_TIMEOUT_S = 2.0
ANSWER_TIMEOUT_S = 5.0

_UNSUPPORTED_MECHANISM, _ILLEGAL_STATE = 33, 34
_EXPIRED, _NOT_YET_VALID, _OTHER_NAME, _OTHER_ADDRESS = 10, 9, 62, 64
_ALERT = b"\x15\x03"  # so begins what TLS answers to a stranger's bytes
#: How a handshake ends that is not answered; Python calls the end of what is read by one name or the other.
_BROKEN_OFF = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)
_NO_TLS = {"WRONG_VERSION_NUMBER", "UNEXPECTED_EOF_WHILE_READING", "RECORD_LAYER_FAILURE"}


def greet(connection: KafkaConnection) -> None:
    """Return once a server has welcomed us.

    KafkaRefusedError: one of them will not have us. KafkaConnectionError: nobody listens, or answers in time.
    """
    refused, faults = None, []
    for host, port in connection.addresses:
        try:
            _greet(connection, host, port)
        except KafkaRefusedError as error:
            refused = refused or KafkaRefusedError(error.sentence, f"{host}:{port}")
        except (OSError, KafkaError) as error:
            faults.append(f"{host}:{port}: {error}")
        else:
            return
    raise refused or KafkaConnectionError(f"nothing listens ({'; '.join(faults)})")


def _greet(connection: KafkaConnection, host: str, port: int) -> None:
    with (
        socket.create_connection((host, port), CONNECT_TIMEOUT_S) as plain,
        _secured(connection, plain, host) as spoken,
        _explaining(connection),
    ):
        spoken.settimeout(ANSWER_TIMEOUT_S)
        talk = _Conversation(spoken)
        talk.ask(ApiVersionsRequest(version=0))
        if connection.mechanism is None:
            talk.ask(MetadataRequest(version=1, topics=[]), is_known=True)
        else:
            _authenticate(connection, talk, host)


class _Conversation:
    """Asks, and waits for the answer."""

    def __init__(self, spoken: socket.socket) -> None:
        self._spoken, self._parser = spoken, KafkaProtocol(client_id="coincide")

    def ask(self, request: Any, *, is_known: bool = False) -> Any:
        self._parser.send_request(request)
        self._spoken.sendall(self._parser.send_bytes())
        while True:
            received = self._spoken.recv(65_536)
            if not received or received.startswith(_ALERT):
                raise _SilencedError(is_known=is_known)
            for _, answer in self._parser.receive_bytes(received):
                return answer


class _SilencedError(Exception):
    """The server closed the connection instead of an answer; `is_known`: after it had answered before."""

    def __init__(self, *, is_known: bool) -> None:
        super().__init__()
        self.is_known = is_known


def _authenticate(connection: KafkaConnection, talk: _Conversation, host: str) -> None:
    options = client_options(connection)
    offered = talk.ask(SaslHandshakeRequest(version=1, mechanism=connection.mechanism))
    if offered.error_code == _UNSUPPORTED_MECHANISM:
        allowed = ", ".join(sorted(offered.mechanisms))
        raise KafkaRefusedError(f"Kafka does not know users by mechanism {connection.mechanism}, but by {allowed}")
    if offered.error_code == _ILLEGAL_STATE:
        raise KafkaRefusedError(f"Kafka asks for no user here: protocol {connection.protocol} is wrong")
    mechanism = get_sasl_mechanism(connection.mechanism)(host=host, **options)
    while not mechanism.is_done():
        answer = talk.ask(SaslAuthenticateRequest(version=1, auth_bytes=mechanism.auth_bytes()))
        if answer.error_code:
            raise KafkaRefusedError(_refused_user(connection))
        mechanism.receive(answer.auth_bytes)


def _refused_user(connection: KafkaConnection) -> str:
    if connection.mechanism == "OAUTHBEARER":
        return "Kafka does not accept the token (OAUTHBEARER)"
    return f"Kafka does not accept the user {connection.user!r} with this password ({connection.mechanism})"


@contextmanager
def _secured(connection: KafkaConnection, plain: socket.socket, host: str) -> Iterator[socket.socket]:
    """Yield what to speak over: in TLS, where the connection has it."""
    if not connection.speaks_tls:
        yield plain
        return
    plain.settimeout(ANSWER_TIMEOUT_S)
    try:
        spoken = connection.tls_context().wrap_socket(plain, server_hostname=host.rstrip("."))
    except ssl.SSLCertVerificationError as error:
        raise KafkaRefusedError(_distrust(error, connection)) from error
    except (ssl.SSLError, ConnectionError) as error:
        if isinstance(error, _BROKEN_OFF) or error.reason in _NO_TLS:
            raise KafkaRefusedError(f"Kafka speaks no TLS here: protocol {connection.protocol} is wrong") from error
        raise KafkaRefusedError(_unwelcome(connection)) from error
    with spoken:
        yield spoken


def _distrust(error: ssl.SSLCertVerificationError, connection: KafkaConnection) -> str:
    if error.verify_code == _EXPIRED:
        return "the certificate of Kafka has expired"
    if error.verify_code == _NOT_YET_VALID:
        return "the certificate of Kafka is not valid yet"
    if error.verify_code in (_OTHER_NAME, _OTHER_ADDRESS):
        return "the certificate of Kafka is for another name than that by which it is called"
    trusted = "of this machine" if connection.ca_file is None else "in ca_file"
    return f"the certificate of Kafka is signed by none of the authorities {trusted}"


def _unwelcome(connection: KafkaConnection) -> str:
    if connection.certificate_file is None:
        return "Kafka wants a certificate of ours: certificate_file and key_file are missing"
    return "Kafka does not accept the certificate in certificate_file"


@contextmanager
def _explaining(connection: KafkaConnection) -> Iterator[None]:
    """Say why a server has broken off, as far as one can tell."""
    try:
        yield
    except ssl.SSLError as error:  # it looks at our certificate after it has shown its own
        raise KafkaRefusedError(_unwelcome(connection)) from error
    except (_SilencedError, ConnectionError) as error:
        if isinstance(error, _SilencedError) and error.is_known:
            wanted = "a user: protocol SASL_SSL or SASL_PLAINTEXT, and a mechanism"
        elif connection.speaks_tls:
            raise KafkaRefusedError(_unwelcome(connection)) from error
        else:
            wanted = "TLS: protocol SSL or SASL_SSL"
        raise KafkaRefusedError(f"Kafka closes the connection: it may want {wanted}") from error
