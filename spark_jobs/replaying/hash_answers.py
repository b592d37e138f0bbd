"""What the areas of one hash answer, chunk by chunk, and several hashes at once in processes of their own."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait as wait_for_end
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.json import encode

from coincide import Histogram, Stream
from coincide.queries import Query
from spark_jobs.archiving.folders import Archive
from spark_jobs.replaying.archive_rows import HashChunks, Progress, RowChunk, Wanted
from spark_jobs.replaying.complete_answer import FoundTuples, complete_tuples, match_records, reach_us
from spark_jobs.replaying.expected_by_chance import role_counts
from spark_jobs.replaying.match_curves import (
    MatchColumns,
    MatchFigures,
    has_one_threshold,
    own_threshold,
    some_of,
    thresholds_from,
    with_threshold,
)
from spark_jobs.replaying.pair_levels import PairLevels
from spark_jobs.replaying.played_rows import PlayedRows
from spark_jobs.replaying.request import RunError, RunRequest
from spark_jobs.replaying.run_folder import CancelledError

TRIES = 3  # of a hash whose files are just being merged
GRID_POINTS = 8  # thresholds of the curve of a query with `at_least`: each is a join of its own
GRID = f"at most {GRID_POINTS} thresholds, each a join of its own: with another threshold other sets are the largest"
ALONE = "the query's own threshold alone: with another one other sets are the largest (min_threshold asks for a few)"
ALONE_S = 2.0  # a run that takes longer gets more processes: to start one costs about a second
POLL_S = 0.2


@dataclass(frozen=True)
class Question:
    """What is asked of every chunk: the query, and with which thresholds its tuples are looked for.

    Tuples at the least threshold tell all points of the curve above it, except with `at_least`: with another
    threshold other sets are the largest, so each point is asked for.
    """

    query: Query
    thresholds: tuple[float, ...]

    @classmethod
    def of(cls, request: RunRequest) -> Question:
        """Return what a request asks; RunError where its curve cannot begin where it should."""
        query = request.query
        assert isinstance(query, Query)  # noqa: S101 - the request has checked it
        own = own_threshold(query)
        least = min(own, request.min_threshold or own)
        if not has_one_threshold(query):
            if least < own:
                raise RunError(f"query {query.id} has no single threshold that a curve could vary: leave it out")
            return cls(query, (own,))
        if query.at_least is None or request.min_threshold is None:
            return cls(query, (least,))
        return cls(query, tuple(some_of(thresholds_from(least, own).tolist(), GRID_POINTS, own)))

    @property
    def asked(self) -> list[Query]:
        """The query with each threshold."""
        own = own_threshold(self.query)
        return [self.query if each == own else with_threshold(self.query, each) for each in self.thresholds]

    @cached_property
    def levels(self) -> PairLevels | None:
        """What pairs reach, for the points of the curve; None for more than two roles."""
        if len(self.query.roles) > 2:
            return None
        thresholds = thresholds_from(self.thresholds[0], own_threshold(self.query))
        return PairLevels(self.query.window, thresholds.tolist())

    @property
    def telling(self) -> int:
        """Which of the thresholds gives the query's own matches."""
        return 0 if self.query.at_least is None else self.thresholds.index(own_threshold(self.query))

    def curve(self, figures: Sequence[MatchFigures]) -> dict[str, Any]:
        """Return the histogram of P and the curve, given the figures of each threshold."""
        own = own_threshold(self.query)
        told = {"own_threshold": own, "histogram": figures[self.telling].histogram()}
        if self.query.at_least is None:
            return {**told, "curve": figures[0].curve(thresholds_from(self.thresholds[0], own).tolist())}
        points = [figure.curve([each])[0] for figure, each in zip(figures, self.thresholds, strict=True)]
        return {**told, "curve": points, "curve_of": GRID if len(points) > 1 else ALONE}


class HashAnswer(NamedTuple):
    """What the areas of one hash have given."""

    detections: int
    matches: int
    figures: list[list[MatchColumns]]  # for each threshold asked
    counts: list[list[pa.Table]]  # of `role_counts`, chunk by chunk
    templates: dict[str, Histogram]


def refuse_more_matches(matches: int, most: int) -> None:
    """Raise RunError if so many are too many to be written."""
    if matches > most:
        raise RunError(f"there are more than {most} matches (max_matches)")


def refuse_more_counted(columns: Iterable[MatchColumns], most: int) -> None:
    """Raise RunError if there are too many matches to be counted."""
    if sum(len(each.reached) for each in columns) > most:
        raise RunError(
            f"there are more than {most} matches to be counted (max_counted): ask for a shorter range or a higher "
            "min_threshold"
        )


