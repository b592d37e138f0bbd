"""What is wrong with sensors, by what fusion hears of them: one is silent or late, or its template no longer fits.

Sensors are looked at a slice at a time, for there may be many and the thread that looks stores matches, too.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, get_args

from coincide.learning.drift import (
    CERTAIN,
    USUAL_MATCH,
    has_wrong_spread,
    is_drift,
    is_off,
    true_probability,
)
from coincide.templates.clocked import clock_of
from coincide.wire.sensor_health import SensorHealth, TemplateDrift
from services.alerting.alerts.alert_conditions import Name, OfAreas, OfSensors, SystemCondition
from services.alerting.records.alert import Alert
from services.alerting.records.registered_sensors import RegisteredSensor, RegisteredSensors
from services.common.clock import in_rfc_3339
from services.common.health_board import HealthFeed

DAY_S = 86_400.0
LOOKED_AT_EVERY_S = 10.0
SLICE = 2_000
LATEST_NEWS_S = 20.0  # fusion tells of a sensor every 10 s at most
DEAF_AFTER_S = 60.0  # without a batch for so long nobody has listened, for heartbeats make one every few seconds
LEAST_HEARD = 10  # detections within an hour or so; a rate or share of fewer says little
LEAST_ERRORS = 100
ANYHOW = math.inf  # whatever chance does
USUAL_GAPS = 30  # if detections come at random, a gap is so long once in 10^13
STEADY_S = 300.0  # it must be heard for so long, or for its longest gap, until it is no longer silent
TOLD_SINGLY, TOLD_AREAS = 5, 20  # sensors of an area, and areas; those beyond share one alert
NAMED = 10  # of those beyond
OF_SENSORS = frozenset({*get_args(OfSensors), *get_args(OfAreas)})


@dataclass(frozen=True)
class SensorLimits:
    """From when on something is wrong with a sensor; None: never, but a declared `expect_every_s` always counts."""

    silent_s: float | None = DAY_S
    late_share: float | None = 0.5
    watches_drift: bool = True


@dataclass
class Listening:
    """The time for which fusion has listened without a pause, as far as is known, in seconds since the epoch."""

    since_s: float | None = None
    until_s: float = 0.0

    def note(self, at_s: float) -> None:
        """Take in that it listened then."""
        if self.since_s is None or at_s - self.until_s > DEAF_AFTER_S:
            self.since_s = at_s
        self.until_s = max(self.until_s, at_s)


class OnClock(NamedTuple):
    """A clock of sensors of an area."""

    area: str
    clock: str


@dataclass
class _Round:
    """One look at all sensors."""

    left: Iterator[RegisteredSensor]
    sensors: int
    active: frozenset[str]
    found: list[SystemCondition] = field(default_factory=list)
    judged: Counter[str] = field(default_factory=Counter)  # sensors whose silence can be judged, by area
    silent: dict[str, list[SystemCondition]] = field(default_factory=dict)  # of these, by area
    off: dict[OnClock, list[SystemCondition]] = field(default_factory=dict)  # sensors that are off, by area and clock
    right: set[OnClock] = field(default_factory=set)  # clocks on which a sensor is that is not off


@dataclass
class SensorConditions:
    """Watches every registered sensor; before it knows them all and what was heard of them, it changes nothing."""

    registered: RegisteredSensors = field(default_factory=RegisteredSensors)
    heard: HealthFeed = field(default_factory=HealthFeed)
    limits: SensorLimits = field(default_factory=SensorLimits)
    _listening: Listening = field(default_factory=Listening)
    _round: _Round | None = None
    _begun_s: float = 0.0
    _steady_since_s: dict[str, float] = field(default_factory=dict)  # since when what was silent is heard, by alert
    _present: list[SystemCondition] | None = None
    _silent: dict[str, int] = field(default_factory=dict)

    def note_listening(self, at_s: float) -> None:
        """Take in that fusion has finished a batch then."""
        self._listening.note(at_s)

    def present(self, active: Sequence[Alert], now_s: float) -> list[SystemCondition]:
        """Return what is wrong as of the last complete look; the `active` alerts stay until there has been one."""
        self._look(active, now_s)
        if self._present is None:
            return [SystemCondition.of(each) for each in active if each.source in OF_SENSORS]
        return self._present

    def silent_by_area(self, now_s: float) -> Mapping[str, int]:
        """Return how many sensors are silent, by area; empty while nobody knows, because nobody listens.

        Of many areas those with the most are named, and "" stands for all others.
        """
        return self._silent if now_s - self._listening.until_s <= DEAF_AFTER_S else {}

    def _look(self, active: Sequence[Alert], now_s: float) -> None:
        is_due = not 0 <= now_s - self._begun_s < LOOKED_AT_EVERY_S  # a clock that was set back, too
        knows = self.registered.is_caught_up and self.heard.is_caught_up and self._listening.since_s is not None
        if self._round is None and is_due and knows:
            sensors = self.registered.each()
            self._begun_s = now_s
            self._round = _Round(iter(sensors), len(sensors), frozenset(each.id for each in active))
            self._steady_since_s = {id_: s for id_, s in self._steady_since_s.items() if id_ in self._round.active}
        if self._round is not None:
            looked_at = list(islice(self._round.left, SLICE))
            for sensor in looked_at:
                self._judge(sensor, self._round)
            if len(looked_at) < SLICE:
                self._present, self._silent, self._round = _told(self._round), _counted(self._round), None

    def _judge(self, sensor: RegisteredSensor, round_: _Round) -> None:
        board = self.heard.board
        heard = [each for known in sensor.streams if (each := board.of(sensor.id, known.stream)) is not None]
        if (limit_s := self._longest_gap_s(sensor, heard)) is not None:
            round_.judged[sensor.area] += 1
            self._judge_silence(sensor, heard, limit_s, round_)
        for each in heard:
            round_.found += self._late(sensor, each, round_.active)
            self._judge_drift(sensor, each, round_)

    def _judge_silence(
        self, sensor: RegisteredSensor, heard: Sequence[SensorHealth], limit_s: float, round_: _Round
    ) -> None:
        condition, begun_s = self._silence(sensor, heard, limit_s, round_.active)
        now_s, alert, area = self._listening.until_s, condition.alert, sensor.area
        if now_s - begun_s > limit_s:
            self._steady_since_s.pop(alert, None)
            round_.silent.setdefault(area, []).append(condition)
            round_.found.append(condition)
        elif alert in round_.active:  # a sensor that comes and goes rings once, not each time
            if now_s - self._steady_since_s.setdefault(alert, now_s) < min(limit_s, STEADY_S):
                round_.found.append(condition)
            else:
                del self._steady_since_s[alert]

    def _longest_gap_s(self, sensor: RegisteredSensor, heard: Sequence[SensorHealth]) -> float | None:
        """Return after how long the sensor is silent; None where nobody can say so."""
        if sensor.expect_every_s is not None:
            return sensor.expect_every_s + LATEST_NEWS_S
        rate_hz = sum(each.rate_hz or 0.0 for each in heard if _detections(each) >= LEAST_HEARD)
        if self.limits.silent_s is None or not rate_hz:
            return None
        return max(self.limits.silent_s, USUAL_GAPS / rate_hz)

    def _silence(
        self, sensor: RegisteredSensor, heard: Sequence[SensorHealth], limit_s: float, active: frozenset[str]
    ) -> tuple[SystemCondition, float]:
        """Return the condition that the sensor is silent, and since when it would be, in seconds."""
        since_s = self._listening.since_s or 0.0
        last_us = max((each.last_seen_us for each in heard), default=None)
        seen_s = (sensor.changed_at_us or since_s * 1e6) / 1e6 if last_us is None else last_us / 1e6
        expected = sensor.expect_every_s is not None
        condition = SystemCondition(
            "sensor_silent",
            f"The sensor {sensor.id} is silent",
            f"{_ever_seen(sensor, last_us)}. "
            + (
                f"It is declared to report every {in_words(sensor.expect_every_s or 0.0)}."
                if expected
                else f"That is longer than {in_words(limit_s)}, which its rate does not let expect."
            ),
            round((max(seen_s, since_s) + limit_s) * 1e6),
            "warning",
            area=sensor.area,
            labels={"sensor": sensor.id},
            revision=(sensor.changed_at_us or 0) if last_us is None else last_us,
        )
        # What was silent stays so, although nobody listened for a while; only a detection ends it.
        return condition, seen_s if condition.alert in active else max(seen_s, since_s)

    def _late(self, sensor: RegisteredSensor, heard: SensorHealth, active: frozenset[str]) -> Iterator[SystemCondition]:
        limit = self.limits.late_share
        if limit is None or heard.late_share <= limit / 2 or _detections(heard) < LEAST_HEARD:
            return
        condition = SystemCondition(
            "sensor_late",
            f"The sensor {sensor.id} reports too late",
            f"{100 * heard.late_share:.0f} % of its recent detections on {heard.stream} came later than the stream's "
            "max_delay_s after their area's others, and were compared with nothing.",
            heard.last_seen_us,
            "warning",
            area=sensor.area,
            labels={"sensor": sensor.id, "stream": heard.stream},
        )
        if heard.late_share > limit or condition.alert in active:
            yield condition

    def _judge_drift(self, sensor: RegisteredSensor, heard: SensorHealth, round_: _Round) -> None:
        """Tell a template that no longer fits, where it is off apart from those of other sensors on its clock."""
        drift, clock = heard.drift, _clock_of(sensor, heard.stream)
        if not self.limits.watches_drift or drift is None:
            return
        condition = self._drifted(sensor, heard, drift, clock, round_)
        if clock is None or not is_off(drift, certain=ANYHOW):
            round_.found += [] if condition is None else [condition]
            round_.right |= {clock} if clock is not None and drift.errors >= LEAST_ERRORS else set()
        elif condition is not None:
            round_.off.setdefault(clock, []).append(condition)

    def _drifted(
        self, sensor: RegisteredSensor, heard: SensorHealth, drift: TemplateDrift, clock: OnClock | None, round_: _Round
    ) -> SystemCondition | None:
        if not is_drift(drift, certain=ANYHOW):
            return None
        condition = SystemCondition(
            "template_drift",
            f"The template of {sensor.id} no longer fits",
            _how_wrong(heard.stream, drift),
            heard.last_seen_us,
            "warning",
            area=sensor.area,
            labels={"sensor": sensor.id, "stream": heard.stream},
        )
        # A right template looks wrong by chance once in 1 / CERTAIN looks, and there are many sensors and many looks.
        is_certain = drift.errors >= LEAST_ERRORS and is_drift(drift, certain=CERTAIN**2 / round_.sensors)
        was_told = condition.alert in round_.active or (clock is not None and _alert_of(clock) in round_.active)
        return condition if is_certain or was_told else None


def _clock_of(sensor: RegisteredSensor, stream: str) -> OnClock | None:
    """Return the clock of a sensor's stream, which is one thing in each area."""
    template = next((known.template for known in sensor.streams if known.stream == stream), None)
    clock = None if template is None else clock_of(template)
    return None if clock is None else OnClock(sensor.area, clock)


