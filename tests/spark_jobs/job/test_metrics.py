"""Metrics: batches, status totals, lag, and the server that shows them."""

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from prometheus_client import CollectorRegistry
from pyspark.sql.streaming.listener import QueryIdleEvent

from coincide.sliding.choice import TYPICAL
from services.common.access.component_access import ComponentAccess
from services.common.engine.core_metrics import StatusMetrics, export_unit_costs
from services.common.engine.fusion_settings import FusionSettings
from services.common.kafka.connection import KafkaConnection
from services.common.settings import SettingsError
from spark_jobs.job.batch_metrics import BatchListener, BatchMetrics, Lag, Offsets, _ProgressAsText
from spark_jobs.job.job_server import job_server
from spark_jobs.job.restarts import Liveliness

OPERATOR_COUNTS = ("numRowsUpdated", "numRowsRemoved", "allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs")
OPERATOR_MORE = ("numRowsDroppedByWatermark", "numShufflePartitions", "numStateStoreInstances")
RATES = {"inputRowsPerSecond": 100.0, "processedRowsPerSecond": 83.3}
OTHER_OFFSETS = dict.fromkeys(("startOffset", "latestOffset"))
OPERATOR = {
    "operatorName": "transformWithStateInPandasExec",
    **dict.fromkeys((*OPERATOR_COUNTS, *OPERATOR_MORE), 1),
    "numRowsTotal": 17,
    "memoryUsedBytes": 3785380,
    "customMetrics": {"rocksdbSstFileSize": 20784},
}
RUN = {"id": "6cf6846a-9154-48b9-b915-09ddf0f6fbda", "runId": "3ccbe2cd-6636-49c1-8fa6-ad24c740a60a"}
RUN["timestamp"] = "2026-01-01T00:00:00.000Z"
BATCH = {"batchId": 7, "batchDuration": 240, "numInputRows": 20, "durationMs": {"addBatch": 200}, **RATES}
PROGRESS = {
    **RUN,
    **BATCH,
    "name": "fusion",
    "eventTime": {},
    "stateOperators": [OPERATOR],
    "sources": [
        {"description": topic, "numInputRows": 20, **RATES, "metrics": {}, "endOffset": end, **OTHER_OFFSETS}
        for topic, end in [("detections", {"detections": {"0": 12, "1": 8}}), ("queries", None)]
    ],
    "sink": {"description": "kafka", "numOutputRows": 3, "metrics": {}},
    "observedMetrics": {},
}


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def liveliness() -> Liveliness:
    return Liveliness(60)


def test_a_batch_is_counted_and_is_a_sign_of_life(registry: CollectorRegistry, liveliness: Liveliness) -> None:
    processed: list[Offsets] = []
    listener = BatchListener(BatchMetrics(registry), liveliness, processed.append)
    _ProgressAsText(listener).onQueryProgress(Mock(json=lambda: json.dumps({"progress": PROGRESS})))
    assert liveliness.why_not_ready() is None
    assert processed == [{"detections": {"0": 12, "1": 8}}]
    expected = {"batches_total": 1, "input_records_total": 20, "batch_seconds_sum": 0.24, "state_rows": 17}
    expected |= {"state_bytes": 20784, "state_memory_bytes": 3785380}
    assert {name: registry.get_sample_value(f"coincide_fusion_{name}") for name in expected} == expected
    parts = {"addBatch": 0.2, "stateUpdates": 0.001}
    name = "coincide_fusion_batch_part_seconds_total"
    assert {part: registry.get_sample_value(name, {"part": part}) for part in parts} == parts


def test_what_is_told_late_of_a_run_that_was_ended_does_not_count(
    registry: CollectorRegistry, liveliness: Liveliness
) -> None:
    processed: list[Offsets] = []
    listener = BatchListener(BatchMetrics(registry), liveliness, processed.append)
    for told in (PROGRESS, {**PROGRESS, "runId": "97e2b3ba-97a5-4bf5-9d2a-7a1a4a3cf4f1"}):
        listener.ended(RUN["runId"])
        _ProgressAsText(listener).onQueryProgress(Mock(json=lambda told=told: json.dumps({"progress": told})))
    assert len(processed) == 1


