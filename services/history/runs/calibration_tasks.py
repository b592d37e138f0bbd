"""What one task of a calibration does: a table of detections to a table of errors and calibrations, without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from coincide.arrays.kinds import BoolArray, Int64Array
from coincide.joins.echoes import are_echoes
from coincide.joins.progress import Progress, unheard
from coincide.learning import (
    Calibration,
    Errors,
    Learning,
    SensorStream,
    SharedPart,
    calibrate,
    errors_against,
    errors_by_consensus,
    shared_by_consensus,
    shared_errors,
    shared_parts,
)

DETECTION = "area string, sensor string, stream string, model string, detected_at_us long"
LEARNT = (
    "area string, sensor string, stream string, model string, error_s array<double>, "
    "ambiguous long, unmatched long, blurred long, echoes long, calibration binary"
)
LEARNT_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("area", "sensor", "stream", "model")),
        ("error_s", pa.list_(pa.float64())),
        *((name, pa.int64()) for name in ("ambiguous", "unmatched", "blurred", "echoes")),
        ("calibration", pa.binary()),
    ]
)
NOTHING = np.empty(0, np.int64)
NO_ERRORS = Errors(np.empty(0), NOTHING, NOTHING, 0, 0)


@dataclass(frozen=True)
class Echoes:
    """Which reports are echoes of another one of their sensor, and teach nothing.

    Those before `from_us` tell which later ones are, and teach nothing either.
    """

    by_stream_us: Mapping[str, int] = field(default_factory=dict)
    otherwise_us: int | None = None
    from_us: int = int(np.iinfo(np.int64).min)

    @property
    def longest_us(self) -> int:
        """How far behind another report an echo is at most."""
        return max((*self.by_stream_us.values(), self.otherwise_us or 0))

    def are_in(self, stream: str, at_us: Int64Array) -> BoolArray:
        """Whether each of one sensor's reports is an echo; they rise, and no two are at one time."""
        echo_us = self.by_stream_us.get(stream, self.otherwise_us)
        if echo_us is None:
            return np.zeros(len(at_us), np.bool_)
        return are_echoes(np.zeros(len(at_us), np.int64), at_us, echo_us)


NO_ECHOES = Echoes()


@dataclass(frozen=True)
class ByReference:
    """Learns each sensor's stream from known times; `reference_us` has them by area, and for all areas under ""."""

    reference_us: Mapping[str, Int64Array]
    learning: Learning
    echoes: Echoes = NO_ECHOES

    def __call__(self, detections: pa.Table, progress: Progress = unheard) -> pa.Table:
        """Take all detections of some sensors on some streams; return a row for each."""
        found = [(one, self._errors(one)) for one in reported_times(detections, self.echoes)]
        shared = dict[SensorStream, SharedPart]()
        for area in dict.fromkeys(one.area for one, _ in found):  # whose references are the same
            errors = {number: errors for number, (one, errors) in enumerate(found) if one.area == area}
            names = {number: found[number][0].of for number in errors}
            together = shared_errors(errors, self.learning.within, self.learning.buckets)
            shared |= shared_parts(names, together, self.learning)
        return _table(found, self.learning, progress, shared)

    def _errors(self, one: ReportedTimes) -> Errors:
        references_us = self.reference_us.get(one.area, self.reference_us.get("", NOTHING))
        return errors_against(one.detected_at_us, references_us, self.learning.within)


@dataclass(frozen=True)
class ByConsensus:
    """Learns every sensor's stream of one area from what the other sensors say together."""

    learning: Learning
    echoes: Echoes = NO_ECHOES

    def __call__(self, detections: pa.Table, progress: Progress = unheard) -> pa.Table:
        """Take all detections of one area; return a row for each sensor and stream that has a present template."""
        present = self.learning.present or {}
        sources = [one for one in reported_times(detections, self.echoes) if one.of in present]
        if not sources:
            return LEARNT_SCHEMA.empty_table()
        names = sorted({one.sensor for one in sources})
        sizes = [len(one.detected_at_us) for one in sources]
        reports = (
            np.concatenate([one.detected_at_us for one in sources]),
            np.repeat(np.arange(len(sources)), sizes),
            np.repeat([names.index(one.sensor) for one in sources], sizes),
            {number: present[one.of] for number, one in enumerate(sources)},
            self.learning.within,
        )
        found = errors_by_consensus(*reports, progress=lambda share: progress(share / 2))
        together = shared_by_consensus(*reports, self.learning.buckets)
        shared = shared_parts(dict(enumerate(one.of for one in sources)), together, self.learning)
        pairs = [(one, found.get(number, NO_ERRORS)) for number, one in enumerate(sources)]
        return _table(pairs, self.learning, lambda share: progress((1 + share) / 2), shared)


