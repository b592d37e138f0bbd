"""Templates of every sensor and stream of a log: each from its own errors, or with those of its model or stream."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from coincide.arrays.kinds import FloatArray
from coincide.constraints.window import Window
from coincide.errors import HistogramError
from coincide.joins.progress import Progress, checked_progress
from coincide.learning.associations import Errors
from coincide.learning.clock_errors import SharedError
from coincide.learning.held_out import Judgement, judged
from coincide.learning.robust import LearntTemplate, learn_template
from coincide.templates.clocked import clock_of
from coincide.templates.histogram import Histogram
from coincide.templates.learning import LEAST_SAMPLES


class SensorStream(NamedTuple):
    """What has one template: a sensor on one of its streams."""

    sensor: str
    stream: str


Pool = Literal["own", "model", "stream"]
"""Whose errors a template was learnt from: its sensor's own, or all of its model or its stream."""


@dataclass(frozen=True)
class Learning:
    """How templates are learnt.

    Attributes
    ----------
    within : Window
        Where errors are looked for, true minus reported time.
    buckets : int
        At most so many in a template.
    models : mapping of str to str
        The model of each sensor that has one.
    present : mapping of SensorStream to Histogram
        Present templates, to be compared with.
    """

    within: Window
    buckets: int = 8
    models: Mapping[str, str] | None = None
    present: Mapping[SensorStream, Histogram] | None = None


@dataclass(frozen=True, eq=False)
class SharedPart:
    """What of a sensor's errors moves together with those of others.

    Attributes
    ----------
    clock : str or None
        The clock that its present template is on. None: it is on none, though its errors say that it shares one.
    others : tuple of SensorStream
        With which they move together.
    correlation : float
        The least rank correlation that joins one of all these to the others.
    events : int
        That two of them or more have reported.
    error : Histogram
        What they err together.
    own : Histogram
        What it errs beside that.
    """

    clock: str | None
    others: tuple[SensorStream, ...]
    correlation: float
    events: int
    error: Histogram
    own: Histogram


def shared_parts(
    names: Mapping[int, SensorStream], found: Iterable[SharedError], learning: Learning
) -> dict[SensorStream, SharedPart]:
    """Return what each sensor and stream shares with others, given their names by number."""
    present = learning.present or {}
    return {
        names[number]: SharedPart(
            clock_of(template) if (template := present.get(names[number])) is not None else None,
            tuple(sorted(names[other] for other in each.sources if other != number)),
            each.correlation,
            each.events,
            each.error,
            own,
        )
        for each in found
        for number, own in each.own.items()
    }


@dataclass(frozen=True, eq=False)
class Calibration:
    """What a log says about one sensor on one stream.

    Attributes
    ----------
    of : SensorStream
    errors : Errors
    learnt : LearntTemplate or None
        From all errors of the pool; None if even those of its stream are too few, or do not stand out of chance.
    pool : {"own", "model", "stream"} or None
        Whose errors: those of its model or stream if the sensor has fewer than 30 of its own.
    held_out : Judgement or None
        Learnt in the same way from the earlier half of each sensor's errors, and judged by the later half of this
        one's. None if the earlier half is too small.
    shared : SharedPart or None
        What of its errors moves together with those of other sensors; None: nothing, as far as is known.
    """

    of: SensorStream
    errors: Errors
    learnt: LearntTemplate | None
    pool: Pool | None
    held_out: Judgement | None
    shared: SharedPart | None = None


def calibrate(
    errors: Mapping[SensorStream, Errors],
    learning: Learning,
    wanted: Iterable[SensorStream] | None = None,
    *,
    progress: Progress | None = None,
) -> list[Calibration]:
    """Learn a template for each sensor and stream, in their order, and judge it by errors that were held out.

    Of `wanted` only, if that is given; the errors of all others then only help those that have too few. `progress` is
    called with the share that is done, from 0 to 1.

    Examples
    --------
    >>> from coincide.learning import errors_against
    >>> times_us = np.arange(0, 100_000_000, 1_000_000)
    >>> late = errors_against(times_us, times_us - np.arange(100) * 1_000, Window(0.4))
    >>> [one] = calibrate({SensorStream("mic-1", "noise"): late}, Learning(Window(0.4)))
    >>> one.pool, one.learnt.template.earliest_s
    ('own', -0.099)
    """
    heard, pools, found = checked_progress(progress), _Pools(errors, learning), list[Calibration]()
    chosen = sorted(errors if wanted is None else wanted)
    for done, of in enumerate(chosen):
        heard(done / len(chosen))
        found.append(_calibrated(of, pools))
    heard(1.0)
    return found


def _calibrated(of: SensorStream, pools: _Pools) -> Calibration:
    own = pools.errors[of]
    pool = next(filter(pools.learnt, pools.of(of)), None)
    if pool is None:
        return Calibration(of, own, None, None, None)
    earlier, later = pools.learnt(pool, part=_EARLIER), own.error_s[len(own) // 2 :]
    present = (pools.learning.present or {}).get(of)
    held_out = judged(earlier, later, present) if earlier is not None and len(later) else None
    return Calibration(of, own, pools.learnt(pool), pool.whose, held_out)


class _Pool(NamedTuple):
    """Whose errors are put together; `name` is of the sensor or the model."""

    whose: Pool
    name: str
    stream: str


_ALL, _EARLIER = 1, 2  # of each sensor's errors, the first one in so many


class _Pools:
    """Errors that may be put together, and what was learnt from them, each once."""

    def __init__(self, errors: Mapping[SensorStream, Errors], learning: Learning) -> None:
        self.errors, self.learning = errors, learning
        self._members = defaultdict[_Pool, list[FloatArray]](list)
        self._learnt: dict[tuple[_Pool, int], LearntTemplate | None] = {}
        for of in sorted(errors):
            for pool in self.of(of):
                self._members[pool].append(errors[of].error_s)

    def of(self, of: SensorStream) -> list[_Pool]:
        """Return the pools that a sensor's stream belongs to, the closest first."""
        model = (self.learning.models or {}).get(of.sensor)
        by_model = [] if model is None else [_Pool("model", model, of.stream)]
        return [_Pool("own", of.sensor, of.stream), *by_model, _Pool("stream", "", of.stream)]

    def learnt(self, pool: _Pool, part: int = _ALL) -> LearntTemplate | None:
        """Return what a pool teaches; None if its errors are too few or do not stand out of chance."""
        if (pool, part) not in self._learnt:
            samples = np.concatenate([error_s[: len(error_s) // part] for error_s in self._members[pool]])
            self._learnt[pool, part] = _learnt(samples, self.learning)
        return self._learnt[pool, part]


def _learnt(samples: FloatArray, learning: Learning) -> LearntTemplate | None:
    if len(samples) < LEAST_SAMPLES:
        return None
    try:
        return learn_template(samples, learning.within, learning.buckets)
    except HistogramError:  # nothing stands out of chance
        return None