def test_an_idle_query_is_ready(registry: CollectorRegistry, liveliness: Liveliness) -> None:
    listener = BatchListener(BatchMetrics(registry), liveliness, lambda offsets: None)
    listener.onQueryIdle(QueryIdleEvent.fromJson(RUN))
    assert liveliness.why_not_ready() is None


EXAMPLE, OF_READINGS = json.loads(Path("docs/contracts/status.schema.json").read_text(encoding="utf-8"))["examples"]
SUSPENDED = OF_READINGS["queries"]["hot"]["suspended"]["bay"]


def told(shard: int = 0, **fields: Any) -> bytes:
    """A status record; it has no queries but those that are given."""
    return json.dumps({**EXAMPLE, "shard": shard, "queries": {}, **fields}).encode()


def query_status(**fields: Any) -> dict[str, Any]:
    return {**EXAMPLE["queries"]["intruder"], **fields}


def status(shard: int, accepted: int, matches: int, version: int, watermark_us: int | None = None) -> bytes:
    counted = {"frames": 1, "detections": accepted + 1, "accepted": accepted, "late": 1, "matches": matches}
    record = {
        "queries": {"intruder": query_status(version=version, matches=matches)},
        "totals": {**EXAMPLE["totals"], **counted},
        "template_pairs": {"hits": 2 * accepted, "misses": accepted, "kept": shard},
        "watermark_us": {"least": watermark_us, "greatest": watermark_us},
        "area_watermarks_us": {} if watermark_us is None else {f"area-{shard}": watermark_us},
    }
    return told(shard, buffered={"seismic": accepted}, **record)


@pytest.fixture
def metrics(registry: CollectorRegistry) -> StatusMetrics:
    metrics = StatusMetrics(clock_s=lambda: 100.0)
    registry.register(metrics)
    return metrics


def test_totals_are_summed_over_shards(registry: CollectorRegistry, metrics: StatusMetrics) -> None:
    metrics.take(b"shard-0", status(0, accepted=5, matches=1, version=1))
    metrics.take(b"shard-0", status(0, accepted=10, matches=2, version=4, watermark_us=90_000_000))
    metrics.take(b"shard-1", status(1, accepted=7, matches=3, version=3, watermark_us=70_000_000))
    value = registry.get_sample_value
    assert value("coincide_fusion_accepted_total") == 17
    assert value("coincide_fusion_late_total") == 2
    assert value("coincide_fusion_evicted_total") == 0
    assert value("coincide_fusion_matches_total", {"query": "intruder"}) == 5
    assert value("coincide_fusion_query_version", {"query": "intruder"}) == 3  # what every shard has applied
    assert value("coincide_fusion_buffered_detections", {"stream": "seismic"}) == 17
    assert value("coincide_fusion_template_pair_hits_total") == 34
    assert value("coincide_fusion_template_pair_misses_total") == 17
    assert value("coincide_fusion_template_pairs") == 1
    assert value("coincide_fusion_watermark_lag_seconds", {"watermark": "least"}) == 30
    assert value("coincide_fusion_watermark_lag_seconds", {"watermark": "greatest"}) == 10
    lag = {area: value("coincide_fusion_area_watermark_lag_seconds", {"area": area}) for area in ("area-0", "area-1")}
    assert lag == {"area-0": 10, "area-1": 30}


def test_how_readings_are_coalesced_is_told_by_query(registry: CollectorRegistry, metrics: StatusMetrics) -> None:
    costs = [("eager", 0.001, 0.004), ("lazy", 0.003, 0.002), ("lazy", None, None)]
    for shard, (scheme, eager_s, lazy_s) in enumerate(costs):
        coalescing = {"scheme": scheme, "reason": "so", "eager_cost_s": eager_s, "lazy_cost_s": lazy_s}
        hot = query_status(version=1, episodes=2, coalescing=coalescing)
        metrics.take(f"shard-{shard}".encode(), told(shard, queries={"hot": hot}))
    value = registry.get_sample_value
    eager, lazy = ({"query": "hot", "scheme": scheme} for scheme in ("eager", "lazy"))
    assert value("coincide_fusion_episodes_total", {"query": "hot"}) == 6
    assert [value("coincide_fusion_coalescing_shards", each) for each in (eager, lazy)] == [1, 2]
    assert [value("coincide_fusion_coalescing_slide_seconds", each) for each in (eager, lazy)] == [0.003, 0.004]


