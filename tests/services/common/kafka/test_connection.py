"""The connection as settings: what makes no sense is one sentence, and no sentence shows a secret."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from services.common.kafka.connection import KafkaConnection
from services.common.settings import SettingsError, load_connection, load_settings
from services.ingest.settings import IngestSettings
from tests.certificates import Authority, Certificate

USER = {"protocol": "SASL_SSL", "mechanism": "PLAIN", "user": "alice"}
SECRET = "x: 0123 #"


def refusal(environ: dict[str, str] | None = None, **own: Any) -> str:
    with pytest.raises(SettingsError) as refused:
        load_connection(environ or {}, own)
    sentence = str(refused.value)
    assert sentence.startswith("config/kafka.yaml or COINCIDE_KAFKA_*: ")
    assert "\n" not in sentence
    assert SECRET not in sentence
    return sentence.partition(": ")[2]


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        ({"servers": "kafka"}, "servers is 'kafka': 'kafka' is no server: write it as host:port"),
        ({"servers": "a:1,,b:2"}, "servers is 'a:1,,b:2': '' is no server: write it as host:port"),
        ({"protocol": "TLS"}, "protocol is 'TLS': 'PLAINTEXT', 'SSL', 'SASL_PLAINTEXT' or 'SASL_SSL'"),
        ({"colour": "red"}, "colour: there is no such field"),
        ({"protocol": "SASL_SSL"}, "protocol SASL_SSL needs a mechanism"),
        ({"mechanism": "PLAIN"}, "mechanism PLAIN needs protocol SASL_SSL or SASL_PLAINTEXT, not PLAINTEXT"),
        ({"user": "alice"}, "user and password need a mechanism"),
        ({"protocol": "SASL_SSL", "mechanism": "PLAIN"}, "mechanism PLAIN needs a user"),
        (USER, "mechanism PLAIN needs a password or a password_file"),
        ({**USER, "password": SECRET, "password_file": "f"}, "password and password_file: give one of them"),
        ({**USER, "password": 123}, "password: a text"),
        (
            {**USER, "mechanism": "OAUTHBEARER", "password": SECRET},
            "mechanism OAUTHBEARER needs a token_endpoint or a token_file, and not both",
        ),
        (
            {**USER, "password": SECRET, "token_file": "f"},
            "token_endpoint and token_file need mechanism OAUTHBEARER",
        ),
        ({"ca_file": "f"}, "ca_file needs protocol SSL or SASL_SSL, not PLAINTEXT"),
        ({"protocol": "SSL", "certificate_file": "f"}, "certificate_file needs its key_file"),
        ({"protocol": "SSL", "key_file": "f"}, "key_file needs its certificate_file"),
        ({"protocol": "SSL", "key_password": SECRET}, "key_password needs a key_file"),
        ({"protocol": "SSL", "ca_file": "none.pem"}, "ca_file: none.pem cannot be read (No such file or directory)"),
        ({**USER, "password_file": "none"}, "password_file: none cannot be read (No such file or directory)"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(own: dict[str, Any], sentence: str) -> None:
    assert refusal(**own) == sentence


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def own(shown: Certificate, **others: Any) -> dict[str, Any]:
    return {"protocol": "SSL", "certificate_file": str(shown.certificate), "key_file": str(shown.key), **others}


def test_files_that_are_of_no_use_are_one_sentence_each(authority: Authority, tmp_path: Path) -> None:
    good, other, old = authority.sign("good"), authority.sign("other"), authority.sign("old", days=-1)
    no_pem = tmp_path / "no.pem"
    no_pem.write_text("not a certificate")
    assert refusal(protocol="SSL", ca_file=str(no_pem)) == f"ca_file: {no_pem} has no certificate in PEM"
    assert refusal(**own(old)).startswith(f"certificate_file: {old.certificate} expired on 20")
    mixed = refusal(**own(good, key_file=str(other.key)))
    assert mixed == f"certificate_file and key_file: {other.key} is not the key of {good.certificate}"
    assert "has no PKCS#8 key in PEM" in refusal(**own(good, key_file=str(no_pem)))
    locked = good.locked("opensesame")
    wrong = f"key_file: the key_password of {locked} is wrong or missing"
    assert refusal(**own(good, key_file=str(locked))) == wrong
    assert refusal(**own(good, key_file=str(locked), key_password=SECRET)) == wrong
    KafkaConnection.model_validate(own(good, key_file=str(locked), key_password="opensesame")).tls_context()


def test_a_secret_is_taken_as_it_is_from_environment_and_file_and_never_shown(tmp_path: Path) -> None:
    by_variable = load_connection({"COINCIDE_KAFKA_PASSWORD": SECRET}, USER)
    file = tmp_path / "password"
    file.write_text(f"{SECRET}\n")
    by_file = load_connection({}, {**USER, "password_file": str(file)})
    assert by_variable.secret("password") == by_file.secret("password") == SECRET
    assert SECRET not in f"{by_variable!r} {by_variable} {by_variable.model_dump_json()}"
    file.write_text("another")  # as one that was replaced
    assert by_file.secret("password") == "another"


def test_the_file_is_for_all_the_environment_goes_before_it_and_a_component_of_its_own_last(tmp_path: Path) -> None:
    (tmp_path / "kafka.yaml").write_text("servers: file:1\n")
    environ = {"COINCIDE_CONFIG": str(tmp_path)}
    assert load_settings(IngestSettings, None, environ).kafka.servers == "file:1"
    environ["COINCIDE_KAFKA_SERVERS"] = "all:2"
    assert load_settings(IngestSettings, None, environ).kafka.servers == "all:2"
    environ["COINCIDE_INGEST_KAFKA"] = "{servers: 'ingest:3'}"
    assert load_settings(IngestSettings, None, environ).kafka.servers == "ingest:3"


def test_the_page_of_examples_is_of_settings_that_work(authority: Authority, tmp_path: Path) -> None:
    page = Path("docs/how-to/connect-to-kafka.md").read_text(encoding="utf-8")
    blocks = [each.partition("```")[0] for each in page.split("```yaml\n")[1:]]
    shown = authority.sign("shown")
    contents = {"ca.crt": authority.certificate, "user.crt": shown.certificate, "user.key": shown.key}
    for name in ("kafka-password", "connection-string", "client-secret", "password"):
        (tmp_path / name).write_text("secret")
    for name, file in contents.items():
        (tmp_path / name).write_text(file.read_text())
    connections = [
        KafkaConnection.model_validate(yaml.safe_load(each.replace("/etc/coincide", str(tmp_path)))) for each in blocks
    ]
    assert [(each.protocol, each.mechanism) for each in connections] == [
        ("SASL_SSL", "PLAIN"),
        ("SASL_SSL", "PLAIN"),
        ("SASL_SSL", "OAUTHBEARER"),
        ("SASL_SSL", "SCRAM-SHA-512"),
        ("SSL", None),
        ("SASL_SSL", "SCRAM-SHA-512"),
    ]
