"""Ships this checkout's code to the workers of a cluster, which need numpy and the like installed, but no checkout."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

PACKAGES = ("coincide", "spark_jobs")
_ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def shipped_code(spark: SparkSession) -> Iterator[None]:
    """Let the workers import `PACKAGES`; they fetch them from this process, so the archive is kept until the end."""
    with tempfile.TemporaryDirectory(prefix="coincide-") as folder:
        archive = Path(folder) / "coincide-jobs.zip"
        write_archive(archive)
        spark.sparkContext.addPyFile(str(archive))
        yield


def write_archive(archive: Path) -> None:
    """Write every module of `PACKAGES` into the zip file ``archive``."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
        for module in sorted(path for package in PACKAGES for path in (_ROOT / package).rglob("*.py")):
            content.write(module, module.relative_to(_ROOT))
