"""The archive on a real broker: every detection once, whatever is killed, and readable by others as it is."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import psutil
import pytest

from deploy.local.broker import Broker
from services.common.program.skeleton import REFUSED
from services.history.archiving.folders import Archive
from services.history.archiving.layout import counting_files
from tests.integration.archive_process import ArchiveProcess, archive_job
from tests.integration.fusion_process import seismic
from tests.integration.service_process import run_module
from tests.integration.topics import create_declared_topics, send

pytestmark = pytest.mark.jvm

PREFIX = "kept."


@pytest.fixture(scope="module")
def job(kafka: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArchiveProcess]:
    create_declared_topics(kafka.bootstrap, PREFIX)
    with archive_job(kafka.bootstrap, PREFIX, tmp_path_factory.mktemp("archive")) as job:
        yield job


def post(kafka: Broker, first: int, stop: int) -> None:
    frames = [(each.key or b"", each.value or b"") for each in seismic(range(first, stop))]
    send(kafka.bootstrap, PREFIX + "detections", frames)


def names(count: int) -> list[str]:
    return sorted(f"seismic-{number}" for number in range(count))


def test_every_detection_becomes_a_row(kafka: Broker, job: ArchiveProcess) -> None:
    post(kafka, 0, 300)
    job.start()
    job.until(lambda: len(job.rows()) >= 300)
    assert job.ids() == names(300)
    job.until(lambda: job.status_of("/readyz") == 200)


def test_killed_in_the_middle_of_a_batch_each_row_is_there_once(kafka: Broker, job: ArchiveProcess) -> None:
    """As soon as files of a batch are seen that is not committed yet; who was too slow for that tries it again."""
    count, torn = 300, False
    while not torn and count < 1_500:
        post(kafka, count, count + 400)
        count += 400
        job.until(lambda all_rows=count: is_torn(job) or len(job.rows()) == all_rows, every_s=0.002)  # type: ignore[misc]
        torn = is_torn(job)
        family = [job.process, *psutil.Process(job.process.pid).children(recursive=True)]
        for member in family:
            member.kill()
        psutil.wait_procs(family, 20)
        job.start()
    job.until(lambda: len(job.rows()) >= count)
    assert job.ids() == names(count)
    assert torn, "no batch was interrupted after it had begun to write"


def is_torn(job: ArchiveProcess) -> bool:
    """Whether files are there of a batch that is not committed."""
    folders = Archive(job.path, 1).folders()
    return any(file.stop > job.committed() for folder in folders for file in counting_files(folder))


def test_pandas_reads_it_as_it_is(job: ArchiveProcess) -> None:
    frame = pd.read_parquet(job.path / "detections")
    assert sorted(frame["id"]) == job.ids()
    assert set(frame["day"]) == {"2023-11-14"}


def test_duckdb_reads_it_as_it_is(job: ArchiveProcess) -> None:
    duckdb = pytest.importorskip("duckdb")
    files = job.path / "detections" / "*" / "*" / "*.parquet"
    [[rows]] = duckdb.sql(
        f"select count(distinct id) from read_parquet('{files}', hive_partitioning = true)"
    ).fetchall()
    templates = job.path / "templates" / "*.json"
    assert rows == len(job.ids())
    assert duckdb.sql(f"select len(mass) from read_json('{templates}')").fetchall() == [(1,)]


def test_told_to_stop_it_stops_in_order(job: ArchiveProcess) -> None:
    job.until(lambda: job.status_of("/readyz") == 200)
    assert job.stop() == 0
    # Spark's own worker may say that its pipe broke, when Java ends before it.
    assert "/spark_jobs/" not in job.tail(20), "a traceback of ours"


def test_without_a_path_it_is_refused(tmp_path: Path) -> None:
    process = run_module("spark_jobs.archive", tmp_path / "log", "archive", {})
    assert process.wait(30) == REFUSED
    assert "archive: path is not set" in (tmp_path / "log").read_text()