def _alert_of(on: OnClock) -> str:
    return _clock_off(on, ()).alert


def _clock_off(on: OnClock, off: Sequence[SystemCondition]) -> SystemCondition:
    """Return the condition that a clock is off, instead of those of its sensors."""
    names = _named({each.labels["sensor"] for each in off})
    began = _first(off) if off else None
    return SystemCondition(
        "template_drift",
        f"The clock {on.clock} is off",
        f"All sensors on it that can be judged err in the same way by what others say: {names} "
        "Is the clock wrong? Else change its error, or let its sensors say what it is.",
        0 if began is None else began.since_us,
        "warning",
        area=on.area,
        labels={"clock": on.clock},
        revision=0 if began is None else began.revision,
    )


def _by_clock(round_: _Round) -> Iterator[SystemCondition]:
    """Yield what is off: a clock where two of its sensors are and none is right, else each sensor."""
    for on, off in round_.off.items():
        is_clock = len({each.labels["sensor"] for each in off}) > 1 and on not in round_.right
        yield from [_clock_off(on, off)] if is_clock else off


def _how_wrong(stream: str, drift: TemplateDrift) -> str:
    """Return in what way a template is wrong: where errors lie, how wide they are, or both."""
    its_errors, told = f"Its last {drift.errors} errors on {stream} are", list[str]()
    has_moved = is_off(drift, certain=ANYHOW)
    if has_moved:
        told.append(f"{its_errors} {drift.distance:.2f} from the template at worst, where 0 fits and 1 is never right.")
    if has_wrong_spread(drift, certain=ANYHOW):
        amiss = "more" if drift.spread > 1 else "less"
        told.append(f"{its_errors} {drift.spread:.2g} times as wide as the template says.")
        is_true = true_probability(USUAL_MATCH, drift.spread)
        told.append(f"So its matches are told as {amiss} probable than they are:")
        told.append(f"where two such sensors have P of {USUAL_MATCH:g}, {is_true:.2f} is true.")
    advice = "Is its clock wrong? Else learn its template anew." if has_moved else "Learn its template anew."
    return " ".join([*told, advice])