def test_what_the_choice_goes_by_is_shown(registry: CollectorRegistry) -> None:
    export_unit_costs(replace(TYPICAL, merge=0.25), registry)
    assert registry.get_sample_value("coincide_fusion_coalescing_unit_seconds", {"operation": "merge"}) == 0.25


def test_what_queries_cost_is_summed(registry: CollectorRegistry, metrics: StatusMetrics) -> None:
    for shard in range(2):
        near = query_status(work={"seconds": 0.5, "candidates": 7})
        metrics.take(f"shard-{shard}".encode(), told(shard, queries={"near": near}))
    assert registry.get_sample_value("coincide_fusion_query_seconds_total", {"query": "near"}) == 1
    assert registry.get_sample_value("coincide_fusion_query_candidates_total", {"query": "near"}) == 14


def test_where_a_query_is_suspended_is_counted(registry: CollectorRegistry, metrics: StatusMetrics) -> None:
    for shard, areas in enumerate((["bay", ""], ["hill"], [])):
        near = query_status(suspended=dict.fromkeys(areas, SUSPENDED))
        metrics.take(f"shard-{shard}".encode(), told(shard, queries={"near": near}))
    assert registry.get_sample_value("coincide_fusion_query_suspensions", {"query": "near"}) == 3


def test_a_shard_that_is_no_more_does_not_count(registry: CollectorRegistry, metrics: StatusMetrics) -> None:
    metrics.take(b"shard-0", status(0, accepted=5, matches=1, version=4))
    metrics.take(b"shard-1", status(1, accepted=7, matches=3, version=2))
    metrics.take(b"shard-1", None)
    assert registry.get_sample_value("coincide_fusion_accepted_total") == 5
    assert registry.get_sample_value("coincide_fusion_query_version", {"query": "intruder"}) == 4


HUGE = 10**400
NO_STATUS = [
    b"",
    b"{",
    b"[]",
    b"\xff",
    b"[" * 20_000,
    told(queries="all"),
    told(queries={"a": {}}),
    told(totals=3),
    told(totals={**EXAMPLE["totals"], "accepted": HUGE}),
    told(area_watermarks_us={"bay": None}),
    told(area_watermarks_us=["bay"]),
    told(watermark_us={"least": HUGE, "greatest": None}),
    told(queries={"a": query_status(work={"seconds": 0.0, "candidates": HUGE})}),
]


@pytest.mark.parametrize("value", NO_STATUS)
def test_what_is_no_status_changes_nothing(registry: CollectorRegistry, metrics: StatusMetrics, value: bytes) -> None:
    metrics.take(b"shard-0", status(0, accepted=5, matches=1, version=1))
    metrics.take(b"nobody", value)
    assert registry.get_sample_value("coincide_fusion_accepted_total") == 5


LAG = "coincide_fusion_lag_records"
BEGINS = {("detections", 0): 5, ("detections", 1): 0, ("queries", 0): 0}
ENDS = {("detections", 0): 15, ("detections", 1): 8, ("queries", 0): 2}


@pytest.mark.parametrize(
    ("processed", "detections", "queries"),
    [
        ({"detections": {"0": 12, "1": 8}, "queries": {"0": 2}}, 3, 0),
        ({"detections": {"0": 12}}, 11, 2),
        ({}, 18, 2),
    ],
)
def test_lag_is_the_ends_less_what_was_processed(
    registry: CollectorRegistry, processed: Offsets, detections: int, queries: int
) -> None:
    lag = Lag(registry)
    lag.processed(processed)
    lag.measure(BEGINS, ENDS)
    assert registry.get_sample_value(LAG, {"topic": "detections"}) == detections
    assert registry.get_sample_value(LAG, {"topic": "queries"}) == queries


