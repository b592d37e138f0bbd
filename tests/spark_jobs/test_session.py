"""Spark's properties, without starting Spark."""

from pathlib import Path

import pytest

from spark_jobs.session import spark_properties
from spark_jobs.settings import Settings, SettingsError
from spark_jobs.streams import load_streams


def test_own_properties_win(tmp_path: Path) -> None:
    (tmp_path / "b.jar").touch()
    (tmp_path / "a.jar").touch()
    settings = Settings(jars_path=tmp_path, shards=3, spark_conf={"spark.driver.memory": "3g"})
    properties = spark_properties(settings)
    assert properties["spark.jars"] == f"{tmp_path}/a.jar,{tmp_path}/b.jar"
    assert properties["spark.sql.shuffle.partitions"] == "3"
    assert properties["spark.driver.memory"] == "3g"


def test_missing_jars_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no jar in it"):
        spark_properties(Settings(jars_path=tmp_path))


def test_the_shipped_streams_can_be_read() -> None:
    assert load_streams(Path("config/streams.yaml"))["neutrino"].longest_template_s == 300


@pytest.mark.parametrize("text", ["streams: 3", "{}", "streams: {a: {max_delay_s: -1}}", "streams: {a: {x: 1}}"])
def test_streams_that_cannot_be_used_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "streams.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"streams\.yaml"):
        load_streams(file)
