"""Settings of ingest where it starts; tests/services/common/test_settings.py has what every component shares."""

from pathlib import Path

import pytest

from services.common.settings import SettingsError, load_settings
from services.ingest.__main__ import main
from services.ingest.settings import Settings


@pytest.mark.parametrize("name", ["COINCIDE_INGEST_PROT", "COINCIDE_INGEST_PORT"])
def test_an_unknown_name_or_value_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match=name.removeprefix(Settings.PREFIX).lower()):
        load_settings(Settings, Path("config/ingest.yaml"), {name: "many"})


def test_bad_settings_end_in_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--config", str(tmp_path / "missing.yaml")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
