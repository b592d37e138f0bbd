from pathlib import Path

import pytest

from services.common.program.skeleton import REFUSED
from services.ingest.__main__ import main
from services.ingest.settings import IngestSettings


def test_bad_settings_end_in_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--config", str(tmp_path / "missing.yaml")]) == REFUSED
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("heartbeat_s", [0, -5, 0.01, 61])
def test_the_interval_of_heartbeats_is_bounded_and_null_switches_them_off(heartbeat_s: float) -> None:
    with pytest.raises(ValueError, match="heartbeat_s"):
        IngestSettings(heartbeat_s=heartbeat_s)
    assert IngestSettings(heartbeat_s=None).heartbeat_s is None
    assert IngestSettings().heartbeat_s == 5
