from pathlib import Path

import pytest
from pydantic import Field, ValidationError

from services.common.settings import FrozenSettings, SettingsError, load_settings


class Settings(FrozenSettings):
    port: int = Field(default=8010, ge=1, le=65535)
    host: str = "127.0.0.1"
    areas: tuple[str, ...] = ()


def written(folder: Path, text: str) -> Path:
    path = folder / "settings.yaml"
    path.write_text(text)
    return path


def test_defaults_need_no_file() -> None:
    assert load_settings(Settings, None, {}, "X_") == Settings()


def test_environment_overrides_file_and_is_read_as_yaml(tmp_path: Path) -> None:
    path = written(tmp_path, "port: 9000\nhost: ::1\n")
    settings = load_settings(Settings, path, {"X_PORT": "9001", "X_AREAS": "[a, b]", "Y_PORT": "1"}, "X_")
    assert settings == Settings(port=9001, host="::1", areas=("a", "b"))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("prot: 1", "prot"),
        ("port: 0", "port: Input should be greater than or equal to 1, got 0"),
        ("port: eighty", "eighty"),
        ("- 1", "expected a mapping of settings, got list"),
        ("a: [", "is not YAML"),
    ],
)
def test_bad_settings_name_field_and_value(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load_settings(Settings, written(tmp_path, text), {}, "X_")
    assert named in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_an_address_is_text_though_yaml_sees_a_mapping() -> None:
    assert load_settings(Settings, None, {"X_HOST": "::"}, "X_").host == "::"


def test_unknown_environment_variable_is_refused() -> None:
    with pytest.raises(SettingsError, match="prot"):
        load_settings(Settings, None, {"X_PROT": "1"}, "X_")


def test_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml: cannot be read \(No such file or directory\)"):
        load_settings(Settings, tmp_path / "none.yaml", {}, "X_")


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]
