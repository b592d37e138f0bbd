"""Detection rates: how often each sensor of an area has been reporting, as each new row finds it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import factorial, nan, prod

import numpy as np
from msgspec import Struct

from coincide.arrays.kinds import BoolArray, FloatArray, Int64Array
from coincide.constraints import SensorRule

MINUTE_US = 60_000_000
KEPT_EACH_MINUTE = 2 ** (-1 / 60)  # a detection counts half after an hour
FORGOTTEN_BELOW = 1e-3  # a count that has faded this far is that of a sensor gone for most of a night
MOST_COUNTED = 1_000
OTHERS = ""
MOST_STEPS = 4_000_000
MINUTES_OF_GRACE, INTERVALS_OF_GRACE = 2, 5.0  # for which one that lives may be silent


@dataclass(frozen=True, eq=False)
class Background:
    """How often detections came before a certain minute of an area's event time."""

    count: dict[int, dict[str, float]]  # detections by stream code and sensor, faded with age
    seconds: float  # time in which they were counted, faded alike
    silent_minutes: dict[int, dict[str, int]] = field(default_factory=dict)  # since the last one, by the same keys
    _products: dict[tuple[tuple[int, ...], SensorRule], float] = field(default_factory=dict)
    _live: dict[tuple[int, ...], tuple[str, ...]] = field(default_factory=dict)

    def live(self, streams: tuple[int, ...]) -> tuple[str, ...]:
        """Return the sensors that live, by name: on one of the streams each has reported lately, for its rate.

        That is within five of its mean intervals, or two minutes: one that lives is silent for longer seldom enough.
        """
        if streams not in self._live:
            reports = [(stream, name) for stream in streams for name in self.count.get(stream, {}) if name != OTHERS]
            self._live[streams] = tuple(sorted({name for stream, name in reports if self._is_live(stream, name)}))
        return self._live[streams]

    def _is_live(self, stream: int, sensor: str) -> bool:
        minutes = self.silent_minutes.get(stream, {}).get(sensor, 0)
        expected = 60 * minutes * self.count[stream][sensor] / self.seconds
        return minutes <= MINUTES_OF_GRACE or expected <= INTERVALS_OF_GRACE

    @cached_property
    def rates_hz(self) -> dict[int, float]:
        """Detections a second, all sensors together, by stream code."""
        return {stream: sum(counts.values()) / self.seconds for stream, counts in self.count.items()}

    def rate_product(self, streams: Sequence[int], sensors: SensorRule) -> float:
        """Sum, over the allowed choices of a sensor for each role, of the product of their rates.

        Sensors that share a count are taken to differ. NaN where sensors must differ and more than 4 million steps
        would tell in how many ways they do.
        """
        key = (tuple(sorted(streams)), sensors)
        if key not in self._products:
            self._products[key] = self._choices(key[0], sensors) / self.seconds ** len(streams)
        return self._products[key]

    def _choices(self, streams: Sequence[int], sensors: SensorRule) -> float:
        counts = [self.count.get(stream, {}) for stream in streams]
        every = prod(sum(of_role.values()) for of_role in counts)
        if sensors == "any":
            return every
        if sensors == "different" and len(streams) > 2:
            return self._different(Counter(streams))
        named = (sensor for sensor in counts[0] if sensor != OTHERS)
        same = sum(prod(of_role.get(sensor, 0.0) for of_role in counts) for sensor in named)
        return same if sensors == "same" else max(every - same, 0.0)

    def _different(self, roles: Mapping[int, int]) -> float:
        """Add up what different sensors can give to so many roles of each stream.

        `filled` has the sum for every number of roles filled so far, by stream. A sensor that could fill two roles
        takes its turn, for one role or none; all others, which are never in each other's way, come at once.
        """
        counts = {stream: self.count.get(stream, {}) for stream in roles}
        reports = Counter(sensor for stream in roles for sensor in counts[stream])
        one_role = {sensor for sensor, streams in reports.items() if streams == 1}
        free = {
            stream: {sensor for sensor in counts[stream] if sensor == OTHERS or (most == 1 and sensor in one_role)}
            for stream, most in roles.items()
        }
        in_turn = [sensor for sensor in reports if not any(sensor in each for each in free.values())]
        filled = np.zeros([most + 1 for most in roles.values()])
        if filled.size * len(in_turn) > MOST_STEPS:
            return nan
        filled[(0,) * filled.ndim] = 1.0
        for sensor in in_turn:
            before = filled.copy()
            for axis, stream in enumerate(roles):
                if sensor in counts[stream]:
                    _shifted(filled, axis, 1)[...] += counts[stream][sensor] * _left(before, axis, 1)
        for axis, (stream, most) in enumerate(roles.items()):
            at_once, before = sum(counts[stream][sensor] for sensor in free[stream]), filled.copy()
            for nth in range(1, most + 1):
                _shifted(filled, axis, nth)[...] += at_once**nth / factorial(nth) * _left(before, axis, nth)
        return float(filled[(-1,) * filled.ndim]) * prod(map(factorial, roles.values()))


def _shifted(array: FloatArray, axis: int, by: int) -> FloatArray:
    return array[(slice(None),) * axis + (slice(by, None),)]


def _left(array: FloatArray, axis: int, by: int) -> FloatArray:
    return array[(slice(None),) * axis + (slice(None, array.shape[axis] - by),)]


