"""Spark's properties, without starting Spark."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from spark_jobs.job.job_streams import load_streams
from spark_jobs.job.session import spark_properties, write_archive
from spark_jobs.settings import Settings, SettingsError


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


def test_the_archive_for_a_cluster_can_be_imported_from(tmp_path: Path) -> None:
    archive = tmp_path / "jobs.zip"
    write_archive(archive)
    with zipfile.ZipFile(archive) as content:
        names = set(content.namelist())
    assert {"coincide/__init__.py", "spark_jobs/__init__.py", "spark_jobs/core/fusion_core.py"} <= names
    importing = "import spark_jobs.core.fusion_core as core; print(core.__file__)"
    loaded = subprocess.run(
        [sys.executable, "-c", importing],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert loaded.stdout.strip() == f"{archive}/spark_jobs/core/fusion_core.py"
