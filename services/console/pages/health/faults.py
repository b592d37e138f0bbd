"""The law of what is wrong now: faults out of one reading of the line, the most upstream one first.

The limits are those of `deploy/prometheus/rules.yml`, as far as a look at the last minutes can tell. Nothing here is
asked and nothing is drawn, so that every case is a line of a table in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from services.console.pages.number_words import count, counted
from services.console.pages.time_words import duration
from services.console.rest.answers import AlertAnswer
from services.console.rest.component_readings import Increase
from services.console.rest.line_watch import LineReading
from services.console.rest.services import Service

Station = Literal["gateways", "ingest", "detections", "fusion", "results", "alerting", "people", "archive", "history"]
#: From upstream to downstream; `detections` and `results` are the topics on Kafka before and behind fusion.
STATIONS: tuple[Station, ...] = (
    "gateways", "ingest", "detections", "fusion", "results", "alerting", "people", "archive", "history"
)  # fmt: skip

RECENT_S = 300.0
STALLED_S, BEHIND_RECORDS, GROWING_S = 60.0, 5000, 60.0
LATE_SHARE, LATE_LEAST = 0.01, 100
UNTOLD_S = 300.0

PAGE = "docs/how-to/answer-an-alert.md"
_REPAIRS = "What repairs itself"
_FROM_ALERT: dict[str, tuple[Station, str]] = {
    "no_detections": ("gateways", "No detections"),
    "area_silent": ("gateways", "Area silent"),
    "sensor_silent": ("gateways", "Sensor silent"),
    "sensor_late": ("gateways", "Sensor late"),
    "template_drift": ("gateways", "Template drift"),
    "dead_letter_flood": ("ingest", "Dead-letter flood"),
    "line_stalled": ("fusion", "Line stalled"),
    "query_suspended": ("fusion", "Query suspended"),
}


class Fault(NamedTuple):
    """Something that is wrong now: where, in one sentence, and the section of the docs about it."""

    station: Station
    sentence: str
    section: str
    page: str = PAGE


def faults_of(line: LineReading) -> list[Fault]:
    """Return everything that is known to be wrong now, the most upstream first."""
    found = [fault for law in _LAWS for fault in law(line)]
    at = {fault.station for fault in found}
    found += [fault for alert in line.alerts or () if (fault := _of_alert(alert, at)) is not None]
    return sorted(found, key=lambda fault: STATIONS.index(fault.station))


def kafka_is_up(line: LineReading) -> bool | None:
    """Whether Kafka answers those who ask it; None where nobody can say."""
    told = [
        line.of("fusion").total("coincide_fusion_kafka_up"),
        line.of("alerting").total("coincide_alerting_kafka_up"),
    ]
    if 0.0 in told:
        return False
    ingest = line.of("ingest").newest
    return True if 1.0 in told or (ingest is not None and ingest.is_ready) else None


def waiting(line: LineReading, component: Literal["fusion", "alerting"]) -> float | None:
    """Return how many records on Kafka a component has not taken yet."""
    return line.of(component).total(f"coincide_{component}_lag_records")


def batch_age_s(line: LineReading) -> float | None:
    """Return how long ago fusion finished a batch; None where that is unknown, or it has finished none."""
    finished_s = line.of("fusion").total("coincide_fusion_last_batch_timestamp_seconds")
    return max(0.0, line.now_s - finished_s) if finished_s else None


def late_share(line: LineReading) -> float | None:
    """Return which share of the detections of the last minutes came too late; None while there are none."""
    seen, late = (_recent(line, "fusion", f"fusion_{name}_total") for name in ("detections", "late"))
    return late.by / seen.by if seen and late and seen.by > 0 else None


def _recent(line: LineReading, component: Service, name: str, **labels: str) -> Increase | None:
    return line.of(component).increase(f"coincide_{name}", RECENT_S, **labels)


def _grew(line: LineReading, component: Service, name: str, **labels: str) -> float:
    """Return by how much a counter is known to have grown within the last minutes."""
    increase = _recent(line, component, name, **labels)
    return increase.by if increase else 0.0


def _whole(component: str, effect: str) -> Callable[[LineReading], Iterator[Fault]]:
    """Return the law of a component that is away, or says that it is not ready."""
    service: Service = component  # type: ignore[assignment]
    station: Station = component  # type: ignore[assignment]

    def law(line: LineReading) -> Iterator[Fault]:
        newest = line.of(service).newest
        if newest is None or newest.is_ready:
            return
        if newest.why_away is not None:
            yield Fault(station, f"{_begun(newest.why_away)}: {effect}.", _REPAIRS)
        elif (
            newest.why_not_ready
            and kafka_is_up(line) is not False
            and not (component == "fusion" and list(_stalled(line)))
        ):
            yield Fault(station, f"{_begun(component)} is not ready: {newest.why_not_ready}.", _REPAIRS)

    return law


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _kafka(line: LineReading) -> Iterator[Fault]:
    if kafka_is_up(line) is False:
        yield Fault("detections", "Kafka does not answer: nothing is handed on.", _REPAIRS)
        return
    unacknowledged = _grew(line, "ingest", "ingest_detections_unacknowledged_total")
    if unacknowledged:
        said = f"Kafka has not acknowledged {counted(unacknowledged, 'detection')} lately: their POSTs got 503."
        yield Fault("detections", said, _REPAIRS)
    if _grew(line, "ingest", "ingest_heartbeats_failed_total"):
        said = "Heartbeats do not reach every partition: what was going on in silent areas is not ended."
        yield Fault("detections", said, "CoincideHeartbeatsFail")


def _dropped(line: LineReading) -> Iterator[Fault]:
    dropped = _grew(line, "ingest", "ingest_dead_letters_dropped_total")
    if dropped:
        said = (
            f"More is refused than is written down: {counted(dropped, 'dead letter was', 'dead letters were')} dropped."
        )
        yield Fault("ingest", said, "CoincideDeadLettersDropped")


def _stalled(line: LineReading) -> Iterator[Fault]:
    lag, age_s = waiting(line, "fusion"), batch_age_s(line)
    if not lag:
        return
    if age_s is not None and age_s > STALLED_S:
        said = f"Fusion has not finished a batch for {_about(age_s)}: {_that_wait(lag)}."
        yield Fault("fusion", said, "Line stalled")
    elif line.of("fusion").total("coincide_fusion_last_batch_timestamp_seconds") == 0 and _waits_long(line):
        said = f"Fusion has finished no batch since it was started: {_that_wait(lag)}."
        yield Fault("fusion", said, "The first batch does not end")


def _about(seconds: float) -> str:
    return duration(float(f"{seconds:.2g}"))


def _that_wait(records: float) -> str:
    return counted(records, "record waits", "records wait")


def _waits_long(line: LineReading) -> bool:
    before = line.of("fusion").before("coincide_fusion_lag_records", RECENT_S)
    return before is not None and before[0] >= STALLED_S and before[1] > 0


def _behind(line: LineReading) -> Iterator[Fault]:
    lag, before = waiting(line, "fusion"), line.of("fusion").before("coincide_fusion_lag_records", RECENT_S)
    if lag is None or lag <= BEHIND_RECORDS or before is None or list(_stalled(line)):
        return
    span_s, lag_before = before
    if span_s >= GROWING_S and lag > lag_before:
        said = f"Fusion falls behind: {_that_wait(lag)}, {count(lag - lag_before)} more than {_about(span_s)} ago."
        yield Fault("fusion", said, "Fusion falls behind")


def _losses(line: LineReading) -> Iterator[Fault]:
    evicted = _grew(line, "fusion", "fusion_evicted_total")
    if evicted:
        were = counted(evicted, "detection was", "detections were")
        yield Fault("fusion", f"{were} evicted before their time: matches may be missing.", "Detections are evicted")
    seen, share = _recent(line, "fusion", "fusion_detections_total"), late_share(line)
    if share is not None and share > LATE_SHARE and seen is not None and seen.by >= LATE_LEAST:
        said = f"{share:.0%} of the last {counted(seen.by, 'detection')} came too late to be joined."
        yield Fault("fusion", said, "Detections are late")
    if _grew(line, "fusion", "fusion_malformed_total"):
        said = "Somebody other than ingest writes to the topics of detections or queries what cannot be used."
        yield Fault("fusion", said, "CoincideDetectionsMalformed")


def _suspended(line: LineReading) -> Iterator[Fault]:
    newest = line.of("fusion").newest
    samples = newest.samples if newest else None
    told = {alert.query for alert in line.alerts or () if alert.source == "query_suspended"}
    for query, areas in sorted(samples.by("coincide_fusion_query_suspensions", "query").items()) if samples else ():
        if areas and query not in told:
            said = f"The query {query} broke a limit and gives no more matches in {counted(areas, 'area')}."
            yield Fault("fusion", said, "A query is suspended")


def _untold(line: LineReading) -> Iterator[Fault]:
    newest = line.of("alerting").newest
    samples = newest.samples if newest else None
    for receiver, age_s in (
        sorted(samples.by("coincide_alerting_outbox_age_seconds", "receiver").items()) if samples else ()
    ):
        if age_s > UNTOLD_S:
            said = f"The receiver {receiver} has not taken an alert for {_about(age_s)}."
            yield Fault("people", said, "When a receiver was not told", "docs/how-to/be-told.md")
    dead = _grew(line, "alerting", "alerting_deliveries_total", outcome="dead")
    if dead:
        said = f"{counted(dead, 'alert')} could not be told in the last minutes, and were given up."
        yield Fault("people", said, "When a receiver was not told", "docs/how-to/be-told.md")


def _of_alert(alert: AlertAnswer, at: set[Station]) -> Fault | None:
    """Return the fault that a system alert tells; None where another fault tells its cause."""
    station, section = _FROM_ALERT.get(alert.source, ("gateways", "Alerts of the system"))
    if alert.source == "line_stalled" and at & {"ingest", "detections", "fusion"}:
        return None
    text = f": {alert.text[:300].strip().rstrip('.')}" if alert.text else ""
    return Fault(station, f"{alert.title}{text}.", section)


_LAWS: tuple[Callable[[LineReading], Iterator[Fault]], ...] = (
    _whole("ingest", "no detection is taken"),
    _dropped,
    _kafka,
    _whole("fusion", "no match is found meanwhile"),
    _stalled,
    _behind,
    _losses,
    _suspended,
    _whole("alerting", "nobody is told, and queries cannot be changed"),
    _untold,
    _whole("archive", "detections are kept on Kafka meanwhile, and archived later"),
    _whole("history", "no run over history is done"),
)