@dataclass(frozen=True)
class ByPool:
    """Learns those that have too few errors of their own from all of their model or stream."""

    learning: Learning

    def __call__(self, learnt: pa.Table) -> pa.Table:
        """Take the rows of one stream, as `ByReference` gives them; return those that lacked a template, with one."""
        sources = list(_learnt_sources(learnt))
        named = {one.sensor: one.model for one, _ in sources if one.model}
        models = {**(self.learning.models or {}), **named}
        lacking = [one.of for (one, _), known in zip(sources, learnt["calibration"], strict=True) if not known.is_valid]
        learning = replace(self.learning, models=models)
        calibrations = calibrate({one.of: errors for one, errors in sources}, learning, lacking)
        by_name = {each.of: each for each in calibrations}
        rows = [(one, errors, by_name[one.of]) for one, errors in sources if one.of in by_name]
        return _table_of(rows)


@dataclass(frozen=True, eq=False)
class ReportedTimes:
    """The detections of one sensor on one stream, each time once: a record may be on the topic twice.

    So many `echoes` are left out.
    """

    area: str
    sensor: str
    stream: str
    model: str | None
    detected_at_us: Int64Array
    echoes: int

    @property
    def of(self) -> SensorStream:
        """Its name in the library."""
        return SensorStream(self.sensor, self.stream)


def reported_times(detections: pa.Table, echoes: Echoes) -> Iterator[ReportedTimes]:
    """Yield what each sensor reported on each stream."""
    named = [detections[name].combine_chunks().dictionary_encode() for name in ("area", "sensor", "stream")]
    shape = [len(each.dictionary) for each in named]
    codes = np.ravel_multi_index([each.indices.to_numpy() for each in named], shape)
    time_us = detections["detected_at_us"].to_numpy()
    order = np.argsort(codes, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else ():
        area, sensor, stream = (each[rows[0]].as_py() for each in named)
        at_us, model = np.unique(time_us[rows]), detections["model"][rows[0]].as_py()
        is_inside, are = at_us >= echoes.from_us, echoes.are_in(stream, at_us)
        if is_inside.any():
            count = int(np.count_nonzero(is_inside & are))
            yield ReportedTimes(area, sensor, stream, model, at_us[is_inside & ~are], count)


def _learnt_sources(learnt: pa.Table) -> Iterator[tuple[ReportedTimes, Errors]]:
    for row in learnt.drop_columns(["calibration"]).to_pylist():
        counts = (row["ambiguous"], row["unmatched"], row["blurred"])
        errors = Errors(np.array(row["error_s"], np.float64), NOTHING, NOTHING, *counts)
        yield ReportedTimes(row["area"], row["sensor"], row["stream"], row["model"], NOTHING, row["echoes"]), errors


def _table(
    found: Sequence[tuple[ReportedTimes, Errors]],
    learning: Learning,
    progress: Progress,
    shared: Mapping[SensorStream, SharedPart],
) -> pa.Table:
    """Return rows, with a calibration where a sensor has errors enough of its own."""
    rows = []
    for nth, (one, errors) in enumerate(found):
        progress(nth / len(found))
        slim = replace(errors, row=NOTHING, reference=NOTHING)
        [calibration] = calibrate({one.of: slim}, replace(learning, models=None))
        calibration = replace(calibration, shared=shared.get(one.of))
        rows.append((one, slim, calibration if calibration.learnt is not None else None))
    return _table_of(rows)


def _table_of(rows: Sequence[tuple[ReportedTimes, Errors, Calibration | None]]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                **{name: getattr(one, name) for name in ("area", "sensor", "stream", "model", "echoes")},
                "error_s": errors.error_s,
                **{name: getattr(errors, name) for name in ("ambiguous", "unmatched", "blurred")},
                "calibration": None if calibration is None else pickle.dumps(calibration),
            }
            for one, errors, calibration in rows
        ],
        LEARNT_SCHEMA,
    )


def calibration_in(content: bytes) -> Calibration:
    """Return the calibration that a task of this job wrote."""
    calibration: Calibration = pickle.loads(content)  # noqa: S301 - our own tasks wrote it
    return calibration
