"""Settings: the shipped file is valid, an open address is refused, every field is described."""

from pathlib import Path

import pytest

from services.common.settings import SettingsError, load_settings
from services.ingest.__main__ import main
from services.ingest.settings import PREFIX, Settings

SHIPPED = Path("config/ingest.yaml")


def test_the_shipped_file_says_the_defaults() -> None:
    assert load_settings(Settings, SHIPPED, {}, PREFIX) == Settings()


def test_the_environment_wins() -> None:
    assert load_settings(Settings, SHIPPED, {"COINCIDE_INGEST_PORT": "9"}, PREFIX).port == 9


@pytest.mark.parametrize("name", ["COINCIDE_INGEST_PROT", "COINCIDE_INGEST_PORT"])
def test_an_unknown_name_or_value_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=name.removeprefix(PREFIX).lower()):
        load_settings(Settings, SHIPPED, {name: "many"}, PREFIX)


@pytest.mark.parametrize("host", ["0.0.0.0", "'::'", "10.0.0.1", "example.org"])
def test_an_address_others_reach_needs_a_word(host: str) -> None:
    with pytest.raises(SettingsError, match="allow_unauthenticated_bind"):
        load_settings(Settings, None, {"COINCIDE_INGEST_HOST": host}, PREFIX)
    host = host.strip("'")  # YAML would read :: as a mapping
    assert Settings(host=host, allow_unauthenticated_bind=True).host == host


def test_bad_settings_end_in_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--config", str(tmp_path / "missing.yaml")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_every_setting_is_described() -> None:
    assert all(field.description for field in Settings.model_fields.values())
