"""A run that Spark does says what one process says, match by match, though half of all rows are in one area."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkContext

from deploy.jvm.jars import ensure_jars
from deploy.jvm.java import find_java
from services.history.archiving.file_names import batch_file
from services.history.archiving.folders import Archive
from services.history.replaying.complete_answer import reach_us
from services.history.replaying.complete_run import CompleteRun
from services.history.replaying.request import RunError
from services.history.rows.archive_rows import HashRows, Wanted
from services.history.runs.run import Run
from services.history.settings import RunSettings
from spark_jobs.history import past_of
from spark_jobs.settings import HistorySettings
from spark_jobs.spark_staff import SparkStaff
from tests.coincide.fusion.inputs import frame
from tests.reference.spark_cluster import Cluster, running_cluster
from tests.services.history.replaying.test_answers import THREE, some_rows, table_of
from tests.services.history.runs.test_run import RULED, run_of, told, written

CHUNK_ROWS = 40
END_US = 61_000_000


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """Three batches; every other frame is of one area. All of a run but its first moment is for Spark."""
    monkeypatch.setenv("JAVA_HOME", str(find_java().home))
    monkeypatch.setattr("services.history.replaying.staff.ALONE_S", -1.0)
    monkeypatch.setattr("services.history.replaying.complete_run.CHUNK_ROWS", CHUNK_ROWS)
    monkeypatch.setattr("services.history.archiving.folders.ROWS_IN_GROUP", 10)
    rows, archive = some_rows(3, 600), Archive.opened(tmp_path / "archive", 2)
    parts = [rows[first : first + 7] for first in range(0, len(rows), 7)]
    frames = [frame(nth, part, "hot" if nth % 2 else f"area-{nth % 5}", 0, 1e9 + nth) for nth, part in enumerate(parts)]
    for batch in range(3):
        table, templates = table_of(frames[batch::3])
        archive.write_templates({id_: each.to_json() for id_, each in templates.items()})
        archive.write(table, batch_file(batch, 0, 0))
    return archive


def settings_on(master: str, run: Run) -> HistorySettings:
    conf = {"spark.executor.memory": "700m"}
    more = {"master": master, "jars_path": ensure_jars(find_java()).spark, "spark_conf": conf}
    bounds = {name: getattr(run.past.settings, name) for name in RunSettings.model_fields}
    return HistorySettings(**bounds, **more)


def on(master: str, run: Run) -> Run:
    return replace(run, past=past_of(settings_on(master, run)))


def both(archive: Archive, master: str, query: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Do a run with and without Spark; check that they say the same, and return that."""
    run = run_of(archive, query, processes=1, **more)
    alone, matches = run.execute(), written(run)
    assert told(on(master, run).execute()) == told(alone)
    assert written(run) == matches
    assert len(matches) == alone["matches"] > 50
    assert sorted(path.name for path in run.reporter.folder.path.iterdir()) == ["matches.ndjson", "summary.json"]
    return alone


@pytest.mark.jvm
@pytest.mark.parametrize(
    "query", [RULED, pytest.param({**THREE, "id": "two", "at_least": 2}, marks=pytest.mark.night)], ids=["pair", "sets"]
)
def test_spark_says_what_one_process_says(archive: Archive, query: dict[str, Any]) -> None:
    both(archive, "local[2]", query, min_threshold=0.05)


@pytest.mark.jvm
@pytest.mark.night
def test_what_cannot_be_done_is_a_sentence(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RunError, match=r"^there are more than 10 matches to be counted \(max_counted\)"):
        on("local[2]", run_of(archive, max_counted=10)).execute()
    elsewhere = Archive(archive.path / "elsewhere", 2)  # a worker that does not see it has no rows: no empty answer
    monkeypatch.setattr(CompleteRun, "_archive", lambda _: nullcontext((elsewhere, 0.0)))
    with pytest.raises(RunError, match="elsewhere is no archive here: on a cluster, every worker has to see it there"):
        on("local[2]", run_of(archive)).execute()


@pytest.mark.jvm
def test_a_run_is_cancelled_while_spark_is_at_work(archive: Archive) -> None:
    run, shares = run_of(archive), list[float]()
    run.reporter.show = shares.append
    run.reporter.is_cancelled = lambda: len(shares) > 2
    assert on("local[2]", run).execute()["state"] == "cancelled"
    assert [path.name for path in run.reporter.folder.path.iterdir()] == ["summary.json"]
    assert SparkContext._active_spark_context is None


@dataclass(frozen=True)
class Failing:
    """A task that fails so many times before it answers."""

    folder: Path
    number: int
    times: int

    def answer(self, _check: Callable[[], None]) -> int:
        failed = len(list(self.folder.glob(f"failed-{self.number}-*")))
        if failed < self.times:
            (self.folder / f"failed-{self.number}-{failed}").touch()
            raise OSError("the disk is gone")
        return self.number


@pytest.mark.jvm
def test_a_task_that_fails_is_done_again_a_few_times(archive: Archive, tmp_path: Path) -> None:
    with SparkStaff(settings_on("local[2,3]", run_of(archive)), tmp_path) as staff:
        tasks = [Failing(tmp_path, number, times=number) for number in range(3)]
        assert sorted(staff.answers(tasks, lambda _: None)) == [(number, number) for number in range(3)]
        with pytest.raises(RunError, match=r"^the cluster could not do it: OSError: the disk is gone$"):
            list(staff.answers([Failing(tmp_path, 9, 9)], lambda _: None))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running_cluster(tmp_path) as cluster:
        yield cluster


@pytest.mark.jvm
@pytest.mark.night
def test_one_hot_area_is_the_work_of_two_workers(archive: Archive, cluster: Cluster) -> None:
    both(archive, cluster.url, RULED)
    hot = HashRows(archive, archive.hash_of("hot"), Wanted(frozenset({"p", "s"}), 0, END_US, 10**6))
    query = run_of(archive, RULED).request.query
    chunks = hot.cut(partial(reach_us, query), CHUNK_ROWS, looks_back=False)  # type: ignore[arg-type]
    with_hot_rows = [keys for keys in chunks if "hot" in hot.read(keys).rows["area"].to_pylist()]
    assert len(with_hot_rows) > 4
    fetched = [[*cluster.folder.glob(f"worker-{nth}/app-*/*/coincide-jobs.zip")] for nth in range(2)]
    assert all(fetched), "a worker fetches the code for its first task"
