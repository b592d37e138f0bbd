"""Producer, consumer, admin client, ingest and commands on a real broker that asks who one is."""

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from kafka import TopicPartition
from kafka.admin import ACL, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePattern, ResourceType
from kafka.errors import TopicAuthorizationFailedError
from pyspark.sql import SparkSession

from deploy.host.machine import ROOT, free_ports
from services.common.kafka.clients import create_admin, create_consumer, create_producer, described_topics
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.faults import KafkaRefusedError
from services.common.kafka.java_options import spark_options
from services.ingest.registry.seed import seed
from tests.certificates import Authority
from tests.integration.secure_broker import BOBS_PASSWORD, PASSWORD, SecureBroker, secure_broker
from tests.integration.service_process import run_module, running_ingest
from tests.integration.test_ingest_line import SENSORS
from tests.integration.topics import detections_of
from tests.patience import until

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with secure_broker(tmp_path_factory.mktemp("secure")) as broker:
        yield broker


@pytest.mark.parametrize(
    ("listener", "own"),
    [("USERS", {}), ("USERS", {"mechanism": "PLAIN"}), ("MUTUAL", {})],
    ids=["scram", "plain", "mutual-tls"],
)
def test_every_client_speaks_to_it(secure: SecureBroker, listener: str, own: dict[str, Any]) -> None:
    connection = secure.connection(listener, **own)
    producer = create_producer(connection)
    sent = producer.send("coincide.dead-letters", key=b"k", value=b"hidden").get(timeout=30)
    producer.close()
    consumer, where = create_consumer(connection), TopicPartition(sent.topic, sent.partition)
    consumer.assign([where])
    consumer.seek(where, sent.offset)
    until(lambda: [each.value for each in consumer.poll(500).get(where, [])] == [b"hidden"])
    consumer.close()
    admin = create_admin(connection)
    assert [each["name"] for each in admin.describe_topics([sent.topic])] == [sent.topic]
    admin.close()


def test_ingest_takes_a_detection_over_tls_from_a_user(secure: SecureBroker, tmp_path: Path) -> None:
    seed(secure.connection("USERS"), SENSORS, prune=False, dry_run=False)
    with running_ingest("", tmp_path, kafka=secure.settings("USERS", mechanism="PLAIN")) as ingest:
        ingest.wait_for("/readyz", 200)
        item = {"id": "one", "sensor": "ingest-a", "detected_at": "2026-01-01T00:00:00Z"}
        assert ingest.post(item).status_code == 202
    assert [each["id"] for each in detections_of(secure.broker.bootstrap)] == ["one"]