def _detections(heard: SensorHealth) -> float:
    """Return how many detections the rate is of, at least."""
    return (heard.rate_hz or 0.0) * min((heard.last_seen_us - heard.since_us) / 1e6, 3_600.0)


def _ever_seen(sensor: RegisteredSensor, last_us: int | None) -> str:
    if last_us is None:
        return f"Nothing has ever come from {sensor.id} in {sensor.area}"
    return f"Nothing has come from {sensor.id} in {sensor.area} since {in_rfc_3339(last_us // 1_000_000 * 1_000_000)}"


def _counted(round_: _Round) -> dict[str, int]:
    """Return how many sensors are silent in each of some areas, and in all others together."""
    silent = Counter({area: len(round_.silent.get(area, ())) for area in round_.judged})
    named = dict(silent.most_common(TOLD_AREAS))
    return {**named, "": silent.total() - sum(named.values())}


def _told(round_: _Round) -> list[SystemCondition]:
    """Return what is told of what was found: an area for all its sensors, few of an area singly, and no flood."""
    whole = {area for area, silent in round_.silent.items() if len(silent) == round_.judged[area] >= 2}
    found = [each for each in round_.found if not (each.name == "sensor_silent" and each.area in whole)]
    found += [_area_silent(area, round_.silent[area]) for area in sorted(whole)]
    found += _by_clock(round_)
    by_name: dict[Name, dict[str, list[SystemCondition]]] = {}
    for each in sorted(found, key=lambda each: (each.alert not in round_.active, *_began(each))):
        by_name.setdefault(each.name, {}).setdefault(each.area, []).append(each)
    return [each for name, areas in by_name.items() for each in _told_of(name, list(areas.values()))]


