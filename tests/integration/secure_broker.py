"""A real broker that asks who one is: one listener for each way to prove it, and one whose certificate has expired."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka.admin import UserScramCredentialUpsertion

from deploy.host.machine import free_ports
from deploy.local.broker import Broker
from services.common.kafka.clients import create_admin
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.faults import KafkaRefusedError
from tests.certificates import Authority, Certificate
from tests.integration.topics import create_declared_topics
from tests.patience import until

LISTENERS = {
    "PLAINTEXT": "PLAINTEXT",
    "USERS": "SASL_SSL",
    "MUTUAL": "SSL",
    "EXPIRED": "SSL",
    "TOKENS": "SASL_PLAINTEXT",
}
PASSWORD = 'q"7\\ x: {y}'  # of alice by SCRAM and by PLAIN: what needs care in YAML and in Java's line of login
BOBS_PASSWORD = "bob-password"
_MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class SecureBroker:
    """The broker, its ports by listener, and what a client needs."""

    broker: Broker
    ports: dict[str, int]
    authority: Authority
    client: Certificate
    password_file: Path

    def settings(self, listener: str, **others: Any) -> dict[str, Any]:
        """Return what `config/kafka.yaml` would say for a listener; `others` go before it."""
        servers, ca_file = f"127.0.0.1:{self.ports[listener]}", str(self.authority.certificate)
        user = {"mechanism": "SCRAM-SHA-512", "user": "alice", "password_file": str(self.password_file)}
        own = {"certificate_file": str(self.client.certificate), "key_file": str(self.client.key)}
        by_listener: dict[str, dict[str, Any]] = {
            "PLAINTEXT": {},
            "USERS": {"protocol": "SASL_SSL", "ca_file": ca_file, **user},
            "MUTUAL": {"protocol": "SSL", "ca_file": ca_file, **own},
            "EXPIRED": {"protocol": "SSL", "ca_file": ca_file},
            "TOKENS": {"protocol": "SASL_PLAINTEXT", "mechanism": "OAUTHBEARER"},
        }
        given = {"servers": servers, **by_listener[listener], **others}
        return {name: value for name, value in given.items() if value is not None}

    def connection(self, listener: str, **others: Any) -> KafkaConnection:
        return KafkaConnection.model_validate(self.settings(listener, **others))


@contextmanager
def secure_broker(folder: Path) -> Iterator[SecureBroker]:
    """Run the broker, with the declared topics, until the end."""
    controller, *free = free_ports(1 + len(LISTENERS))
    ports = dict(zip(LISTENERS, free, strict=True))
    authority = Authority(folder / "certificates")
    further = {**_listeners(ports, controller), **_users(), **_certificates(authority)}
    broker = Broker(folder / "kafka", ports["PLAINTEXT"], controller, further=further)
    password_file = folder / "password"
    password_file.write_text(f"{PASSWORD}\n")
    broker.start()
    try:
        create_declared_topics(broker.bootstrap)
        admin = create_admin(broker.connection)
        made = admin.alter_user_scram_credentials([UserScramCredentialUpsertion("alice", "SCRAM-SHA-512", PASSWORD)])
        admin.close()
        assert made == {"alice": None}
        secure = SecureBroker(broker, ports, authority, authority.sign("client"), password_file)
        until(lambda: _welcomes(secure.connection("USERS")))  # the broker hears of it from its controller, later
        yield secure
    finally:
        broker.stop()


def _welcomes(connection: KafkaConnection) -> bool:
    try:
        create_admin(connection).close()
    except KafkaRefusedError:
        return False
    return True


def _listeners(ports: dict[str, int], controller: int) -> dict[str, str]:
    places = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    return {
        "listeners": f"{places},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": places,
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in {**LISTENERS, "CONTROLLER": "PLAINTEXT"}.items()
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
    }


def _users() -> dict[str, str]:
    password = PASSWORD.replace("\\", "\\\\").replace('"', '\\"').replace("\\", "\\\\")  # for Java's line, and its file
    plain = f'{_MODULES}.plain.PlainLoginModule required user_alice="{password}" user_bob="{BOBS_PASSWORD}";'
    tokens = f'{_MODULES}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
    return {
        "listener.name.users.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.users.plain.sasl.jaas.config": plain,
        "listener.name.users.scram-sha-512.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
        "listener.name.tokens.sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.tokens.oauthbearer.sasl.jaas.config": tokens,
    }


def _certificates(authority: Authority) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.sign("broker").both),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority.certificate),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.expired.ssl.keystore.location": str(authority.sign("expired", days=-1).both),
    }
