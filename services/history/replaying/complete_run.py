"""A complete run: the answer of the archive, chunk by chunk, so that no history is too long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from coincide import Stream
from coincide.chunks.key_ranges import KeyRange
from coincide.queries import Query, ReadingsQuery, SpellQuery
from services.history.archiving.folders import Archive
from services.history.replaying.chunk_answers import (
    ChunkAnswer,
    ChunkTask,
    CutTask,
    refuse_more_counted,
    refuse_more_matches,
)
from services.history.replaying.expected_by_chance import SlidesTask, chance_matches, slides_told
from services.history.replaying.match_curves import (
    MatchFigures,
)
from services.history.replaying.past import Past
from services.history.replaying.question import GRID_POINTS, Question
from services.history.replaying.readings_answer import (
    ReadingsAnswer,
    ReadingsTask,
    readings_figures,
    refuse_more_episodes,
)
from services.history.replaying.request import RunError, RunRequest
from services.history.replaying.run_folder import EPISODES, MATCHES, Reporter
from services.history.replaying.staff import Others, Staff
from services.history.rows.archive_rows import CHUNK_ROWS, HashRows, Wanted, copy_topic
from services.history.rows.counting_rows import echoes_us_of
from services.history.settings import RunSettings

COPYING = 0.4  # share of a run over the topic that goes by until its rows are an archive
CUTTING = 0.1  # share of the rest, until it is cut into chunks
ANSWERING = 0.1  # share of what is left then, until it is answered, where time slides follow
HASHES_OF_TOPIC = 16

T = TypeVar("T")


@dataclass(frozen=True)
class CompleteRun:
    """One run over the archive, or over the topic, which becomes an archive for so long."""

    request: RunRequest
    past: Past
    streams: Mapping[str, Stream]
    reporter: Reporter

    @property
    def _settings(self) -> RunSettings:
        return self.past.settings

    def figures(self) -> dict[str, Any]:
        """Write the matches, or the episodes of a query over readings, and return what the summary says."""
        with self._archive() as (archive, begun), self._parts() as parts, Staff(self._others(Path(parts))) as staff:
            hashes = [HashRows(archive, each, self._wanted()) for each in range(archive.area_hashes)]
            query = self.request.query
            if query.kind == "join":
                return self._of_join(query, hashes, staff, Path(parts), begun)
            return self._of_readings(query, hashes, staff, Path(parts), begun)

    def _of_join(
        self, query: Query, hashes: Sequence[HashRows], staff: Staff, parts: Path, begun: float
    ) -> dict[str, Any]:
        question = Question.of(query, self.request.min_threshold)
        cut_until = begun + (1 - begun) * CUTTING
        cuts = [CutTask(rows, question, CHUNK_ROWS) for rows in hashes]
        ranges = _in_order(staff.answers(cuts, partial(self._told, begun, cut_until)))
        tasks = [
            self._task(rows, keys, question, parts / f"{rows.area_hash:04d}-{nth:06d}.ndjson")
            for rows, of_hash in zip(hashes, ranges, strict=True)
            for nth, keys in enumerate(of_hash)
        ]
        answered = 1.0 if self.request.slides is None else cut_until + (1 - cut_until) * ANSWERING
        answers = _in_order(self._bounded(staff.answers(tasks, partial(self._told, cut_until, answered))))
        if self.request.keeps_matches:
            self._join_lines(MATCHES, [task.lines for task in tasks if task.lines is not None])
        return {**self._summed(question, answers), **self._slid(query, hashes, staff, answered)}

    def _slid(self, query: Query, hashes: Sequence[HashRows], staff: Staff, begun: float) -> dict[str, Any]:
        """Return what time slides say of chance, where they are asked for."""
        slides = self.request.slides
        if slides is None:
            return {}
        tasks = [SlidesTask(rows, query, slides, self._settings.max_counted) for rows in hashes]
        return slides_told(_in_order(staff.answers(tasks, partial(self._told, begun, 1.0))))

    def _of_readings(
        self, query: ReadingsQuery | SpellQuery, hashes: Sequence[HashRows], staff: Staff, parts: Path, begun: float
    ) -> dict[str, Any]:
        """Answer hash by hash: what a group's readings mean depends on those before them."""
        least = min(query.own_threshold or 0.0, self.request.min_threshold or 1.0)
        tasks = [
            ReadingsTask(rows, query, least, self.streams, CHUNK_ROWS, parts / f"{nth:04d}", self._settings.max_matches)
            for nth, rows in enumerate(hashes)
        ]
        answers = _in_order(staff.answers(tasks, partial(self._told, begun, 1.0)))
        refuse_more_episodes(sum(each.episodes for each in answers), self._settings.max_matches)
        if self.request.keeps_matches:
            self._join_lines(MATCHES, [])
            self._join_lines(EPISODES, [task.lines for task in tasks])
        return {**self._echoes(answers), **readings_figures(query, least, answers)}

    def _parts(self) -> TemporaryDirectory[str]:
        """Return the folder of what tasks write; one that a cluster still has in hand may write while it goes."""
        folder = self.reporter.folder.path.absolute()
        return TemporaryDirectory(dir=folder, prefix=".parts-", ignore_cleanup_errors=True)

    def _others(self, parts: Path) -> Callable[[], AbstractContextManager[Others]] | None:
        return None if self.past.others is None else partial(self.past.others, parts)

    def _bounded(self, answers: Iterable[tuple[int, ChunkAnswer]]) -> Iterator[tuple[int, ChunkAnswer]]:
        """Let answers pass until there are more matches than may be written or counted."""
        written, counted = 0, [0] * GRID_POINTS
        for nth, answer in answers:
            written += answer.matches if self.request.keeps_matches else 0
            refuse_more_matches(written, self._settings.max_matches)
            for at, columns in enumerate(answer.figures):
                counted[at] += sum(len(each.reached) for each in columns)
                refuse_more_counted(counted[at], self._settings.max_counted)
            yield nth, answer

    @contextmanager
    def _archive(self) -> Iterator[tuple[Archive, float]]:
        """Yield the archive, and which share of the run is done when it is there."""
        if self.request.source == "archive":
            if self._settings.archive_path is None:
                raise RunError("archive_path is not set: say where the archive is, or ask the topic (--source topic)")
            yield Archive.opened(self._settings.archive_path), 0.0
            return
        with TemporaryDirectory(dir=self.reporter.folder.path, prefix=".topic-") as folder:
            archive = Archive.opened(Path(folder), HASHES_OF_TOPIC)
            with self.past.topics("detections") as frames:
                copy_topic(frames, self._wanted(), archive, lambda share: self.reporter.progress(COPYING * share))
            yield archive, COPYING

    def _task(self, rows: HashRows, keys: KeyRange, question: Question, lines: Path) -> ChunkTask:
        kept = lines if self.request.keeps_matches else None
        most = self._settings.max_matches, self._settings.max_counted
        return ChunkTask(rows, keys, question, self.streams, kept, *most)

    def _wanted(self) -> Wanted:
        request = self.request
        return Wanted(
            frozenset(request.query.streams),
            request.from_us,
            request.to_us,
            self._settings.max_detections,
            echoes_us_of(request.query.streams, self.streams),
        )

    def _echoes(self, answers: Iterable[ChunkAnswer | ReadingsAnswer]) -> dict[str, Any]:
        """Return how many echoes were left out, and of which streams; nothing where no stream has any."""
        echoes_us = self._wanted().echoes_us
        if not echoes_us:
            return {}
        return {
            "echoes": sum(each.echoes for each in answers),
            "echo_s": {stream: us / 1e6 for stream, us in sorted(echoes_us.items())},
        }

    def _told(self, begun: float, end: float, share: float) -> None:
        self.reporter.progress(begun + (end - begun) * share)

    def _join_lines(self, name: str, parts: Sequence[Path]) -> None:
        with self.reporter.folder.writing(name) as out:
            for lines in parts:
                with lines.open("rb") as part:
                    copyfileobj(part, out)

    def _summed(self, question: Question, answers: Sequence[ChunkAnswer]) -> dict[str, Any]:
        """Return what the answers of all hashes say together."""
        query, figures = question.query, [MatchFigures(question.query.coalesce) for _ in question.thresholds]
        for answer in answers:
            for of_threshold, columns in zip(figures, answer.figures, strict=True):
                for each in columns:
                    of_threshold.extend(each)
        told = question.curve(figures)
        span_s = (self.request.to_us - self.request.from_us) / 1e6
        templates = {id_: template for answer in answers for id_, template in answer.templates.items()}
        counts = [answer.counts for answer in answers]
        thresholds = [point["threshold"] for point in told["curve"]]
        chance = chance_matches(query, counts, templates, thresholds, span_s)
        for point in told["curve"]:
            point.update(chance[point["threshold"]].to_json() if point["threshold"] in chance else {})
        names = ("detections", "no_number", *(("no_place",) if query.needs_places else ()), "matches")
        totals = {name: sum(getattr(answer, name) for answer in answers) for name in names}
        return {**totals, **self._echoes(answers), **told}


def _in_order(answers: Iterable[tuple[int, T]]) -> list[T]:
    return [answer for _, answer in sorted(answers, key=itemgetter(0))]
