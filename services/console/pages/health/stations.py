"""The stations of the line as they are shown: state, in a word and why, and figures. What is not known says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from services.console.pages.health.fault_list import (
    RECENT_S,
    HealthFault,
    Station,
    batch_age_s,
    kafka_is_up,
    late_share,
    waiting,
)
from services.console.pages.number_words import UNKNOWN, count, counted, size
from services.console.pages.time_words import duration, rate
from services.console.rest.component_readings import ComponentTrend, Increase
from services.console.rest.line_watch import LineReading
from services.console.rest.services import Service

RATE_S = 15.0
QUIET_S = 60.0
State = Literal["well", "wrong", "unknown"]


class Figure(NamedTuple):
    """One number of a station: for people, and as it was told."""

    name: str
    words: str
    exact: str


@dataclass(frozen=True)
class StationView:
    """What is shown of one station."""

    state: State
    why: str
    figures: Sequence[Figure]


@dataclass(frozen=True)
class StationKind:
    """A station: its name, who tells of it, and how its figures come out of a reading."""

    station: Station
    name: str
    told_by: Service
    figures: Callable[[LineReading], Sequence[Figure]]

    def view(self, line: LineReading, faults: Sequence[HealthFault]) -> StationView:
        """Return what to show of it."""
        state, why = self._state(line, [each for each in faults if each.station == self.station])
        return StationView(state, why, self.figures(line))

    def _state(self, line: LineReading, own: Sequence[HealthFault]) -> tuple[State, str]:
        if own:
            return "wrong", f"{counted(len(own), 'fault')}, see above"
        if self.station in ("detections", "results"):
            return ("well", "Kafka answers") if kafka_is_up(line) else ("unknown", "nobody says whether Kafka answers")
        newest = line.of(self.told_by).newest
        if newest is None:
            return "unknown", "is being looked at" if self.told_by in line.trends else "nobody looks at it"
        if newest.samples is None:
            return "unknown", newest.why_away or newest.why_untold or UNKNOWN
        return _posts(line) if self.station == "gateways" else ("well", "at work")


def _posts(line: LineReading) -> tuple[State, str]:
    if (lasts_s := quiet_s(line)) is not None:
        return "unknown", f"nobody has posted for {duration(lasts_s)}"
    posts = _of_posts(line)
    return ("well", "posts arrive") if posts is not None and posts.by else ("unknown", "is being looked at")


def quiet_s(line: LineReading) -> float | None:
    """Return for how long nobody has posted; None while somebody does, or nobody has looked for long enough."""
    posts = _of_posts(line)
    return None if posts is None or posts.by or posts.span_s < QUIET_S else posts.span_s


def _of_posts(line: LineReading) -> Increase | None:
    return line.of("ingest").increase("coincide_ingest_posts_total", RECENT_S)


def _rate(name: str, line: LineReading, component: Service, *metrics: str) -> Figure:
    """Return the rate of counters that grow together, over the last seconds."""
    told = [line.of(component).increase(f"coincide_{component}_{metric}_total", RATE_S) for metric in metrics]
    known = [each for each in told if each is not None]
    if not known:
        return Figure(name, UNKNOWN, "two looks, some seconds apart, are needed")
    grew = Increase(sum(each.by for each in known), max(each.span_s for each in known))
    return Figure(name, rate(grew.rate_hz) if grew.by else "none now", f"{grew.by:g} in {grew.span_s:.1f} s")


def _number(name: str, value: float | None, words: Callable[[float], str], unit: str) -> Figure:
    if value is None:
        return Figure(name, UNKNOWN, "it is not told now")
    return Figure(name, words(value), f"{value:.10g} {unit}")


def _of_recent(name: str, value: float | None, words: Callable[[float], str], unit: str, of: Increase | None) -> Figure:
    """Return a figure of what came in the last minutes, which has no value where nothing came."""
    if value is None and of is not None and not of.by:
        return Figure(name, "none lately", f"nothing in {of.span_s:.0f} s")
    return _number(name, value, words, unit)


def _gateways(line: LineReading) -> list[Figure]:
    return [
        _rate("posts", line, "ingest", "posts"),
        _number("sensors registered", line.of("ingest").total("coincide_ingest_sensors"), count, "sensors"),
    ]


def _ingest(line: LineReading) -> list[Figure]:
    return [
        _rate("taken", line, "ingest", "detections_accepted"),
        _rate("refused", line, "ingest", "detections_refused"),
    ]


def _detections(line: LineReading) -> list[Figure]:
    return [
        _rate("frames", line, "ingest", "frames"),
        _number("wait for fusion", waiting(line, "fusion"), lambda value: counted(value, "record"), "records"),
    ]


def _fusion(line: LineReading) -> list[Figure]:
    fusion = line.of("fusion")
    buffered = fusion.total("coincide_fusion_buffered_detections")
    seen = fusion.increase("coincide_fusion_detections_total", RECENT_S)
    return [
        _rate("detections", line, "fusion", "detections"),
        _rate("batches", line, "fusion", "batches"),
        _batch(line),
        _number("last batch", batch_age_s(line), lambda value: f"{duration(value)} ago", "s ago"),
        _number("lag", waiting(line, "fusion"), lambda value: counted(value, "record"), "records"),
        _number("state", buffered, lambda value: counted(value, "detection"), "detections buffered"),
        _number("state on disk", fusion.total("coincide_fusion_state_bytes"), size, "bytes"),
        _of_recent("too late", late_share(line), _percent, "of the detections of 5 minutes", seen),
        _number("evicted", fusion.total("coincide_fusion_evicted_total"), count, "detections since the start"),
    ]


def _batch(line: LineReading) -> Figure:
    name = "a batch takes"
    seconds, batches = (
        line.of("fusion").increase(f"coincide_fusion_batch_seconds_{part}", RECENT_S) for part in ("sum", "count")
    )
    mean_s = seconds.by / batches.by if seconds and batches and batches.by else None
    return _of_recent(name, mean_s, duration, "s on average in 5 minutes", batches)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _results(line: LineReading) -> list[Figure]:
    return [
        _rate("matches and episodes", line, "fusion", "matches", "episodes"),
        _number("wait for alerting", waiting(line, "alerting"), lambda value: counted(value, "record"), "records"),
    ]


def _alerting(line: LineReading) -> list[Figure]:
    return [
        _rate("stored", line, "alerting", "records_inserted"),
        _delay(line),
        _number("matches kept", line.of("alerting").total("coincide_alerting_stored_matches"), count, "matches"),
    ]


def _delay(line: LineReading) -> Figure:
    """Return what half of the matches of the last minutes took at most, from ingest to stored."""
    newest = line.of("alerting").newest
    name = "coincide_alerting_match_delay_seconds_bucket"
    edges = newest.samples.by(name, "le") if newest and newest.samples else {}
    grown = {float(edge): increase for edge in edges if (increase := _bucket(line, edge)) is not None}
    delay_s = quantile({edge_s: increase.by for edge_s, increase in grown.items()}, 0.5)
    every = grown.get(float("inf"))
    return _of_recent("delay, the median", delay_s, duration, "s, of the matches of 5 minutes", every)


def _bucket(line: LineReading, edge: str) -> Increase | None:
    return line.of("alerting").increase("coincide_alerting_match_delay_seconds_bucket", RECENT_S, le=edge)


def quantile(buckets: dict[float, float], share: float) -> float | None:
    """Return a quantile from counts at most each edge, straight within a bucket; None of nothing.

    Beyond the last finite edge nothing is known but that: it is returned itself.
    """
    total = max(buckets.values(), default=0.0)
    below_s, below = 0.0, 0.0
    for edge_s, count_ in sorted(buckets.items()):
        if total and count_ >= share * total:
            if edge_s == float("inf"):
                return below_s
            return below_s + (edge_s - below_s) * (share * total - below) / max(count_ - below, 1e-9)
        below_s, below = edge_s, count_
    return None


def _people(line: LineReading) -> list[Figure]:
    alerting = line.of("alerting")
    has_metrics = alerting.newest is not None and alerting.newest.samples is not None
    waits = alerting.total("coincide_alerting_outbox_deliveries")
    return [
        _rate("told", line, "alerting", "deliveries"),
        _number("messages wait", 0.0 if waits is None and has_metrics else waits, count, "deliveries"),
        _number("the oldest waits", _oldest_s(alerting), duration, "s"),
        _number("alerts fire", alerting.total("coincide_alerting_alerts", state="firing"), count, "alerts"),
        _number("look live", alerting.total("coincide_alerting_live_readers"), count, "readers of the live stream"),
    ]


def _oldest_s(alerting: ComponentTrend) -> float | None:
    """Return how long the oldest message waits; 0 where none does."""
    newest = alerting.newest
    if newest is None or newest.samples is None:
        return None
    return max(newest.samples.by("coincide_alerting_outbox_age_seconds", "receiver").values(), default=0.0)


def _archive(line: LineReading) -> list[Figure]:
    return [_rate("rows written", line, "archive", "rows"), _rate("files written", line, "archive", "files")]


def _forwarding(line: LineReading) -> list[Figure]:
    waits = line.of("forwarding").total("coincide_forwarding_waiting_records")
    return [
        _rate("forwarded", line, "forwarding", "detections"),
        _rate("refused above", line, "forwarding", "refused"),
        _number("wait", waits, lambda value: counted(value, "record"), "records"),
    ]


LINE: tuple[StationKind, ...] = (
    StationKind("gateways", "Gateways", "ingest", _gateways),
    StationKind("ingest", "Ingest", "ingest", _ingest),
    StationKind("detections", "Kafka", "ingest", _detections),
    StationKind("fusion", "Fusion", "fusion", _fusion),
    StationKind("results", "Kafka", "fusion", _results),
    StationKind("alerting", "Alerting", "alerting", _alerting),
    StationKind("people", "People", "alerting", _people),
)
BESIDE: tuple[StationKind, ...] = (
    StationKind("archive", "Archive", "archive", _archive),
    StationKind("history", "History", "history", lambda _line: []),
    StationKind("forwarding", "Forwarding", "forwarding", _forwarding),
)
