"""The compacted topics of ingest, and those of keys and of the audit trail."""

import json
from collections.abc import Sequence
from functools import cache

import msgspec
from prometheus_client import CollectorRegistry

from coincide import Histogram
from coincide.wire.declarations.clock_record import ClockParticulars
from coincide.wire.declarations.sensor_record import Particulars
from coincide.wire.declarations.template_proposal import TemplateForm, TemplateProposal
from coincide.wire.last_change import LastChange
from coincide.wire.sensor_health import HealthRecord, SensorHealth, TemplateDrift
from services.alerting.alerts.sensor_conditions import SensorConditions
from services.alerting.records.registered_sensors import RegisteredSensors
from services.common.access.access_keys import KeyRing, new_key
from services.common.access.access_routes import ChangeBody, KeyBody
from services.common.access.audit import AuditedChange
from services.common.access.audit_topic import _change_in
from services.common.access.keys_topic import KeysView
from services.common.health_board import HealthFeed
from services.common.log.records import Record
from services.ingest.http.sensors_api import SensorFilters, SensorListing
from services.ingest.metrics import IngestMetrics
from services.ingest.registry.health_topic import HealthView
from services.ingest.registry.named_templates import NamedTemplate, NamedTemplates
from services.ingest.registry.registered_clocks import RegisteredClock, RegisteredClocks
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.sensors_topic import RegistryView
from services.ingest.registry.snapshot import Registry
from services.ingest.templates.proposals_api import _body
from services.ingest.templates.proposals_topic import _proposal
from tests.services.ingest.building import NOW_US, SENSORS, STREAMS
from trials.fuzz.contracts import examples
from trials.fuzz.target import BrokenLaw, Keyed, Target

CLOCK = Histogram.uniform(-2, 1)
KNOWN = [Record("t", 0, nth, 1, name.encode(), each.to_record()) for nth, (name, each) in enumerate(SENSORS.items())]
PLACED = Sensor(
    "hydrophone",
    "bay",
    {"acoustic": Histogram.point(), "seismic": CLOCK},
    Particulars(model="H-2", place={"lat": 47.5, "lon": -3.1}, labels={"owner": "harbour"}, expect_every_s=60.0),
    LastChange(3, NOW_US, "seed"),
    {"acoustic": "exact"},
)
GATEWAY = RegisteredClock("gateway", CLOCK, ClockParticulars(label="on the roof"), LastChange(3, NOW_US, "seed"))
DRIFT = TemplateDrift(CLOCK.id, 200, 0.5, 1e-9, [100, 60, 40])
HEALTH = HealthRecord(
    "bay",
    0,
    NOW_US,
    [
        SensorHealth("geo", "seismic", 0, NOW_US, 1.5, 0.7, DRIFT),
        SensorHealth("imb", "neutrino", 0, 1, None, 0.0, None),
    ],
)


@cache
def _metrics() -> IngestMetrics:
    return IngestMetrics(CollectorRegistry())


def _record(line: bytes) -> Record:
    return Record("t", 0, 7, 1, *Keyed.of(line))


def _sensors(line: bytes) -> None:
    given = _record(line)
    registry = Registry(STREAMS)
    view = RegistryView(registry, _metrics())
    view.replace([KNOWN])
    view.apply([given])
    known = RegisteredSensors()
    known.replace([KNOWN])
    known.apply([given])
    _watched(known, HealthFeed())
    _listed(registry)


def _watched(known: RegisteredSensors, heard: HealthFeed) -> None:
    """Look at all sensors, as alerting does."""
    conditions = SensorConditions(known, heard)
    heard.is_caught_up = True
    for at_s in (NOW_US / 1e6, NOW_US / 1e6 + 30, NOW_US / 1e6 + 90_000):
        conditions.note_listening(at_s)
        conditions.present([], at_s)


def _listed(registry: Registry) -> None:
    """Show every sensor, as ingest does."""
    listing = SensorListing(registry.snapshot, registry.health, NOW_US)
    for each in registry.snapshot.ids:
        listing.body(each).model_dump_json()
    "".join(listing.document(SensorFilters(silent_for_s=60, late_over=0.5, drifts=True), ())).encode()
    "".join(listing.document(SensorFilters(), registry.templates.values())).encode()


