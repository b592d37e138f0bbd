"""Settings of the fusion job; tests/services/common/test_settings.py has what every component shares."""

from pathlib import Path

import pytest

from services.common.settings import SettingsError, load_settings
from spark_jobs.settings import Settings


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "fusion.yaml"
    file.write_text("port: 1234\nshards: 2\n")
    environ = {"COINCIDE_FUSION_PORT": "4321", "PATH": "/bin", "COINCIDE_INGEST_PORT": "1"}
    settings = load_settings(Settings, file, environ)
    assert (settings.port, settings.shards) == (4321, 2)


def test_a_mapping_can_be_given_in_the_environment() -> None:
    settings = load_settings(Settings, None, {"COINCIDE_FUSION_SPARK_CONF": '{spark.cores.max: "2"}'})
    assert settings.spark_conf == {"spark.cores.max": "2"}


@pytest.mark.parametrize(
    ("environ", "sentence"),
    [
        ({"COINCIDE_FUSION_PROT": "1"}, "prot: there is no such setting"),
        ({"COINCIDE_FUSION_SHARDS": "0"}, "shards: Input should be greater than or equal to 1, got 0"),
        ({"COINCIDE_FUSION_DRIVER_MEMORY": "lots"}, "driver_memory: .* got 'lots'"),
    ],
)
def test_what_cannot_be_used_is_named(environ: dict[str, str], sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        load_settings(Settings, None, environ)