SERVER_REFUSALS: dict[str, tuple[str, dict[str, Any], str]] = {
    "wrong password": (
        "USERS",
        {"password_file": None, "password": "not-the-password"},
        "Kafka does not accept the user 'alice' with this password (SCRAM-SHA-512)",
    ),
    "nobody of this name": (
        "USERS",
        {"mechanism": "PLAIN", "user": "carol"},
        "Kafka does not accept the user 'carol' with this password (PLAIN)",
    ),
    "mechanism": (
        "USERS",
        {"mechanism": "SCRAM-SHA-256"},
        "Kafka does not know users by mechanism SCRAM-SHA-256, but by PLAIN, SCRAM-SHA-512",
    ),
    "no user": (
        "USERS",
        {"protocol": "SSL", "mechanism": None, "user": None, "password_file": None},
        "Kafka closes the connection: it may want a user: protocol SASL_SSL or SASL_PLAINTEXT, and a mechanism",
    ),
    "authority": (
        "USERS",
        {"ca_file": "STRANGE"},
        "the certificate of Kafka is signed by none of the authorities in ca_file",
    ),
    "machine": (
        "USERS",
        {"ca_file": None},
        "the certificate of Kafka is signed by none of the authorities of this machine",
    ),
    "expired": ("EXPIRED", {}, "the certificate of Kafka has expired"),
    "no certificate of ours": (
        "MUTUAL",
        {"certificate_file": None, "key_file": None},
        "Kafka wants a certificate of ours: certificate_file and key_file are missing",
    ),
    "certificate of a stranger": (
        "MUTUAL",
        {"certificate_file": "STRANGE", "key_file": "STRANGE"},
        "Kafka does not accept the certificate in certificate_file",
    ),
    "TLS to a plaintext port": (
        "PLAINTEXT",
        {"protocol": "SSL"},
        "Kafka speaks no TLS here: protocol SSL is wrong",
    ),
    "plaintext to a TLS port": (
        "MUTUAL",
        {"protocol": "PLAINTEXT", "ca_file": None, "certificate_file": None, "key_file": None},
        "Kafka closes the connection: it may want TLS: protocol SSL or SASL_SSL",
    ),
    "user at a door without users": (
        "MUTUAL",
        {"protocol": "SASL_SSL", "mechanism": "PLAIN", "user": "alice", "password": "x"},
        "Kafka asks for no user here: protocol SASL_SSL is wrong",
    ),
}


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Files of an authority that the broker does not know."""
    authority = Authority(tmp_path_factory.mktemp("strange"), "strange")
    signed = authority.sign("stranger")
    return {
        "ca_file": str(authority.certificate),
        "certificate_file": str(signed.certificate),
        "key_file": str(signed.key),
    }


def refused_settings(secure: SecureBroker, strange: dict[str, str], case: str) -> tuple[dict[str, Any], str]:
    listener, own, sentence = SERVER_REFUSALS[case]
    others = {name: strange[name] if value == "STRANGE" else value for name, value in own.items()}
    return secure.settings(listener, **others), sentence


@pytest.mark.parametrize("case", SERVER_REFUSALS)
def test_a_refusal_is_one_sentence_at_once(secure: SecureBroker, strange: dict[str, str], case: str) -> None:
    settings, sentence = refused_settings(secure, strange, case)
    for create in (create_admin, create_consumer, create_producer):
        with pytest.raises(KafkaRefusedError) as refusal:
            create(KafkaConnection.model_validate(settings))
        assert str(refusal.value) == f"{sentence} ({settings['servers']})"
    assert settings.get("password", PASSWORD) not in str(refusal.value)


def test_a_token_is_a_proof_too(secure: SecureBroker, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(unsigned_token("alice"))
    admin = create_admin(secure.connection("TOKENS", token_file=str(token)))
    assert "coincide.detections" in {each["name"] for each in admin.describe_topics(["coincide.detections"])}
    admin.close()
    token.write_text(unsigned_token("alice", lives_s=-60))
    with pytest.raises(KafkaRefusedError, match=r"^Kafka does not accept the token \(OAUTHBEARER\)"):
        create_admin(secure.connection("TOKENS", token_file=str(token)))


def unsigned_token(subject: str, lives_s: int = 600) -> str:
    now_s = int(time.time())
    parts = {"alg": "none"}, {"sub": subject, "iat": now_s - 120, "exp": now_s + lives_s}
    coded = (base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=").decode() for each in parts)
    return f"{'.'.join(coded)}."


@pytest.fixture(scope="module")
def stranger(secure: SecureBroker) -> dict[str, Any]:
    """The connection of a user who may use no topic of Coincide."""
    admin = create_admin(secure.broker.connection)
    topics = ResourcePattern(ResourceType.TOPIC, "coincide.", ACLResourcePatternType.PREFIXED)
    rules = [
        ACL(user, "*", ACLOperation.ALL, what, topics)
        for user, what in (("User:*", ACLPermissionType.ALLOW), ("User:bob", ACLPermissionType.DENY))
    ]
    made = admin.create_acls(rules)  # once there is a rule for a topic, nobody may use it whom none allows
    admin.close()
    assert not made["failed"]
    settings = secure.settings("USERS", mechanism="PLAIN", user="bob", password_file=None, password=BOBS_PASSWORD)
    connection = KafkaConnection.model_validate(settings)

    def is_denied() -> bool:
        try:
            described_topics(connection, ["coincide.detections"])
        except TopicAuthorizationFailedError:
            return True
        return False

    until(is_denied)
    return settings


NO_RIGHT = "Kafka does not give us the right to use a topic: coincide."


def test_ingest_says_at_readyz_and_in_its_log_why_kafka_refuses_it(
    secure: SecureBroker, stranger: dict[str, Any], tmp_path: Path
) -> None:
    wrong = {**stranger, "password": "not-the-password"}
    refused = "Kafka does not accept the user 'bob' with this password (PLAIN)"
    for settings, sentence in ((wrong, refused), (stranger, NO_RIGHT)):
        with running_ingest("", tmp_path, kafka=settings) as ingest:
            until(lambda: ingest.status_of("/readyz") == 503 and sentence in ingest.call("GET", "/readyz").text)  # noqa: B023
            assert ingest.status_of("/livez") == 200
        log = (tmp_path / "ingest.log").read_text()
        assert sentence in log
        assert settings["password"] not in log
        assert "Traceback" not in log


@pytest.mark.parametrize(
    ("password", "sentence"),
    [
        ("not-the-password", "Kafka does not accept the user 'bob' with this password (PLAIN)"),
        (None, NO_RIGHT),
    ],
)
def test_the_command_of_topics_says_why_kafka_refuses_it(
    stranger: dict[str, Any], password: str | None, sentence: str
) -> None:
    given = {**stranger, "password": password or stranger["password"]}
    environ = {f"COINCIDE_KAFKA_{name.upper()}": value for name, value in given.items()}
    command = [sys.executable, "-m", "services.common.topics"]
    ended = subprocess.run(
        command, check=False, cwd=ROOT, env=os.environ | environ, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"topics: {sentence}")
    assert ended.stderr.count("\n") == 1
    assert given["password"] not in ended.stderr


@pytest.mark.parametrize("case", ["wrong password", "authority", "expired", "TLS to a plaintext port"])
def test_a_job_ends_with_one_sentence_before_spark_starts(
    secure: SecureBroker, strange: dict[str, str], case: str, tmp_path: Path
) -> None:
    settings, sentence = refused_settings(secure, strange, case)
    assert_job_refuses(settings, sentence, tmp_path)


def test_a_job_without_the_right_to_its_topics_ends_with_one_sentence(stranger: dict[str, Any], tmp_path: Path) -> None:
    assert_job_refuses(stranger, NO_RIGHT, tmp_path)


def assert_job_refuses(settings: dict[str, Any], sentence: str, folder: Path) -> None:
    [port] = free_ports(1)
    own = {"kafka": settings, "checkpoint_path": str(folder / "checkpoint"), "port": port, "jars_path": str(folder)}
    log = folder / "fusion.log"
    job = run_module("spark_jobs.fusion", log, "fusion", own)
    until(lambda: job.poll() is not None)
    said = log.read_text()
    assert job.returncode == 1, said
    assert f"fusion: Kafka at {settings['servers']} cannot be used: {sentence}" in said
    assert "Traceback" not in said
    assert str(settings.get("password", PASSWORD)) not in said


def test_spark_writes_and_reads_and_shows_no_secret(secure: SecureBroker, job_session: SparkSession) -> None:
    spark, options, marked = job_session, spark_options(secure.connection("USERS")), "read over USERS"
    rows = spark.createDataFrame([("k", marked)], "key string, value string")
    rows.write.format("kafka").options(**options, topic="coincide.dead-letters").save()
    source = {**options, "subscribe": "coincide.dead-letters", "startingOffsets": "earliest"}
    read = spark.read.format("kafka").options(**source).load().selectExpr("CAST(value AS STRING) AS text")
    assert marked in {row.text for row in read.collect()}
    plan = read._jdf.queryExecution().toString() + str(read._jdf.queryExecution().logical().toString())
    configured = str(spark.sparkContext.getConf().getAll()) + str(command_line(spark))
    for secret in (PASSWORD, options.get("kafka.sasl.jaas.config"), secure.client.key.read_text().splitlines()[1]):
        assert secret is None or secret not in plan + configured


def command_line(spark: SparkSession) -> list[str]:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    return psutil.Process(gateway.proc.pid).cmdline()
