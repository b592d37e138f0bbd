import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field, ValidationError

from services.alerting.settings import Settings as AlertingSettings
from services.common.settings import ComponentSettings, FrozenSettings, SettingsError, load_settings
from services.ingest.settings import Settings as IngestSettings
from spark_jobs.settings import FusionSettings

COMPONENTS: dict[str, type[ComponentSettings]] = {
    "ingest": IngestSettings,
    "fusion": FusionSettings,
    "alerting": AlertingSettings,
}


class Example(FrozenSettings):
    PREFIX: ClassVar[str] = "X_"

    port: int = Field(default=8010, ge=1, le=65535)
    host: str = "127.0.0.1"
    areas: tuple[str, ...] = ()


def written(folder: Path, text: str) -> Path:
    path = folder / "settings.yaml"
    path.write_text(text)
    return path


def test_defaults_need_no_file() -> None:
    assert load_settings(Example, None, {}) == Example()


def test_environment_overrides_file_and_is_read_as_yaml(tmp_path: Path) -> None:
    path = written(tmp_path, "port: 9000\nhost: ::1\n")
    settings = load_settings(Example, path, {"X_PORT": "9001", "X_AREAS": "[a, b]", "Y_PORT": "1"})
    assert settings == Example(port=9001, host="::1", areas=("a", "b"))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("prot: 1", "prot: there is no such setting (known: port, host, areas)"),
        ("port: 0", "port: Input should be greater than or equal to 1, got 0"),
        ("port: eighty", "eighty"),
        ("- 1", "expected a mapping of settings, got list"),
        ("a: [", "is not YAML"),
    ],
)
def test_bad_settings_name_field_and_value(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load_settings(Example, written(tmp_path, text), {})
    assert named in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [("X_PROT", "1", "prot: there is no such setting"), ("X_PORT", "[", "X_PORT: '[' cannot be read as a YAML value")],
)
def test_a_bad_environment_variable_is_refused(name: str, text: str, named: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load_settings(Example, None, {name: text})
    assert named in str(refusal.value)


def test_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml: cannot be read \(No such file or directory\)"):
        load_settings(Example, tmp_path / "none.yaml", {})


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Example().port = 1  # type: ignore[misc]


def test_the_fusion_job_needs_no_http_framework() -> None:
    """Its image has what the extra `jobs` names, and FastAPI is not among that."""
    importing = (
        "import sys; sys.modules['fastapi'] = None; import spark_jobs.settings, services.common.declared_streams"
    )
    subprocess.run([sys.executable, "-c", importing], check=True, timeout=60)


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_shipped_file_says_the_defaults(component: str) -> None:
    model = COMPONENTS[component]
    assert load_settings(model, Path(f"config/{component}.yaml"), {}) == model()  # type: ignore[call-arg]


@pytest.mark.parametrize("model", COMPONENTS.values(), ids=COMPONENTS)
def test_every_setting_is_described(model: type[ComponentSettings]) -> None:
    assert [name for name, field in model.model_fields.items() if not field.description] == []


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
@pytest.mark.parametrize("model", COMPONENTS.values(), ids=COMPONENTS)
def test_every_component_may_listen_on_loopback(model: type[ComponentSettings], host: str, tmp_path: Path) -> None:
    assert load_settings(model, None, {f"{model.PREFIX}HOST": host}).host == host
    assert load_settings(model, written(tmp_path, f"host: '{host}'"), {}).host == host


@pytest.mark.parametrize("host", ["::", "0.0.0.0", "192.0.2.7", "example.org"])
@pytest.mark.parametrize("model", COMPONENTS.values(), ids=COMPONENTS)
def test_an_address_that_others_reach_must_be_allowed(
    model: type[ComponentSettings], host: str, tmp_path: Path
) -> None:
    file = written(tmp_path, f"host: '{host}'")
    environ = {f"{model.PREFIX}HOST": host}
    for path, variables in ((None, environ), (file, {})):
        with pytest.raises(SettingsError, match=f"'{host}' can be reached .* allow_unauthenticated_bind"):
            load_settings(model, path, variables)
    allowed = {f"{model.PREFIX}ALLOW_UNAUTHENTICATED_BIND": "true"}
    assert load_settings(model, None, environ | allowed).host == host
    assert load_settings(model, file, allowed).host == host
