"""A connection as options of Kafka's Java client, such as Spark's source and sink take behind ``kafka.``.

Secrets and certificates are in the options themselves: the workers of a cluster need no files. Whoever shows options
hides those whose name `HIDDEN_OPTIONS` finds.
"""

from pathlib import Path

from services.common.kafka.connection import KafkaConnection

#: Finds the options that nobody may see, whatever prefix they have; Java's form of regular expressions.
HIDDEN_OPTIONS = r"(?i)sasl\.jaas\.config|ssl\.keystore\.key|ssl\.key\.password"

_MODULES = "org.apache.kafka.common.security"
_OAUTH = f"{_MODULES}.oauthbearer"
_LOGIN = {
    "PLAIN": f"{_MODULES}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_MODULES}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_MODULES}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{_OAUTH}.OAuthBearerLoginModule",
}


def java_options(connection: KafkaConnection) -> dict[str, str]:
    """Return the options, their names as Kafka's documentation has them."""
    return {
        "bootstrap.servers": connection.servers,
        "security.protocol": connection.protocol,
        **_sasl(connection),
        **_tls(connection),
    }


def spark_options(connection: KafkaConnection) -> dict[str, str]:
    """Return the options of a source or a sink of Spark."""
    return {f"kafka.{name}": value for name, value in java_options(connection).items()}


def _sasl(of: KafkaConnection) -> dict[str, str]:
    if of.mechanism is None:
        return {}
    options = {"sasl.mechanism": of.mechanism, "sasl.jaas.config": _login(of)}
    if of.mechanism == "OAUTHBEARER":
        options["sasl.login.callback.handler.class"] = f"{_OAUTH}.OAuthBearerLoginCallbackHandler"
        file = of.token_file
        options["sasl.oauthbearer.token.endpoint.url"] = (
            of.token_endpoint or "" if file is None else file.absolute().as_uri()
        )
    return options


def _login(of: KafkaConnection) -> str:
    """Return the line by which Java logs in."""
    if of.mechanism != "OAUTHBEARER":
        given = {"username": of.user, "password": of.secret("password")}
    elif of.token_file is None:
        given = {"clientId": of.user, "clientSecret": of.secret("password"), "scope": of.token_scope}
    else:
        given = {}
    told = "".join(f" {name}={_quoted(value)}" for name, value in given.items() if value is not None)
    assert of.mechanism is not None  # noqa: S101 - its only caller has looked
    return f"{_LOGIN[of.mechanism]} required{told};"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _tls(of: KafkaConnection) -> dict[str, str]:
    options: dict[str, str] = {}
    if of.ca_file is not None:
        options |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _text(of.ca_file)}
    if of.certificate_file is not None and of.key_file is not None:
        options |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": _text(of.certificate_file),
            "ssl.keystore.key": _text(of.key_file),
        }
        if (password := of.secret("key_password")) is not None:
            options["ssl.key.password"] = password
    return options


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")
