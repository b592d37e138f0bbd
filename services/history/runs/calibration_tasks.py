"""What one task of a calibration does: a table of detections to a table of errors and calibrations, without Spark."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from coincide.arrays.kinds import Int64Array
from coincide.joins.progress import Progress, unheard
from coincide.learning import (
    Calibration,
    Errors,
    Learning,
    SensorStream,
    calibrate,
    errors_against,
    errors_by_consensus,
)

DETECTION = "area string, sensor string, stream string, model string, detected_at_us long"
LEARNT = (
    "area string, sensor string, stream string, model string, error_s array<double>, "
    "ambiguous long, unmatched long, blurred long, calibration binary"
)
LEARNT_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("area", "sensor", "stream", "model")),
        ("error_s", pa.list_(pa.float64())),
        *((name, pa.int64()) for name in ("ambiguous", "unmatched", "blurred")),
        ("calibration", pa.binary()),
    ]
)
NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True)
class ByReference:
    """Learns each sensor's stream from known times; `reference_us` has them by area, and for all areas under ""."""

    reference_us: Mapping[str, Int64Array]
    learning: Learning

    def __call__(self, detections: pa.Table, progress: Progress = unheard) -> pa.Table:
        """Take all detections of some sensors on some streams; return a row for each."""
        return _table([(one, self._errors(one)) for one in _sources(detections)], self.learning, progress)

    def _errors(self, one: ReportedTimes) -> Errors:
        references_us = self.reference_us.get(one.area, self.reference_us.get("", NOTHING))
        return errors_against(one.detected_at_us, references_us, self.learning.within)


@dataclass(frozen=True)
class ByConsensus:
    """Learns every sensor's stream of one area from what the other sensors say together."""

    learning: Learning

    def __call__(self, detections: pa.Table, progress: Progress = unheard) -> pa.Table:
        """Take all detections of one area; return a row for each sensor and stream that has a present template."""
        present = self.learning.present or {}
        sources = [one for one in _sources(detections) if one.of in present]
        if not sources:
            return LEARNT_SCHEMA.empty_table()
        names = sorted({one.sensor for one in sources})
        sizes = [len(one.detected_at_us) for one in sources]
        found = errors_by_consensus(
            np.concatenate([one.detected_at_us for one in sources]),
            np.repeat(np.arange(len(sources)), sizes),
            np.repeat([names.index(one.sensor) for one in sources], sizes),
            {number: present[one.of] for number, one in enumerate(sources)},
            self.learning.within,
            progress=lambda share: progress(share / 2),
        )
        pairs = [(one, found[number]) for number, one in enumerate(sources)]
        return _table(pairs, self.learning, lambda share: progress((1 + share) / 2))


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
    """The detections of one sensor on one stream, each time once: a record may be on the topic twice."""

    area: str
    sensor: str
    stream: str
    model: str | None
    detected_at_us: Int64Array

    @property
    def of(self) -> SensorStream:
        """Its name in the library."""
        return SensorStream(self.sensor, self.stream)


def _sources(detections: pa.Table) -> Iterator[ReportedTimes]:
    named = [detections[name].combine_chunks().dictionary_encode() for name in ("area", "sensor", "stream")]
    shape = [len(each.dictionary) for each in named]
    codes = np.ravel_multi_index([each.indices.to_numpy() for each in named], shape)
    time_us = detections["detected_at_us"].to_numpy()
    order = np.argsort(codes, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else ():
        area, sensor, stream = (each[rows[0]].as_py() for each in named)
        yield ReportedTimes(area, sensor, stream, detections["model"][rows[0]].as_py(), np.unique(time_us[rows]))


def _learnt_sources(learnt: pa.Table) -> Iterator[tuple[ReportedTimes, Errors]]:
    for row in learnt.drop_columns(["calibration"]).to_pylist():
        counts = (row["ambiguous"], row["unmatched"], row["blurred"])
        errors = Errors(np.array(row["error_s"], np.float64), NOTHING, NOTHING, *counts)
        yield ReportedTimes(row["area"], row["sensor"], row["stream"], row["model"], NOTHING), errors


def _table(found: Sequence[tuple[ReportedTimes, Errors]], learning: Learning, progress: Progress) -> pa.Table:
    """Return rows, with a calibration where a sensor has errors enough of its own."""
    rows = []
    for nth, (one, errors) in enumerate(found):
        progress(nth / len(found))
        slim = replace(errors, row=NOTHING, reference=NOTHING)
        [calibration] = calibrate({one.of: slim}, replace(learning, models=None))
        rows.append((one, slim, calibration if calibration.learnt is not None else None))
    return _table_of(rows)


def _table_of(rows: Sequence[tuple[ReportedTimes, Errors, Calibration | None]]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                **{name: getattr(one, name) for name in ("area", "sensor", "stream", "model")},
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
