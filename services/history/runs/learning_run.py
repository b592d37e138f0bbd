"""A run that learns templates from a range of the archive, says what it learnt, and proposes what does better."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from msgspec import Struct

from coincide import Histogram
from coincide.joins.progress import Progress
from coincide.learning import Calibration, Learning, SensorStream
from coincide.wire.declarations.template_proposal import TemplateProposal, proposal_of
from services.common.clock import system_clock_us
from services.common.settings import Streams
from services.history.archiving.folders import Archive
from services.history.replaying.past import Past
from services.history.replaying.request import LearningRequest, RunError, days_between
from services.history.replaying.run_folder import TEMPLATES, Reporter
from services.history.rows.archive_rows import in_spite_of_merging
from services.history.rows.counting_rows import echoes_us_of
from services.history.runs.calibration_tasks import (
    LEARNT_SCHEMA,
    ByConsensus,
    ByPool,
    ByReference,
    Echoes,
    calibration_in,
    reported_times,
)
from services.history.runs.live_answer import streams_of
from services.history.runs.run import told_to_the_end

COLUMNS = ["area", "sensor_id", "stream", "detected_at_us", "template"]
NAMES = ["area", "sensor", "stream", "detected_at_us", "template"]  # as the tasks of a calibration call them
READ_SHARE = 0.3  # of the work

Proposed = Callable[[Sequence[TemplateProposal]], None]
"""Takes proposals to where they wait; a `LogError` says that not all may have arrived."""


class LearntLine(Struct, kw_only=True):
    """What a range said about one sensor on one stream: a line of the run's result."""

    area: str
    sensor: str
    stream: str
    errors: int
    ambiguous: int
    unmatched: int
    blurred: int
    echoes: int
    learnt: TemplateProposal | None  # None: too few errors, or nothing that stands out of chance
    is_proposed: bool


