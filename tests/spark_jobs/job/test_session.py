"""Spark's properties, without starting Spark."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from services.common.engine.fusion_settings import FusionSettings
from services.common.settings import SettingsError, load_settings
from spark_jobs.job.session import local_files, spark_properties, write_archive


def test_own_properties_win(tmp_path: Path) -> None:
    (tmp_path / "b.jar").touch()
    (tmp_path / "a.jar").touch()
    own = {"JARS_PATH": str(tmp_path), "SHARDS": "3", "SPARK_CONF": '{spark.driver.memory: "3g"}'}
    settings = load_settings(FusionSettings, None, {f"COINCIDE_FUSION_{name}": value for name, value in own.items()})
    properties = spark_properties(settings)
    assert properties["spark.jars"] == f"{tmp_path}/a.jar,{tmp_path}/b.jar"
    assert properties["spark.sql.shuffle.partitions"] == "3"
    assert properties["spark.driver.memory"] == "3g"


def test_hadoops_files_are_replaced_on_one_machine_only(tmp_path: Path) -> None:
    jar = tmp_path / "hadoop-bare-naked-local-fs-0.1.0.jar"
    assert local_files(FusionSettings(jars_path=tmp_path)) == {}
    jar.touch()
    assert local_files(FusionSettings(jars_path=tmp_path, master="spark://host:7077")) == {}
    assert local_files(FusionSettings(jars_path=tmp_path))["spark.driver.extraClassPath"] == str(jar)


@pytest.mark.parametrize(("master", "expected"), [("local[4]", None), ("spark://host:7077", "0s")])
def test_what_a_lost_worker_needs_is_set_on_a_cluster_only(tmp_path: Path, master: str, expected: str | None) -> None:
    """A shard that waits for its executor would stay where it was crowded when a worker was lost."""
    (tmp_path / "a.jar").touch()
    properties = spark_properties(FusionSettings(jars_path=tmp_path, master=master))
    assert properties.get("spark.locality.wait") == expected


def test_missing_jars_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no jar in it"):
        spark_properties(FusionSettings(jars_path=tmp_path))


def test_the_archive_for_a_cluster_can_be_imported_from(tmp_path: Path) -> None:
    archive = tmp_path / "jobs.zip"
    write_archive(archive)
    with zipfile.ZipFile(archive) as content:
        names = set(content.namelist())
    assert {"coincide/__init__.py", "spark_jobs/__init__.py", "coincide/fusion/core/fusion_core.py"} <= names
    command = [sys.executable, "-c", "import coincide.fusion.core.fusion_core as core; print(core.__file__)"]
    path = {**os.environ, "PYTHONPATH": str(archive)}
    loaded = subprocess.check_output(command, cwd=tmp_path, env=path, text=True, timeout=60)
    assert loaded.strip() == f"{archive}/coincide/fusion/core/fusion_core.py"
