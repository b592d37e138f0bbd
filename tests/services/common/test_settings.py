import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field, ValidationError

from services.alerting.settings import AlertingSettings
from services.common.engine.fusion_settings import FusionSettings
from services.common.settings import ComponentSettings, FrozenSettings, SettingsError, load_settings, load_streams
from services.common.shipped_config import SHIPPED_CONFIG
from services.ingest.settings import IngestSettings

COMPONENTS = {"ingest": IngestSettings, "fusion": FusionSettings, "alerting": AlertingSettings}


class Example(FrozenSettings):
    PREFIX: ClassVar[str] = "X_"

    port: int = Field(default=8010, ge=1, le=65535)
    host: str = "127.0.0.1"
    areas: tuple[str, ...] = ()


def written(folder: Path, text: str) -> Path:
    path = folder / "settings.yaml"
    path.write_text(text)
    return path


def test_environment_overrides_file_and_is_read_as_yaml_and_defaults_need_neither(tmp_path: Path) -> None:
    assert load_settings(Example, None, {}) == Example()
    path = written(tmp_path, "port: 9000\nhost: ::1\n")
    settings = load_settings(Example, path, {"X_PORT": "9001", "X_AREAS": "[a, b]", "Y_PORT": "1"})
    assert settings == Example(port=9001, host="::1", areas=("a", "b"))


@pytest.mark.parametrize(
    ("text", "environ", "named"),
    [
        ("prot: 1", {}, "prot: there is no such setting (known: port, host, areas)"),
        ("port: 0", {}, "port is 0: a number of at least 1"),
        ("port: eighty", {}, "eighty"),
        ("- 1", {}, "expected a mapping of settings, got list"),
        ("a: [", {}, "is not YAML"),
        ("", {"X_PROT": "1"}, "prot: there is no such setting"),
        ("", {"X_PORT": "["}, "X_PORT: '[' cannot be read as a YAML value"),
    ],
)
def test_bad_settings_name_field_and_value(tmp_path: Path, text: str, environ: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load_settings(Example, written(tmp_path, text), environ)
    assert named in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml: cannot be read \(No such file or directory\)"):
        load_settings(Example, tmp_path / "none.yaml", {})


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Example().port = 1  # type: ignore[misc]


def test_the_fusion_job_needs_no_http_framework() -> None:  # the extra `jobs` has no FastAPI
    importing = "import sys; sys.modules['fastapi'] = None; import spark_jobs.settings"
    subprocess.run([sys.executable, "-c", importing], check=True, timeout=60)


@pytest.mark.parametrize(("name", "model"), COMPONENTS.items())
def test_the_shipped_file_says_the_defaults_and_each_is_described(name: str, model: type[ComponentSettings]) -> None:
    assert load_settings(model, Path(f"config/{name}.yaml"), {}) == model()  # type: ignore[call-arg]
    assert [name for name, field in model.model_fields.items() if not field.description] == []


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
@pytest.mark.parametrize("model", COMPONENTS.values(), ids=COMPONENTS)
def test_every_component_may_listen_on_loopback(model: type[ComponentSettings], host: str, tmp_path: Path) -> None:
    assert load_settings(model, None, {f"{model.PREFIX}HOST": host}).host == host
    assert not load_settings(model, None, {f"{model.PREFIX}HOST": host}).needs_key
    assert load_settings(model, written(tmp_path, f"host: '{host}'"), {}).host == host


@pytest.mark.parametrize("host", ["::", "0.0.0.0", "192.0.2.7", "example.org"])
@pytest.mark.parametrize("model", COMPONENTS.values(), ids=COMPONENTS)
def test_keys_are_needed_where_others_reach_the_address(
    model: type[ComponentSettings], host: str, tmp_path: Path
) -> None:
    said = {f"{model.PREFIX}REQUIRE_KEYS": "false"}
    for path, environ in ((None, {f"{model.PREFIX}HOST": host}), (written(tmp_path, f"host: '{host}'"), {})):
        assert load_settings(model, path, environ).needs_key
        assert not load_settings(model, path, environ | said).needs_key


@pytest.mark.parametrize("origin", ["*", "null", "console.example", "https://console.example/", "https://*.example"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(SettingsError, match="is no origin"):
        load_settings(IngestSettings, None, {"COINCIDE_INGEST_ALLOWED_ORIGINS": f"['{origin}']"})


@pytest.mark.parametrize("host", ["a.example:8020", "http://a.example", "*.example", "", "a b"])
def test_what_is_no_name_is_refused(host: str) -> None:
    with pytest.raises(SettingsError, match="is no name"):
        load_settings(IngestSettings, None, {"COINCIDE_INGEST_ALLOWED_HOSTS": f"['{host}']"})


def test_a_certificate_without_its_key_is_refused() -> None:
    with pytest.raises(SettingsError, match="tls_key are given together"):
        load_settings(IngestSettings, None, {"COINCIDE_INGEST_TLS_CERTIFICATE": "cert.pem"})


def test_the_shipped_streams_can_be_read() -> None:
    assert load_streams(Path("config/streams.yaml"))["neutrino"].longest_template_s == 300


@pytest.mark.parametrize("text", ["streams: 3", "{}", "streams: {a: {max_delay_s: -1}}", "streams: {a: {x: 1}}"])
def test_streams_that_cannot_be_used_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"settings\.yaml"):
        load_streams(written(tmp_path, text))


class Located(FrozenSettings):
    PREFIX: ClassVar[str] = "COINCIDE_LOCATED_"

    streams_path: Path = Path("config/streams.yaml")
    sensors_path: Path | None = Path("config/sensors.yaml")
    elsewhere_path: Path = Path("run/streams.yaml")
    number: int = 1


def test_a_folder_of_ones_own_comes_before_config(tmp_path: Path) -> None:
    own = tmp_path / "ours"
    own.mkdir()
    (own / "located.yaml").write_text("number: 2\n")
    (own / "streams.yaml").write_text("streams: {}\n")
    found = load_settings(Located, Path("config/located.yaml"), {"COINCIDE_CONFIG": str(own)})
    assert found == Located(streams_path=own / "streams.yaml", number=2)  # the others are as shipped
    with pytest.raises(SettingsError, match="COINCIDE_CONFIG: '/nowhere' is no folder"):
        load_settings(Located, None, {"COINCIDE_CONFIG": "/nowhere"})
    assert load_settings(Located, None, {}) == Located()


def test_where_there_is_no_config_its_files_are_those_that_are_shipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shipped = Located(streams_path=SHIPPED_CONFIG / "streams.yaml", sensors_path=SHIPPED_CONFIG / "sensors.yaml")
    assert load_settings(Located, None, {}) == shipped
    assert load_streams(shipped.streams_path).keys() >= {"neutrino", "noise"}
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "streams.yaml").write_text("streams: {}\n")
    assert load_settings(Located, None, {}).streams_path == Path("config/streams.yaml")
