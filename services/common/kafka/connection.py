"""KafkaConnection: where Kafka is, how it is spoken to, and how one proves to it who one is."""

import re
import ssl
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from services.common.kafka.pem_files import check_own_certificate, own_certificate, read_text, trusting

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]

#: Fields whose values nobody may see.
SECRETS = ("password", "key_password")
_SERVER = re.compile(r"[^\s:,/]+:\d{1,5}|\[[0-9A-Fa-f:.]+\]:\d{1,5}")


class KafkaConnection(BaseModel):
    """The connection to Kafka, the same value for all that speak to it; a ValueError says what cannot work."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    servers: str = Field("127.0.0.1:9092", description="Kafka brokers, host:port, separated by commas.")
    protocol: Protocol = Field(
        "PLAINTEXT", description="PLAINTEXT, SSL (TLS), SASL_PLAINTEXT (a user, and no TLS) or SASL_SSL (both)."
    )
    mechanism: Mechanism | None = Field(
        None, description="How a user is proved: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER."
    )
    user: str | None = Field(None, min_length=1, description="The user; the client id where there is a token_endpoint.")
    password: SecretStr | None = Field(
        None, description="Its password, or the client's secret. Give it in the environment only, or as password_file."
    )
    password_file: Path | None = Field(None, description="File that has the password and nothing else.")
    token_endpoint: str | None = Field(
        None,
        pattern=r"^https?://[^\s@]+$",
        description="URL where OAUTHBEARER gets its tokens, as a client with credentials of its own.",
    )
    token_scope: str | None = Field(None, min_length=1, description="The scope that is asked for at token_endpoint.")
    token_file: Path | None = Field(None, description="File that has the token of OAUTHBEARER; read again when needed.")
    ca_file: Path | None = Field(
        None, description="PEM file of the only authorities that vouch for Kafka. null: those that the machine trusts."
    )
    certificate_file: Path | None = Field(
        None, description="PEM file of the certificate that is shown to Kafka, and those above it (mutual TLS)."
    )
    key_file: Path | None = Field(None, description="PEM file (PKCS#8) of that certificate's private key.")
    key_password: SecretStr | None = Field(
        None, description="Password of the private key. Give it in the environment only, or as key_password_file."
    )
    key_password_file: Path | None = Field(None, description="File that has the password of the private key.")

    @field_validator("servers")
    @classmethod
    def _refuse_what_is_no_server(cls, servers: str) -> str:
        for each in servers.split(","):
            if not _SERVER.fullmatch(each.strip()):
                raise ValueError(f"{each.strip()!r} is no server: write it as host:port")
        return servers

    @model_validator(mode="after")
    def _refuse_nonsense(self) -> Self:
        if nonsense := _nonsense(self):
            raise ValueError(nonsense)
        return self

    @model_validator(mode="after")
    def _refuse_unusable_files(self) -> Self:
        for name in ("password_file", "token_file", "key_password_file"):
            if (file := getattr(self, name)) is not None and not read_text(name, file).strip():
                raise ValueError(f"{name}: {file} is empty")
        if self.ca_file is not None:
            trusting(self.ca_file)
        if self.certificate_file is not None and self.key_file is not None:
            check_own_certificate(self.certificate_file, self.key_file, self.secret("key_password"))
        return self

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Host and port of each server."""
        parts = (each.strip().rpartition(":") for each in self.servers.split(","))
        return [(host.strip("[]"), int(port)) for host, _, port in parts]

    @property
    def speaks_tls(self) -> bool:
        """Whether what is said is encrypted."""
        return self.protocol.endswith("SSL")

    def secret(self, name: Literal["password", "key_password"]) -> str | None:
        """Return a secret, from where it was given; the end of a file's line is no part of it."""
        given: SecretStr | None = getattr(self, name)
        file: Path | None = getattr(self, f"{name}_file")
        if file is not None:
            return read_text(f"{name}_file", file).rstrip("\r\n")
        return None if given is None else given.get_secret_value()

    def tls_context(self) -> ssl.SSLContext:
        """Return what TLS is spoken with: whom it trusts, and which certificate it shows."""
        context = trusting(self.ca_file)
        if self.certificate_file is not None and self.key_file is not None:
            own_certificate(context, self.certificate_file, self.key_file, self.secret("key_password"))
        return context


def _nonsense(connection: KafkaConnection) -> str | None:
    """Return one sentence about settings that make no sense together; None where they do."""
    by_group = (_nonsense_of_user, _nonsense_of_tokens, _nonsense_of_tls)
    return next((sentence for rule in by_group if (sentence := rule(connection))), None)


def _nonsense_of_user(of: KafkaConnection) -> str | None:
    has_password = of.password is not None or of.password_file is not None
    by_password = of.mechanism is not None and of.token_file is None
    rules = {
        f"protocol {of.protocol} needs a mechanism": of.protocol.startswith("SASL") and of.mechanism is None,
        f"mechanism {of.mechanism} needs protocol SASL_SSL or SASL_PLAINTEXT, not {of.protocol}": (
            of.mechanism is not None and not of.protocol.startswith("SASL")
        ),
        "password and password_file: give one of them": of.password is not None and of.password_file is not None,
        "user and password need a mechanism": of.mechanism is None and (of.user is not None or has_password),
        f"mechanism {of.mechanism} needs a user": by_password and of.user is None,
        f"mechanism {of.mechanism} needs a password or a password_file": by_password and not has_password,
    }
    return next((sentence for sentence, applies in rules.items() if applies), None)


def _nonsense_of_tokens(of: KafkaConnection) -> str | None:
    by_token = of.mechanism == "OAUTHBEARER"
    sources = [each for each in (of.token_endpoint, of.token_file) if each is not None]
    rules = {
        "mechanism OAUTHBEARER needs a token_endpoint or a token_file, and not both": by_token and len(sources) != 1,
        "token_endpoint and token_file need mechanism OAUTHBEARER": bool(sources) and not by_token,
        "token_scope needs a token_endpoint": of.token_scope is not None and of.token_endpoint is None,
        "a token_file needs no user and no password": of.token_file is not None
        and (of.user is not None or of.password is not None or of.password_file is not None),
    }
    return next((sentence for sentence, applies in rules.items() if applies), None)


def _nonsense_of_tls(of: KafkaConnection) -> str | None:
    has_key_password = of.key_password is not None or of.key_password_file is not None
    files = {"ca_file": of.ca_file, "certificate_file": of.certificate_file, "key_file": of.key_file}
    named = next((name for name, file in files.items() if file is not None), None)
    rules = {
        f"{named} needs protocol SSL or SASL_SSL, not {of.protocol}": named is not None and not of.speaks_tls,
        "certificate_file needs its key_file": of.certificate_file is not None and of.key_file is None,
        "key_file needs its certificate_file": of.key_file is not None and of.certificate_file is None,
        "key_password needs a key_file": has_key_password and of.key_file is None,
        "key_password and key_password_file: give one of them": of.key_password is not None
        and of.key_password_file is not None,
    }
    return next((sentence for sentence, applies in rules.items() if applies), None)