def _health(line: bytes) -> None:
    given = _record(line)
    registry = Registry(STREAMS)
    RegistryView(registry, _metrics()).replace([KNOWN])
    view = HealthView(registry, _metrics())
    view.replace([[Record("t", 0, 0, 1, HEALTH.key, HEALTH.to_record())]])
    view.apply([given])
    known, heard = RegisteredSensors(), HealthFeed()
    known.replace([KNOWN])
    heard.replace([[given]])
    _watched(known, heard)
    _listed(registry)


def _templates(line: bytes) -> None:
    templates = NamedTemplates()
    templates.replace([[Record("t", 0, 0, 1, b"clock", NamedTemplate("clock", CLOCK).to_record())]])
    templates.apply([_record(line)])
    for each in templates.values():
        NamedTemplate.from_record(each.name.encode(), each.to_record())


def _clocks(line: bytes) -> None:
    clocks = RegisteredClocks()
    clocks.replace([[Record("t", 0, 0, 1, b"gateway", GATEWAY.to_record())]])
    clocks.apply([_record(line)])
    for each in clocks.values():
        if RegisteredClock.from_record(each.name.encode(), each.to_record()) != each:
            raise BrokenLaw("another clock is read than was written")
        json.dumps(each.document)
        _ = each.clock


def _proposals(line: bytes) -> None:
    proposal = _proposal(_record(line))
    if proposal is not None:
        _body(proposal).model_dump_json()
        proposal.key.decode()


def _keys(line: bytes) -> None:
    ring = KeyRing()
    view = KeysView(ring, lambda: None)
    view.replace([[_key_record()]])
    view.apply([_record(line)])
    for key in ring:
        KeyBody(**key.shown()).model_dump_json()
        _ = key.posts


def _audit(line: bytes) -> None:
    change = _change_in(7, Keyed.of(line).value)
    if change is not None:
        ChangeBody.model_validate(msgspec.structs.asdict(change)).model_dump_json()


@cache
def _key_record() -> Record:
    key, _ = new_key(
        {"name": "gateway", "scopes": ["ingest", "read"], "areas": ["bay*"], "requests_per_s": 10.0}, "me", 5
    )
    return Record("t", 0, 0, 1, key.id.encode(), msgspec.json.encode(key))


def _line(key: bytes, value: bytes) -> bytes:
    return Keyed(key, value).line


def _sensor_seeds() -> Sequence[bytes]:
    return [_line(each.id.encode(), each.to_record()) for each in (PLACED, *SENSORS.values())]


def _health_seeds() -> Sequence[bytes]:
    return [
        _line(HEALTH.key, HEALTH.to_record()),
        *(_line(b"x", msgspec.json.encode(each)) for each in examples("sensor-health")),
    ]


def _template_seeds() -> Sequence[bytes]:
    named = [NamedTemplate("exact", Histogram.point()), NamedTemplate("clock", CLOCK, LastChange(3, NOW_US, "seed"))]
    return [_line(each.name.encode(), each.to_record()) for each in named]


def _clock_seeds() -> Sequence[bytes]:
    plain = RegisteredClock("radio", Histogram.normal(1, 8))
    return [_line(each.name.encode(), each.to_record()) for each in (GATEWAY, plain)]


def _proposal_seeds() -> Sequence[bytes]:
    form = TemplateForm(**CLOCK.to_json())
    made = TemplateProposal(
        id="p-1",
        sensor="geo",
        stream="seismic",
        template=form,
        errors=100,
        pool="own",
        wrong_share=0.1,
        proposed_at_us=5,
    )
    return [_line(made.key, made.to_record())]


def _audit_seeds() -> Sequence[bytes]:
    change = AuditedChange(
        at_us=5,
        component="ingest",
        key=None,
        name="anybody",
        address="::1",
        action="query.changed",
        subject="q",
        before={"a": [1]},
        after=None,
    )
    return [_line(b"q", msgspec.json.encode(change))]


LAW = "it is taken or passed over, what was known stays, and the lists can be read"
TARGETS = (
    Target("registry/sensors", LAW, _sensors, _sensor_seeds),
    Target("registry/templates", LAW, _templates, _template_seeds),
    Target("registry/clocks", LAW, _clocks, _clock_seeds),
    Target("registry/sensor health", LAW, _health, _health_seeds),
    Target("registry/proposals", LAW, _proposals, _proposal_seeds),
    Target("registry/keys", LAW, _keys, lambda: [_line(_key_record().key or b"", _key_record().value or b"")]),
    Target("registry/audit trail", LAW, _audit, _audit_seeds),
)
