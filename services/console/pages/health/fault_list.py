"""What is wrong now, out of one reading of the line: who is away, who says that it cannot work, and which alerts fire.

The console judges nothing: alerting does, and Prometheus. Nothing here is asked and nothing is drawn, so that every
case is a line of a table in the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from services.console.rest.component_readings import Increase
from services.console.rest.documents import AlertAnswer
from services.console.rest.line_watch import LineReading
from services.console.rest.services import Service

Station = Literal[
    "gateways", "ingest", "detections", "fusion", "results", "alerting", "people", "archive", "history", "forwarding"
]
#: From upstream to downstream; `detections` and `results` are the topics on Kafka before and behind fusion.
STATIONS: tuple[Station, ...] = (
    "gateways", "ingest", "detections", "fusion", "results", "alerting", "people", "archive", "history",
    "forwarding",
)  # fmt: skip

RECENT_S = 300.0

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


class HealthFault(NamedTuple):
    """Something that is wrong now: where, in one sentence, and the section of the docs about it."""

    station: Station
    sentence: str
    section: str
    page: str = PAGE


def faults_of(line: LineReading) -> list[HealthFault]:
    """Return everything that somebody says is wrong now, the most upstream first."""
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


def _whole(component: str, effect: str) -> Callable[[LineReading], Iterator[HealthFault]]:
    """Return the law of a component that is away, or says that it is not ready."""
    service: Service = component  # type: ignore[assignment]
    station: Station = component  # type: ignore[assignment]

    def law(line: LineReading) -> Iterator[HealthFault]:
        newest = line.of(service).newest
        if newest is None or newest.is_ready:
            return
        if newest.why_away is not None:
            yield HealthFault(station, f"{_begun(newest.why_away)}: {effect}.", _REPAIRS)
        elif newest.why_not_ready and kafka_is_up(line) is not False:
            yield HealthFault(station, f"{_begun(component)} is not ready: {newest.why_not_ready}.", _REPAIRS)

    return law


def _begun(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _kafka(line: LineReading) -> Iterator[HealthFault]:
    if kafka_is_up(line) is False:
        yield HealthFault("detections", "Kafka does not answer: nothing is handed on.", _REPAIRS)


def _of_alert(alert: AlertAnswer, at: set[Station]) -> HealthFault | None:
    """Return the fault that a system alert tells; None where another fault tells its cause."""
    station, section = _FROM_ALERT.get(alert.source, ("gateways", "Alerts of the system"))
    if alert.source == "line_stalled" and at & {"ingest", "detections", "fusion"}:
        return None
    text = f": {alert.text[:300].strip().rstrip('.')}" if alert.text else ""
    return HealthFault(station, f"{alert.title}{text}.", section)


_LAWS: tuple[Callable[[LineReading], Iterator[HealthFault]], ...] = (
    _whole("ingest", "no detection is taken"),
    _kafka,
    _whole("fusion", "no match is found meanwhile"),
    _whole("alerting", "nobody is told, no alert can be seen, and queries cannot be changed"),
    _whole("archive", "detections are kept on Kafka meanwhile, and archived later"),
    _whole("history", "no run over history is done"),
    _whole("forwarding", "nothing goes to the line above, and waits in the log"),
)
