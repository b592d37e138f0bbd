"""A complete run: the answer of the archive, hash by hash and chunk by chunk, so that no history is too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any

from coincide import Stream
from spark_jobs.archiving.folders import Archive
from spark_jobs.replaying.archive_rows import Wanted, copy_topic
from spark_jobs.replaying.expected_by_chance import chance_matches
from spark_jobs.replaying.hash_answers import (
    HashAnswer,
    HashTask,
    Question,
    answered,
    refuse_more_counted,
    refuse_more_matches,
)
from spark_jobs.replaying.match_curves import (
    MatchFigures,
)
from spark_jobs.replaying.request import RunError, RunRequest
from spark_jobs.replaying.run_folder import MATCHES, Reporter
from spark_jobs.replaying.topic_records import opened_topic
from spark_jobs.settings import HistorySettings

COPYING = 0.4  # share of a run over the topic that goes by until its rows are an archive
HASHES_OF_TOPIC = 16


@dataclass(frozen=True)
class CompleteRun:
    """One run over all hashes of the archive, or of the topic, which becomes an archive for so long."""

    request: RunRequest
    settings: HistorySettings
    streams: Mapping[str, Stream]
    reporter: Reporter

    def figures(self) -> dict[str, Any]:
        """Write the matches, and return what the summary says."""
        question, folder = Question.of(self.request), self.reporter.folder
        with self._archive() as (archive, begun), TemporaryDirectory(dir=folder.path, prefix=".parts-") as parts:
            tasks = [self._task(archive, each, question, Path(parts)) for each in range(archive.area_hashes)]
            answers: list[HashAnswer] = []
            for answer in answered(tasks, self.settings.processes, partial(self._told, begun)):
                answers.append(answer)
                written = sum(each.matches for each in answers) if self.request.keeps_matches else 0
                for columns in zip(*(each.figures for each in answers), strict=True):
                    refuse_more_counted(chain.from_iterable(columns), self.settings.max_counted)
                refuse_more_matches(written, self.settings.max_matches)
            if self.request.keeps_matches:
                self._join_lines(tasks)
        return self._summed(question, answers)

    @contextmanager
    def _archive(self) -> Iterator[tuple[Archive, float]]:
        """Yield the archive, and which share of the run is done when it is there."""
        if self.request.source == "archive":
            if self.settings.archive_path is None:
                raise RunError("archive_path is not set: say where the archive is, or ask the topic (--source topic)")
            yield Archive.opened(self.settings.archive_path), 0.0
            return
        with TemporaryDirectory(dir=self.reporter.folder.path, prefix=".topic-") as folder:
            archive = Archive.opened(Path(folder), HASHES_OF_TOPIC)
            with opened_topic("detections", self.settings) as frames:
                copy_topic(frames, self._wanted(), archive, lambda share: self.reporter.progress(COPYING * share))
            yield archive, COPYING

    def _task(self, archive: Archive, area_hash: int, question: Question, parts: Path) -> HashTask:
        lines = parts / f"{area_hash:04d}.ndjson" if self.request.keeps_matches else None
        most = self.settings.max_matches, self.settings.max_counted
        return HashTask(archive, area_hash, self._wanted(), question, self.streams, lines, *most)

    def _wanted(self) -> Wanted:
        request = self.request
        return Wanted(frozenset(request.query.streams), request.from_us, request.to_us, self.settings.max_detections)

    def _told(self, begun: float, share: float) -> None:
        self.reporter.progress(begun + (1 - begun) * share)

    def _join_lines(self, tasks: Sequence[HashTask]) -> None:
        with self.reporter.folder.writing(MATCHES) as out:
            for lines in (task.lines for task in tasks if task.lines is not None):
                with lines.open("rb") as part:
                    copyfileobj(part, out)

    def _summed(self, question: Question, answers: Sequence[HashAnswer]) -> dict[str, Any]:
        """Return what the answers of all hashes say together."""
        query, figures = question.query, [MatchFigures(question.query.coalesce) for _ in question.thresholds]
        for answer in answers:
            for of_threshold, columns in zip(figures, answer.figures, strict=True):
                for each in columns:
                    of_threshold.extend(each)
        told = question.curve(figures)
        span_s = (self.request.to_us - self.request.from_us) / 1e6
        templates = {id_: template for answer in answers for id_, template in answer.templates.items()}
        counts = [each for answer in answers for each in answer.counts]
        thresholds = [point["threshold"] for point in told["curve"]]
        chance = chance_matches(query, counts, templates, thresholds, span_s)
        for point in told["curve"]:
            point.update(chance[point["threshold"]].to_json() if point["threshold"] in chance else {})
        totals = {name: sum(getattr(answer, name) for answer in answers) for name in ("detections", "matches")}
        return {**totals, **told}
