"""A connection as options of kafka-python, which its producer, consumer and admin client have in common."""

from typing import Any

from services.common.kafka.connection import KafkaConnection
from services.common.kafka.tokens import token_provider


def client_options(connection: KafkaConnection) -> dict[str, Any]:
    """Return the options; secrets and certificates are read now, so that the next client has new ones."""
    options: dict[str, Any] = {
        "bootstrap_servers": [each.strip() for each in connection.servers.split(",")],
        "security_protocol": connection.protocol,
    }
    if connection.speaks_tls:
        options["ssl_context"] = connection.tls_context()
    if connection.mechanism is None:
        return options
    options["sasl_mechanism"] = connection.mechanism
    if connection.mechanism == "OAUTHBEARER":
        return options | {"sasl_oauth_token_provider": token_provider(connection)}
    return options | {
        "sasl_plain_username": connection.user,
        "sasl_plain_password": connection.secret("password"),
    }
