"""SparkStaff: the cores of a Spark cluster do the tasks of a run, a Spark task each.

Answers come back as files in a folder that driver and workers see. So none of them goes through the driver's Java, and
it does not matter how often Spark does a task: who does it last puts the same file in the place of the other.
"""

from __future__ import annotations

import logging
import pickle
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import TypeVar

from py4j.protocol import Py4JError
from pyspark import SparkContext

from coincide.errors import CoincideError
from services.common.settings import SettingsError
from services.history.archiving.layout import write_whole
from services.history.replaying.request import RunError
from services.history.replaying.staff import POLL_S, Progress, Task
from spark_jobs.job.session import SessionError, create_session, end_session, shipped_code
from spark_jobs.settings import HistorySettings

logger = logging.getLogger(__name__)

SEEN_WITHIN_S = 60.0  # a file that a worker wrote, on a shared file system that remembers what a folder had
_SAID = re.compile(r"^[\w.]*(?:Error|Exception): .*", re.MULTILINE)

T = TypeVar("T")


class SparkStaff:
    """A Spark session, which takes the cluster's cores when the block begins and gives them back when it ends."""

    def __init__(self, settings: HistorySettings, folder: Path) -> None:
        self._settings, self._folder, self._stack = settings, folder, ExitStack()

    def __enter__(self) -> SparkStaff:
        try:
            spark = create_session(self._settings)
        except SessionError as error:
            raise RunError(str(error)) from error
        self._stack.callback(end_session, spark, self._settings.stop_timeout_s)
        try:
            self._stack.enter_context(shipped_code(spark))
        except BaseException:
            self._stack.close()
            raise
        self._spark = spark.sparkContext
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def answers(self, tasks: Sequence[Task[T]], progress: Progress) -> Iterator[tuple[int, T]]:
        """Yield answers as workers write them."""
        folder = Path(mkdtemp(dir=self._folder, prefix="answers-")).absolute()
        with ThreadPoolExecutor(1) as thread:
            job = thread.submit(self._done_by_workers, tasks, folder)
            try:
                yield from _written(folder, len(tasks), job, progress)
            finally:
                _end(self._spark, job)

    def _done_by_workers(self, tasks: Sequence[Task[T]], folder: Path) -> None:
        self._spark.parallelize(list(enumerate(tasks)), len(tasks)).foreach(partial(_write_answer, folder))


def _write_answer(folder: Path, numbered: tuple[int, Task[object]]) -> None:
    """Do a task in a worker; what cannot be answered is an answer, too, and Spark need not try again."""
    nth, task = numbered
    if not folder.is_dir():
        raise RunError(f"{folder} is not there: runs_path has to be a folder that every worker sees")
    try:
        answer = task.answer(lambda: None)
    except (RunError, CoincideError, SettingsError) as refusal:
        answer = RunError(str(refusal))
    write_whole(folder / str(nth), pickle.dumps(answer))


def _written(folder: Path, count: int, job: Future[None], progress: Progress) -> Iterator[tuple[int, T]]:
    left, seen_s = {str(nth) for nth in range(count)}, monotonic()
    while left:
        is_over = job.done()  # asked first: what was written before it ended is there
        found = left.intersection(path.name for path in folder.iterdir())
        progress(1 - len(left) / count)
        for name in found:
            yield int(name), _read_answer(folder / name)
        left -= found
        if found or not is_over:
            seen_s = monotonic()
        if is_over:
            _refuse_failed(job)
            sleep(POLL_S if left else 0.0)
        elif left:
            wait([job], POLL_S)
        if left and monotonic() - seen_s > SEEN_WITHIN_S:
            raise RunError(f"{folder} does not show what workers wrote: runs_path has to be a folder that all see")


def _read_answer(path: Path) -> T:  # type: ignore[type-var]
    answer = pickle.loads(path.read_bytes())  # noqa: S301 - our own tasks wrote it
    path.unlink()
    if isinstance(answer, RunError):
        raise answer
    return answer  # type: ignore[no-any-return]


def _refuse_failed(job: Future[None]) -> None:
    error = job.exception()
    if error is not None:
        logger.error("the cluster could not do it", exc_info=error)
        said = _SAID.findall(str(error))
        raise RunError(f"the cluster could not do it: {said[-1] if said else str(error).splitlines()[0]}") from error


def _end(spark: SparkContext, job: Future[None]) -> None:
    """Cancel what still runs, again until it has ended: a job may not have begun when it is cancelled."""
    while not job.done():
        with suppress(Py4JError, OSError):
            spark.cancelAllJobs()
        wait([job], POLL_S)
