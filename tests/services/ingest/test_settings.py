from pathlib import Path

import pytest

from services.ingest.__main__ import main


def test_bad_settings_end_in_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--config", str(tmp_path / "missing.yaml")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