def test_what_the_last_batches_left_waits_as_well(registry: CollectorRegistry, metrics: StatusMetrics) -> None:
    for shard, left in enumerate(({"left": 4}, {}, {"left": 1})):
        metrics.take(f"shard-{shard}".encode(), told(shard, **left))
    lag = Lag(registry)
    lag.processed({"detections": {"0": 12, "1": 8}, "queries": {"0": 2}})
    lag.measure(BEGINS, ENDS, {"detections": metrics.left})
    assert registry.get_sample_value(LAG, {"topic": "detections"}) == 3 + 5
    assert registry.get_sample_value(LAG, {"topic": "queries"}) == 0


def test_lag_is_unknown_while_kafka_or_the_checkpoint_does_not_tell(registry: CollectorRegistry) -> None:
    lag = Lag(registry)
    value, up = registry.get_sample_value, "coincide_fusion_kafka_up"
    lag.measure(BEGINS, ENDS)
    assert (value(LAG, {"topic": "detections"}), value(up)) == (None, 1)
    lag.processed({"detections": {"0": 15, "1": 8}})
    lag.measure(BEGINS, ENDS)
    lag.lose(kafka_is_away=True)
    assert (value(LAG, {"topic": "detections"}), value(up), lag.kafka_is_away) == (None, 0, True)
    lag.lose(kafka_is_away=False)  # it answers, and lacks a topic
    assert (value(LAG, {"topic": "detections"}), value(up), lag.kafka_is_away) == (None, 1, False)
    lag.measure(BEGINS, ENDS)
    assert (value(LAG, {"topic": "detections"}), value(up)) == (0, 1)


def test_a_source_without_new_offsets_keeps_what_it_had_processed(registry: CollectorRegistry) -> None:
    lag = Lag(registry)
    lag.processed({"detections": {"0": 15, "1": 8}, "queries": {"0": 2}})
    lag.processed({"detections": {"0": 15, "1": 8}})
    lag.measure(BEGINS, ENDS)
    assert registry.get_sample_value(LAG, {"topic": "queries"}) == 0


@pytest.fixture(params=["127.0.0.1", "::1"])
def url(registry: CollectorRegistry, liveliness: Liveliness, request: pytest.FixtureRequest) -> Iterator[str]:
    settings = FusionSettings(host=request.param, port=0, kafka=KafkaConnection(servers="127.0.0.1:1"))
    access = ComponentAccess("fusion", settings, registry)
    server = job_server(settings, access, registry, liveliness.why_not_ready)
    server.start()
    host = f"[{request.param}]" if ":" in request.param else request.param
    yield f"http://{host}:{server.port}"
    server.stop()


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_server_tells_life_readiness_and_metrics(
    url: str, liveliness: Liveliness, registry: CollectorRegistry
) -> None:
    BatchMetrics(registry)
    assert get(f"{url}/livez") == (200, '{"status":"alive"}')
    status, said = get(f"{url}/readyz")
    assert (status, json.loads(said)["detail"]) == (503, "the query has not been started yet")
    assert "coincide_ready 0.0" in get(f"{url}/metrics")[1]
    liveliness.saw()
    assert get(f"{url}/readyz?verbose") == (200, '{"status":"ready"}')
    assert "coincide_ready 1.0" in get(f"{url}/metrics")[1]
    assert "coincide_fusion_batches_total 0.0" in get(f"{url}/metrics")[1]
    assert get(f"{url}/other")[0] == 404


def test_a_port_in_use_is_one_sentence(registry: CollectorRegistry) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = f"port {port} of 127.0.0.1 cannot be served on: Address already in use"
        settings = FusionSettings(port=port)
        with pytest.raises(SettingsError, match=said):
            job_server(settings, ComponentAccess("fusion", settings, registry), registry, lambda: None)
