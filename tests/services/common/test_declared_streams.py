from pathlib import Path

import pytest

from services.common.declared_streams import load_streams
from services.common.settings import SettingsError


def test_the_shipped_streams_can_be_read() -> None:
    assert load_streams(Path("config/streams.yaml"))["neutrino"].longest_template_s == 300


@pytest.mark.parametrize("text", ["streams: 3", "{}", "streams: {a: {max_delay_s: -1}}", "streams: {a: {x: 1}}"])
def test_streams_that_cannot_be_used_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "streams.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"streams\.yaml"):
        load_streams(file)