@dataclass(frozen=True)
class LearningRun:
    """A request, the past that it is asked of, whom it tells, and who takes what it proposes."""

    request: LearningRequest
    past: Past
    streams: Streams  # of the file
    reporter: Reporter
    proposed: Proposed

    def execute(self) -> dict[str, Any]:
        """Learn and propose, and return the summary, which says how it ended; RunError if it cannot be done."""
        return told_to_the_end(self._figures, self.reporter)

    def _figures(self) -> dict[str, Any]:
        rows, present = self._read()
        learning = Learning(self.request.within, self.request.buckets, None, present)
        found = [*self._lines(rows, learning)]
        with self.reporter.folder.writing(TEMPLATES) as out:
            out.writelines(msgspec.json.encode(each) + b"\n" for each in found)
        better = [each.learnt for each in found if each.learnt is not None and each.is_proposed]
        self.reporter.progress(1.0)  # who cancels until now is proposed nothing
        if better:
            self.proposed(better)
        learnt = sum(each.learnt is not None for each in found)
        echoes = sum(each.echoes for each in found)
        detections = int(np.count_nonzero(rows["detected_at_us"].to_numpy() >= self.request.from_us))
        told = {"detections": detections, "looked_at": len(found), "templates": learnt, "proposed": len(better)}
        return {**told, "echoes": echoes} if self._echoes.longest_us else told

    @cached_property
    def _echoes(self) -> Echoes:
        streams = streams_of(self.request, self.streams, self.past.topics)
        return Echoes(echoes_us_of(streams.keys(), streams), from_us=self.request.from_us)

    def _read(self) -> tuple[pa.Table, dict[SensorStream, Histogram]]:
        """Return the detections, and the template that each sensor's stream has at the end of the range."""
        if self.past.settings.archive_path is None:
            raise RunError("templates are learnt from the archive: the setting archive_path names none")
        archive = Archive.opened(self.past.settings.archive_path)
        rows = in_spite_of_merging(lambda: self._rows(archive))
        _refuse_sensors_in_two_areas(rows)
        return rows, _present(rows, archive)

    def _rows(self, archive: Archive) -> pa.Table:
        """Return the detections of the range and the area, area by area."""
        files, parts, count = archive.files(*days_between(self._read_from_us, self.request.to_us)), list[pa.Table](), 0
        for nth, file in enumerate(files):
            self.reporter.progress(READ_SHARE * nth / len(files))
            parts.append(pq.read_table(file, columns=COLUMNS, filters=self._is_wanted(), partitioning=None))
            count += len(parts[-1])
            if count > self.past.settings.max_detections:
                most = f"{self.past.settings.max_detections} detections (max_detections)"
                raise RunError(f"there are more than {most}: choose a shorter range, or an area")
        if not any(pc.max(each["detected_at_us"]).as_py() >= self.request.from_us for each in parts if len(each)):
            raise RunError("the archive has no detections of this area and range")
        rows = pa.concat_tables(parts).rename_columns(NAMES).sort_by("area")
        return rows.append_column("model", pa.nulls(count, pa.string()))  # the archive knows no models

    @property
    def _read_from_us(self) -> int:
        """From when on reports are read: those just before the range tell which of it are echoes."""
        return self.request.from_us - self._echoes.longest_us

    def _is_wanted(self) -> pc.Expression:
        request, at = self.request, pc.field("detected_at_us")
        is_wanted = (at >= self._read_from_us) & (at < request.to_us)
        return is_wanted if request.area is None else is_wanted & (pc.field("area") == request.area)

    def _lines(self, rows: pa.Table, learning: Learning) -> Iterator[LearntLine]:
        learnt = self._learnt(rows, learning)
        now_us, calibrations = system_clock_us(), _calibrations(learnt, learning)
        told = learnt.select(["area", "sensor", "stream", "ambiguous", "unmatched", "blurred", "echoes"])
        for row in told.append_column("errors", pc.list_value_length(learnt["error_s"])).to_pylist():
            known = calibrations.get(SensorStream(row["sensor"], row["stream"]))
            proposal = None if known is None else proposal_of(known, now_us)
            is_proposed = proposal is not None and proposal.is_better
            yield LearntLine(**row, learnt=proposal, is_proposed=is_proposed)

    def _learnt(self, rows: pa.Table, learning: Learning) -> pa.Table:
        """Return the errors of each sensor and stream, area by area, with a calibration where they are enough."""
        if self.request.reference_stream not in (None, *rows["stream"].unique().to_pylist()):
            raise RunError(f"there are no detections of the reference_stream {self.request.reference_stream!r}")
        areas, parts = _by_area(rows), [LEARNT_SCHEMA.empty_table()]
        for nth, of_area in enumerate(areas):

            def progress(share: float, nth: int = nth) -> None:
                self.reporter.progress(READ_SHARE + (1 - READ_SHARE) * (nth + share) / len(areas))

            parts.append(self._learnt_in(of_area, learning, progress))
        learnt = pa.concat_tables(parts)
        is_wanted = [self.request.learns(stream) for stream in learnt["stream"].to_pylist()]
        return learnt.filter(pa.array(is_wanted, pa.bool_())).sort_by(
            [("sensor", "ascending"), ("stream", "ascending")]
        )

    def _learnt_in(self, rows: pa.Table, learning: Learning, progress: Progress) -> pa.Table:
        if self.request.reference_stream is None:
            return ByConsensus(learning, self._echoes)(rows, progress)
        is_reference = pc.equal(rows["stream"], self.request.reference_stream)
        trusted = [each.detected_at_us for each in reported_times(rows.filter(is_reference), self._echoes)]
        known_us = np.unique(np.concatenate([np.empty(0, np.int64), *trusted]))
        return ByReference({"": known_us}, learning, self._echoes)(rows.filter(pc.invert(is_reference)), progress)


def _by_area(rows: pa.Table) -> list[pa.Table]:
    """Cut rows that are in the order of their areas."""
    counts = [each["counts"] for each in rows["area"].combine_chunks().value_counts().to_pylist()]
    ends = np.cumsum(counts).tolist()
    return [rows.slice(end - count, count) for count, end in zip(counts, ends, strict=True)]


def _refuse_sensors_in_two_areas(rows: pa.Table) -> None:
    places = rows.group_by(["sensor", "area"]).aggregate([])["sensor"].value_counts().to_pylist()
    if moved := sorted(each["values"] for each in places if each["counts"] > 1):
        raise RunError(f"sensor {moved[0]!r} is in two areas in this range: choose one of them, or a shorter range")


def _present(rows: pa.Table, archive: Archive) -> dict[SensorStream, Histogram]:
    """Return the template that the newest detection of each sensor and stream has."""
    ordered = rows.sort_by("detected_at_us")
    newest = ordered.group_by(["sensor", "stream"], use_threads=False).aggregate([("template", "last")]).to_pylist()
    templates = archive.templates({each["template_last"] for each in newest})
    return {SensorStream(each["sensor"], each["stream"]): templates[each["template_last"]] for each in newest}


def _calibrations(learnt: pa.Table, learning: Learning) -> dict[SensorStream, Calibration]:
    """Return what was learnt, for those with few errors of their own from all of their stream."""
    lacking = learnt.filter(pc.is_null(learnt["calibration"]))["stream"].unique().to_pylist()
    pooled = [ByPool(learning)(learnt.filter(pc.equal(learnt["stream"], stream))) for stream in lacking]
    written = [each for table in (learnt, *pooled) for each in table["calibration"].to_pylist() if each is not None]
    return {each.of: each for each in map(calibration_in, written)}