class SavedRates(Struct, array_like=True, frozen=True):
    """Detection rates of an area as saved; the last three are little-endian arrays as bytes."""

    minute: int
    since: int
    counted: list[tuple[str, str]]
    faded: bytes
    running: bytes
    last: bytes


@dataclass
class DetectionRates:
    """Accepted detections of one area, counted by (sensor, stream) in minutes of its event time.

    The event time of a row is the area's watermark at that row. A minute's count is added to the faded ones when a row
    of a later minute comes, so what is known in a minute depends on the rows before it alone, in their order, however
    they were batched. The minute in which the area began is not counted: it was not seen as a whole. (sensor, stream)
    pairs beyond `most_counted` share one count for each stream.
    """

    minute: int | None = None  # the one that is running, since the epoch
    since: int = 0  # the first that is counted
    most_counted: int = MOST_COUNTED
    _entry_of: dict[tuple[str, int], int] = field(default_factory=dict)
    _faded: FloatArray = field(default_factory=lambda: np.zeros(0))
    _running: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    _last: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))  # minute before this one with any
    _background: Background | None = None
    _counted: list[tuple[str, str]] = field(default_factory=list)  # the keys as saved; anew when they change
    _saved: SavedRates | None = None  # as long as nothing has been counted since

    def advance(self, minute: int) -> None:
        """Begin a later minute; it is the running one already if it is not later."""
        if self.minute is None:
            self.minute, self.since, self._saved = minute, minute + 1, None
        elif minute > self.minute:
            self._saved = None
            counted = self._running if self.minute >= self.since else 0
            self._faded = (self._faded * KEPT_EACH_MINUTE + counted) * KEPT_EACH_MINUTE ** (minute - self.minute - 1)
            self._last[self._running > 0] = self.minute
            self._running = np.zeros_like(self._running)
            self.minute, self._background = minute, None
            if self._faded.min(initial=1.0) < FORGOTTEN_BELOW:
                self._keep(self._faded >= FORGOTTEN_BELOW)

    def count(self, sensor: str, stream: int, detections: int) -> None:
        """Count detections of the running minute."""
        entry = self._entry_of.get((sensor, stream))
        if entry is None:
            if len(self._entry_of) >= self.most_counted and sensor != OTHERS:
                self.count(OTHERS, stream, detections)
                return
            entry = self._entry_of[sensor, stream] = len(self._faded)
            self._faded, self._running = np.append(self._faded, 0.0), np.append(self._running, 0)
            self._last = np.append(self._last, self.minute or 0)
        self._running[entry] += detections
        self._saved = None

    def background(self) -> Background | None:
        """Return what was counted before the running minute; None as long as no whole minute has passed."""
        if self.minute is None or self.minute <= self.since:
            return None
        if self._background is None:
            by_stream: dict[int, dict[str, float]] = {}
            silent: dict[int, dict[str, int]] = {}
            columns = zip(self._entry_of, self._faded.tolist(), (self.minute - 1 - self._last).tolist(), strict=True)
            for (sensor, stream), count, minutes in columns:
                if not count:  # its first minute is running: who asks early in it and who asks late are told the same
                    continue
                by_stream.setdefault(stream, {})[sensor] = count
                silent.setdefault(stream, {})[sensor] = minutes
            seconds = 60 * (1 - KEPT_EACH_MINUTE ** (self.minute - self.since)) / (1 - KEPT_EACH_MINUTE)
            self._background = Background(by_stream, seconds, silent)
        return self._background

    def saved(self, streams: Sequence[str]) -> SavedRates | None:
        """Return what `restored` reads; None if there is nothing yet."""
        if self.minute is None:
            return None
        if len(self._counted) != len(self._entry_of):
            self._counted = [(sensor, streams[stream]) for sensor, stream in self._entry_of]
        if self._saved is None:
            faded, running = self._faded.astype("<f8").tobytes(), self._running.astype("<i8").tobytes()
            last = self._last.astype("<i8").tobytes()
            self._saved = SavedRates(self.minute, self.since, self._counted, faded, running, last)
        return self._saved

    @classmethod
    def restored(cls, state: SavedRates | None, stream_codes: dict[str, int]) -> DetectionRates:
        """Return the rates that were saved, those of streams still declared."""
        if state is None:
            return cls()
        declared = np.array([stream in stream_codes for _, stream in state.counted], np.bool_)
        keys = [(sensor, stream_codes[stream]) for sensor, stream in state.counted if stream in stream_codes]
        faded = np.frombuffer(state.faded, "<f8")[declared].astype(np.float64)
        running = np.frombuffer(state.running, "<i8")[declared].astype(np.int64)
        last = np.frombuffer(state.last, "<i8")[declared].astype(np.int64)
        entry_of = {key: nth for nth, key in enumerate(keys)}
        return cls(state.minute, state.since, _entry_of=entry_of, _faded=faded, _running=running, _last=last)

    def _keep(self, keep: BoolArray) -> None:
        kept = [key for key, stays in zip(self._entry_of, keep.tolist(), strict=True) if stays]
        self._entry_of, self._counted = {key: nth for nth, key in enumerate(kept)}, []
        self._faded, self._running, self._last = self._faded[keep], self._running[keep], self._last[keep]