def _told_of(name: Name, areas: Sequence[Sequence[SystemCondition]]) -> Iterator[SystemCondition]:
    """Yield some conditions of some areas, one for the others of each of these, and one for the rest."""
    for some in areas[:TOLD_AREAS]:
        yield from some[:TOLD_SINGLY]
        if len(some) > TOLD_SINGLY:
            others, title = some[TOLD_SINGLY:], f"More than {TOLD_SINGLY} {_IN_AREA[name].format(area=some[0].area)}"
            text = f"{_BESIDES} {_named({_whose(each) for each in others})} GET /v1/sensors shows all."
            began = _first(others)
            area, revision = some[0].area, began.revision
            yield SystemCondition(name, title, text, began.since_us, "warning", area=area, revision=revision)
    if len(areas) > TOLD_AREAS:
        rest = [each for some in areas[TOLD_AREAS:] for each in some]
        text = f"{_BESIDES} {_named({each.area for each in rest})}"
        title, began = f"{_IN_AREAS[name]} in more than {TOLD_AREAS} areas", _first(rest)
        yield SystemCondition(name, title, text, began.since_us, revision=began.revision)


def _area_silent(area: str, silent: Sequence[SystemCondition]) -> SystemCondition:
    text = f"All {len(silent)} sensors that should report from {area} are silent. Is its gateway running?"
    since_us, revision = max(each.since_us for each in silent), max(each.revision for each in silent)
    return SystemCondition("area_silent", f"The area {area} is silent", text, since_us, area=area, revision=revision)


_BESIDES = "Besides those that have alerts of their own:"
_IN_AREA: Mapping[str, str] = {
    "sensor_silent": "sensors of {area} are silent",
    "sensor_late": "sensors of {area} report too late",
    "template_drift": "sensors of {area} have templates that no longer fit",
}
_IN_AREAS: Mapping[str, str] = {
    "sensor_silent": "Sensors are silent",
    "sensor_late": "Sensors report too late",
    "template_drift": "Templates no longer fit",
    "area_silent": "All sensors are silent",
}


def _first(some: Iterable[SystemCondition]) -> SystemCondition:
    return min(some, key=_began)


def _whose(condition: SystemCondition) -> str:
    return condition.labels.get("sensor") or f"the clock {condition.labels['clock']}"


def _began(condition: SystemCondition) -> tuple[int, int]:
    return condition.revision, condition.since_us


def _named(names: Collection[str]) -> str:
    return ", ".join(sorted(names)[:NAMED]) + (", ..." if len(names) > NAMED else ".")


_UNITS = (("days", DAY_S), ("h", 3_600.0), ("min", 60.0))


def in_words(seconds: float) -> str:
    """Return a duration for people: `16 s`, `5 min`, `3 h`, `2 days`."""
    unit, unit_s = next((each for each in _UNITS if seconds >= 2 * each[1]), ("s", 1.0))
    return f"{seconds / unit_s:.3g} {unit}"
