"""GET /v1/sensors with what fusion hears of each: filters, pages, metrics of drift, and the file that it exports."""

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from coincide import Histogram, Stream
from coincide.wire.declarations.sensor_record import Particulars
from coincide.wire.sensor_health import HealthRecord, SensorHealth, TemplateDrift
from services.common.access.audit import AuditTrail
from services.common.log.records import Record
from services.ingest.app import create_app
from services.ingest.http import sensors_api
from services.ingest.metrics import IngestMetrics
from services.ingest.registry.health_topic import MOST_AREAS, HealthView
from services.ingest.registry.seed import Difference
from services.ingest.registry.sensors import Sensor
from services.ingest.registry.sensors_file import load_sensors, sensors_document
from services.ingest.registry.snapshot import Registry
from services.ingest.settings import IngestSettings
from tests.services.ingest.building import CLOCK, NOW_US, SENSORS, STREAMS, KeepingPublisher, registry_of
from tests.services.kept_records import KeptRecords

MINUTE_US = 60_000_000
DRIFT = TemplateDrift("t-00000000000000aa", 150, 0.25, 1e-6, [30, *[6] * 19])


def read(key: bytes | None, value: bytes | None) -> Record:
    """Return it as a reader gives it."""
    return Record("reef.sensor-health", 0, 0, 0, key, value)


def told(area: str, *sensors: SensorHealth, part: int = 0) -> Record:
    record = HealthRecord(area, part, NOW_US, list(sensors))
    return read(record.key, record.to_record())


def heard(sensor: str, stream: str, seen_us: int, drift: TemplateDrift | None = None) -> SensorHealth:
    return SensorHealth(sensor, stream, seen_us - MINUTE_US, seen_us, 0.5, 0.125, drift)


class Shown:
    """An application whose registry and health a test fills."""

    def __init__(self, registry: Registry, *records: Record) -> None:
        self.now_s = 0.0
        self.metrics = IngestMetrics(CollectorRegistry())
        self.view = HealthView(registry, self.metrics, lambda: self.now_s)
        self.view.replace([list(records)])
        parts = (IngestSettings(), registry, KeepingPublisher(), self.metrics)
        self.client = TestClient(create_app(*parts, audit=AuditTrail("ingest", KeptRecords()), clock_us=lambda: NOW_US))

    def ids(self, **filters: Any) -> list[str]:
        page = self.client.get("/v1/sensors", params=filters).json()
        return [each["id"] for each in page["items"]]

    def drift_of(self, area: str) -> float | None:
        return self.metrics.registry.get_sample_value("coincide_ingest_template_drift", {"area": area})


@pytest.fixture
def shown() -> Shown:
    modelled = Sensor("geo-2", "bay", {"seismic": CLOCK}, Particulars(model="G-5", labels={"site": "north"}))
    bay = told(
        "bay",
        heard("geo", "seismic", NOW_US - 2 * MINUTE_US, DRIFT),
        heard("both", "seismic", NOW_US),
        heard("both", "acoustic", NOW_US - 10 * MINUTE_US),
    )
    return Shown(registry_of({**SENSORS, "geo-2": modelled}), bay)


def test_a_sensor_is_shown_with_what_was_heard_of_it(shown: Shown) -> None:
    body = shown.client.get("/v1/sensors/geo").json()
    drift = {"template": DRIFT.template, "errors": 150, "distance": 0.25, "p_value": 1e-6, "levels": DRIFT.levels}
    drift |= {"spread": 1.0, "spread_p_value": 1.0}
    shares = {"late_share": 0.125, "echo_share": 0.0}
    seen = {"last_seen_us": NOW_US - 2 * MINUTE_US, "rate_hz": 0.5, **shares, "drift": drift}
    assert body["health"] == {"seismic": seen}
    assert (body["model"], body["place"], body["labels"]) == (None, None, {})
    assert shown.client.get("/v1/sensors/imb").json()["health"] == {}
    particular = shown.client.get("/v1/sensors/geo-2").json()
    assert (particular["model"], particular["labels"]) == ("G-5", {"site": "north"})


@pytest.mark.parametrize(
    ("filters", "passing"),
    [
        ({"area": "sn1987a"}, ["imb"]),
        ({"stream": "acoustic"}, ["both"]),
        ({"model": "G-5"}, ["geo-2"]),
        ({"area": "bay", "silent_for_s": 0}, ["both", "geo", "geo-2", "strange", "vague"]),
        ({"silent_for_s": 119, "stream": "seismic"}, ["geo", "geo-2", "vague"]),
        ({"silent_for_s": 121, "stream": "seismic", "area": "bay"}, ["geo-2", "vague"]),
        ({"silent_for_s": 599}, ["both", "geo-2", "imb", "strange", "vague"]),
        ({"label": "site:north"}, ["geo-2"]),
        ({"label": "site:south"}, []),
        ({"label": "side:north"}, []),
        ({"label": "side:None"}, []),
        ({"late_over": 0.12}, ["both", "geo"]),
        ({"late_over": 0.125}, []),
        ({"drifts": True}, ["geo"]),
        ({"drifts": False, "area": "bay"}, ["both", "geo-2", "strange", "vague"]),
        ({"late_over": 0.12, "silent_for_s": 599}, ["both"]),
        ({"drifts": True, "stream": "acoustic"}, []),
        ({"area": "nowhere"}, []),
    ],
)
def test_filters(shown: Shown, filters: dict[str, Any], passing: list[str]) -> None:
    assert shown.ids(**filters) == passing


@pytest.mark.parametrize("filters", [{"label": "site"}, {"label": ":north"}, {"late_over": 2}, {"drifts": "perhaps"}])
def test_what_is_no_filter_is_refused(shown: Shown, filters: dict[str, Any]) -> None:
    assert shown.client.get("/v1/sensors", params=filters).status_code == 422