@dataclass(frozen=True)
class HashTask:
    """Answers for the areas of one hash; match records go into the file `lines`, if there is one."""

    archive: Archive
    area_hash: int
    wanted: Wanted
    question: Question
    streams: Mapping[str, Stream]
    lines: Path | None
    most_written: int
    most_counted: int

    def answer(self, progress: Progress) -> HashAnswer:
        """Answer chunk by chunk; begin again where merging has replaced files meanwhile."""
        for attempt in range(TRIES):
            try:
                return self._answer(progress)
            except FileNotFoundError:
                if attempt == TRIES - 1:
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _answer(self, progress: Progress) -> HashAnswer:
        answer = HashAnswer(0, 0, [[] for _ in self.question.thresholds], [], {})
        reach = partial(reach_us, self.question.asked[0])
        looks_back = self.question.query.at_least is not None
        chunks = HashChunks.of(self.archive, self.area_hash, self.wanted, reach, looks_back=looks_back)
        with nullcontext() if self.lines is None else self.lines.open("wb") as out:
            for nth, keys in enumerate(chunks.ranges):
                check = partial(progress, nth / len(chunks.ranges))
                check()
                answer = self._with_chunk(answer, chunks.read(keys), out, check)
        return answer

    def _with_chunk(
        self, answer: HashAnswer, chunk: RowChunk, out: BinaryIO | None, check: Callable[[], None]
    ) -> HashAnswer:
        query, matches = self.question.query, answer.matches
        played = PlayedRows.of(query, chunk)
        for nth, asked in enumerate(self.question.asked):
            columns = answer.figures[nth]
            for tuples in complete_tuples(played, asked, self.question.levels, check):
                columns.append(MatchColumns.of_tuples(played, tuples, query.coalesce))
                refuse_more_counted(columns, self.most_counted)
                if nth == self.question.telling:
                    matches += self._write(played, tuples, out, check)
                    refuse_more_matches(matches if out else 0, self.most_written)
        answer.counts.append(role_counts(played))
        answer.templates.update(chunk.templates)
        return answer._replace(detections=answer.detections + int(played.is_own.sum()), matches=matches)

    def _write(self, played: PlayedRows, tuples: FoundTuples, out: BinaryIO | None, check: Callable[[], None]) -> int:
        """Write the records of what reaches the query's own threshold; return how many they are."""
        at = np.flatnonzero(tuples.reached >= own_threshold(self.question.query))
        if out is not None:
            for match in match_records(played, tuples.rows[at], self.streams, check):
                out.write(encode(match) + b"\n")
        return len(at)


def answered(tasks: Sequence[HashTask], processes: int, progress: Progress) -> Iterator[HashAnswer]:
    """Yield the answer of each task, in any order; what takes long is done by several processes at once.

    `progress` is told the share of all tasks that is done; what it raises ends them all.
    """
    begun_s, done = time.monotonic(), 0
    for done, task in enumerate(tasks):
        if processes > 1 and time.monotonic() - begun_s > ALONE_S:
            break
        yield task.answer(lambda share, done=done: progress((done + share) / len(tasks)))  # type: ignore[misc]
    else:
        return
    yield from _answered_at_once(tasks[done:], processes, lambda share: progress((done + share) / len(tasks)))


def _answered_at_once(tasks: Sequence[HashTask], processes: int, progress: Progress) -> Iterator[HashAnswer]:
    """Yield answers as processes give them; `progress` is told the sum of the tasks' shares."""
    context = get_context("spawn")  # this process has threads
    told, ending = context.SimpleQueue(), context.Event()
    shares = [0.0] * len(tasks)
    with ProcessPoolExecutor(min(processes, len(tasks)), context, _begin, (told, ending)) as pool:
        waiting = {pool.submit(_answer, nth, task) for nth, task in enumerate(tasks)}
        try:
            while waiting:
                done, waiting = wait(waiting, POLL_S, "FIRST_COMPLETED")
                while not told.empty():
                    nth, share = told.get()
                    shares[nth] = share
                progress(sum(shares))
                yield from map(Future.result, done)
        finally:
            ending.set()
            pool.shutdown(cancel_futures=True)


_of_process: dict[str, Any] = {}


def _begin(told: Any, ending: Any) -> None:
    """Make a process of the pool ready: Ctrl-C is its parent's, and it ends when its parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _of_process.update(told=told, ending=ending)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait_for_end([parent.sentinel])
        os._exit(1)


def _answer(nth: int, task: HashTask) -> HashAnswer:
    """Answer in a process of the pool."""

    def progress(share: float) -> None:
        if _of_process["ending"].is_set():
            raise CancelledError
        _of_process["told"].put((nth, share))

    answer = task.answer(progress)
    _of_process["told"].put((nth, 1.0))
    return answer
