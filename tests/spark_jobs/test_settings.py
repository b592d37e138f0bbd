"""Settings of the fusion job: file, environment, and what is refused."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from spark_jobs.settings import Settings, SettingsError, load_settings

SHIPPED = Path("config/fusion.yaml")


def test_the_shipped_file_says_what_the_defaults_say() -> None:
    assert load_settings(SHIPPED, {}) == Settings()


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "fusion.yaml"
    file.write_text("port: 1234\nshards: 2\n")
    settings = load_settings(file, {"COINCIDE_FUSION_PORT": "4321", "PATH": "/bin", "COINCIDE_INGEST_PORT": "1"})
    assert (settings.port, settings.shards) == (4321, 2)


def test_a_mapping_can_be_given_in_the_environment() -> None:
    settings = load_settings(None, {"COINCIDE_FUSION_SPARK_CONF": '{spark.cores.max: "2"}'})
    assert settings.spark_conf == {"spark.cores.max": "2"}


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"COINCIDE_FUSION_PROT": "1"}, "prot: there is no such setting"),
        ({"COINCIDE_FUSION_SHARDS": "0"}, "shards is 0: Input should be greater than or equal to 1"),
        ({"COINCIDE_FUSION_DRIVER_MEMORY": "lots"}, "driver_memory is 'lots'"),
        ({"COINCIDE_FUSION_PORT": "["}, "COINCIDE_FUSION_PORT: '\\[' cannot be read as a YAML value"),
    ],
)
def test_what_cannot_be_used_is_named(environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        load_settings(None, environ)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("- a\n", "expected a mapping"), ("a: [", "is not YAML"), (None, "cannot be read")],
)
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str | None, sentence: str) -> None:
    file = tmp_path / "fusion.yaml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsError, match=sentence):
        load_settings(file, {})


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().port = 1  # type: ignore[misc]


def test_every_setting_is_described() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