def test_pages_with_a_filter_have_neither_gap_nor_double(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensors_api, "MOST_LOOKED_AT", 2)
    seen, filters = [], {"area": "bay", "limit": "2"}
    page = shown.client.get("/v1/sensors", params=filters).json()
    while True:
        seen += [each["id"] for each in page["items"]]
        if page["next_cursor"] is None:
            break
        page = shown.client.get("/v1/sensors", params={**filters, "cursor": page["next_cursor"]}).json()
    assert seen == ["both", "geo", "geo-2", "strange", "vague"]
    cursor = shown.client.get("/v1/sensors", params=filters).json()["next_cursor"]
    assert shown.client.get("/v1/sensors", params={"area": "hill", "cursor": cursor}).status_code == 422


def test_drift_is_measured_by_area_now_and_then_and_only_the_worst(shown: Shown) -> None:
    assert shown.drift_of("bay") == 0.25
    assert shown.metrics.registry.get_sample_value("coincide_ingest_drifting_templates") == 1
    shown.view.apply([told("bay", heard("geo", "seismic", NOW_US))])
    assert shown.drift_of("bay") == 0.25
    shown.now_s = 10.0
    shown.view.apply([])
    assert shown.drift_of("bay") is None
    drifts = [TemplateDrift(DRIFT.template, 100, nth / 1000, 0.5, DRIFT.levels) for nth in range(MOST_AREAS + 5)]
    few = TemplateDrift(DRIFT.template, 99, 1.0, 0.0, DRIFT.levels)
    areas = [told(f"area-{nth}", heard(f"s-{nth}", "seismic", NOW_US, each)) for nth, each in enumerate(drifts)]
    shown.now_s = 20.0
    shown.view.apply([*areas, told("few", heard("f", "seismic", NOW_US, few))])
    assert [shown.drift_of(f"area-{nth}") is None for nth in (4, 5, MOST_AREAS + 4)] == [True, False, False]
    assert shown.drift_of("few") is None


def test_a_sensor_that_moved_is_known_where_it_was_seen_last_and_unusable_records_change_nothing(shown: Shown) -> None:
    shown.view.apply([read(b"x", b"no record"), told("hill", heard("geo", "seismic", NOW_US - MINUTE_US))])
    shown.view.apply([told("bay", heard("geo", "seismic", NOW_US - 2 * MINUTE_US))])
    assert shown.ids(stream="seismic", silent_for_s=90, area="bay") == ["both", "geo-2", "vague"]
    shown.view.apply([read(told("hill").key, None)])
    assert "geo" in shown.ids(stream="seismic", silent_for_s=90, area="bay")


SEEN = st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"], exclude_characters="/")
NAMES = st.text(SEEN, min_size=1, max_size=20).filter(lambda name: name == name.strip() and name not in {".", ".."})
STREAM_NAMES = st.from_regex("[a-z][a-z0-9._-]{0,9}", fullmatch=True)


@st.composite
def histograms(draw: st.DrawFn) -> Histogram:
    lengths = draw(st.lists(st.floats(1e-6, 3), min_size=1, max_size=4))
    mass = draw(st.lists(st.integers(1, 10**6), min_size=len(lengths), max_size=len(lengths)))
    start_s, edges_s = draw(st.floats(-9, 9)), [0.0]
    for length in lengths:
        edges_s.append(edges_s[-1] + length)
    return Histogram([start_s + edge for edge in edges_s], [each / sum(mass) for each in mass])


heights = {"height_m": st.floats(-12_000, 100_000, allow_subnormal=False)}
places = st.fixed_dictionaries({"lat": st.floats(-90, 90), "lon": st.floats(0.5, 180)}, optional=heights)
particulars = st.builds(
    Particulars,
    model=st.none() | NAMES,
    place=st.none() | places,
    labels=st.dictionaries(NAMES, NAMES, max_size=3),
    expect_every_s=st.none() | st.floats(0.001, 1e6),
)
sensors = st.builds(
    Sensor,
    NAMES,
    NAMES,
    st.dictionaries(STREAM_NAMES, histograms(), min_size=1, max_size=2).map(MappingProxyType),
    particulars,
)


@given(st.lists(sensors, max_size=4, unique_by=lambda each: each.id))
def test_the_exported_file_declares_the_very_same_sensors(tmp_path_factory: Any, declared: list[Sensor]) -> None:
    path: Path = tmp_path_factory.mktemp("exported") / "sensors.yaml"
    path.write_text("".join(sensors_document(lambda: declared)), encoding="utf-8")
    streams = {name: Stream(name, longest_template_s=1000) for sensor in declared for name in sensor.streams}
    assert load_sensors(path, streams) == {each.id: each for each in declared}
    assert all(Sensor.from_record(each.to_record()) == each for each in declared)


def test_what_is_exported_can_be_seeded_again_and_changes_nothing(shown: Shown, tmp_path: Path) -> None:
    response = shown.client.get("/v1/sensors", params={"format": "yaml", "area": "bay", "stream": "seismic"})
    assert response.headers["content-type"].startswith("application/yaml")
    path = tmp_path / "sensors.yaml"
    path.write_text(response.text, encoding="utf-8")
    declared = load_sensors(path, {**STREAMS, "seismic": Stream("seismic", longest_template_s=300)})
    present = {name: SENSORS[name] for name in ("both", "geo", "vague")}
    assert Difference.between({**present, "geo-2": declared["geo-2"]}, declared) == Difference([], [], [], [])
    assert declared["geo-2"].particulars.labels == {"site": "north"}
