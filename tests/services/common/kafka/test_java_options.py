"""The connection as options of Kafka's Java client."""

import re
from pathlib import Path

import pytest

from services.common.kafka.connection import KafkaConnection
from services.common.kafka.java_options import HIDDEN_OPTIONS, java_options, spark_options
from tests.certificates import Authority


def test_nothing_but_servers_needs_nothing_else() -> None:
    assert spark_options(KafkaConnection(servers="a:1,b:2")) == {
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.security.protocol": "PLAINTEXT",
    }


@pytest.mark.parametrize(
    ("mechanism", "module"), [("PLAIN", "plain.PlainLoginModule"), ("SCRAM-SHA-512", "scram.ScramLoginModule")]
)
def test_a_password_is_quoted_as_java_reads_it(mechanism: str, module: str) -> None:
    own = {"protocol": "SASL_SSL", "mechanism": mechanism, "user": "alice", "password": 'a"b\\c'}
    options = java_options(KafkaConnection.model_validate(own))
    assert options["sasl.mechanism"] == mechanism
    login = f'org.apache.kafka.common.security.{module} required username="alice" password="a\\"b\\\\c";'
    assert options["sasl.jaas.config"] == login


def test_secrets_have_names_that_spark_hides(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    shown = authority.sign("shown")
    own = {"protocol": "SASL_SSL", "mechanism": "PLAIN", "user": "alice", "password": "hidden"}
    files = {"ca_file": authority.certificate, "certificate_file": shown.certificate}
    locked = {"key_file": shown.locked("opensesame"), "key_password": "opensesame"}
    options = spark_options(KafkaConnection.model_validate({**own, **files, **locked}))
    visible = {name: value for name, value in options.items() if not re.search(HIDDEN_OPTIONS, name)}
    assert visible == {
        "kafka.bootstrap.servers": "127.0.0.1:9092",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": authority.certificate.read_text(),
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": shown.certificate.read_text(),
    }
    assert "opensesame" in options["kafka.ssl.key.password"]
