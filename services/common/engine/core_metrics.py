"""Metrics of what the cores count: absolute totals, from the latest record of each shard on the status topic."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from coincide.sliding.choice import SlidingCosts
from coincide.wire.status_record import StatusRecord

PREFIX = "coincide_fusion_"
SCHEMES = ("eager", "lazy")

TOTALS = {
    "frames": "Frames read.",
    "heartbeats": "Heartbeats read.",
    "detections": "Detections in them.",
    "accepted": "Detections taken into the buffers.",
    "late": "Detections that came too late to be joined.",
    "duplicates": "Detections seen before with the same content.",
    "conflicts": "Detections whose id was seen before with other content.",
    "malformed": "Frames and detections that cannot be used.",
    "no_number": "Values of accepted detections that are no number, where a query needs one.",
    "no_place": "Accepted detections whose sensor's place is not known, where a query needs it.",
    "evicted": "Detections evicted because the buffer was full.",
    "echoes": "Accepted detections that were not joined: echoes of a stream that has echo_s.",
}

Family = type[CounterMetricFamily] | type[GaugeMetricFamily]
Statuses = list[dict[str, Any]]

BY_QUERY: list[tuple[Family, str, str, Callable[[Statuses], float]]] = [
    (CounterMetricFamily, "matches", "Matches written, by query.", lambda of: sum(each["matches"] for each in of)),
    (
        CounterMetricFamily,
        "episodes",
        "Records of episodes written, by query.",
        lambda of: sum(each.get("episodes", 0) for each in of),
    ),
    (
        CounterMetricFamily,
        "query_seconds",
        "Time that the search and the judgement of a query's matches, or its windows, have taken, by query.",
        lambda of: sum((each.get("work") or {}).get("seconds", 0) for each in of),
    ),
    (
        CounterMetricFamily,
        "query_candidates",
        "Candidates that searches have looked at, by query; of a query of two roles these are its matches.",
        lambda of: sum((each.get("work") or {}).get("candidates", 0) for each in of),
    ),
    (
        GaugeMetricFamily,
        "query_version",
        "Version of the query that every shard has applied.",
        lambda of: min(each["version"] for each in of),
    ),
    (
        GaugeMetricFamily,
        "query_suspensions",
        "Areas in which the query is suspended, over all shards; everywhere counts as one.",
        lambda of: sum(len(each.get("suspended", ())) for each in of),
    ),
]

TEMPLATE_PAIRS: list[tuple[Family, str, str, str]] = [
    (CounterMetricFamily, "template_pair_hits", "Template pairs that met and whose offsets were known.", "hits"),
    (CounterMetricFamily, "template_pair_misses", "Template pairs that met and had to be worked out.", "misses"),
    (GaugeMetricFamily, "template_pairs", "Template pairs remembered, over all queries.", "kept"),
]


_decode = msgspec.json.Decoder(StatusRecord).decode


class StatusMetrics(Collector):
    """Sums the shards' totals whenever metrics are read; they fall back to nothing on a rebuild, as counters may."""

    def __init__(self, clock_s: Callable[[], float] = time.time) -> None:
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._shards: dict[bytes, dict[str, Any]] = {}

    def take(self, key: bytes, value: bytes | None) -> None:
        """Take over one record of the status topic; one without a value retires its shard, no status is ignored."""
        if value is None:
            with self._lock:
                self._shards.pop(key, None)
            return
        try:
            _decode(value)
            status = json.loads(value)
        except (ValueError, RecursionError):
            return
        with self._lock:
            self._shards[key] = status

    @property
    def left(self) -> int:
        """How many records of detections the shards' last batches left to the next ones."""
        with self._lock:
            return sum(int(shard.get("left") or 0) for shard in self._shards.values())

    def collect(self) -> Iterator[Metric]:
        """Yield every metric; called by the registry."""
        with self._lock:
            shards = list(self._shards.values())
        by_query: dict[str, Statuses] = {}
        for shard in shards:
            for query, status in shard.get("queries", {}).items():
                by_query.setdefault(query, []).append(status)
        for name, sentence in TOTALS.items():
            yield CounterMetricFamily(PREFIX + name, sentence, value=_sum(shards, "totals", name))
        for family, name, sentence, value_of in BY_QUERY:
            metric = family(PREFIX + name, sentence, labels=["query"])
            for query, statuses in sorted(by_query.items()):
                metric.add_metric([query], value_of(statuses))
            yield metric
        yield from _coalescing_metrics(by_query)
        yield _buffered(shards)
        for family, name, sentence, counted in TEMPLATE_PAIRS:
            yield family(PREFIX + name, sentence, value=_sum(shards, "template_pairs", counted))
        yield self._watermark_lag(shards)
        yield self._area_watermark_lag(shards)

    def _watermark_lag(self, shards: Statuses) -> Metric:
        lag = GaugeMetricFamily(
            PREFIX + "watermark_lag_seconds",
            "How far the areas' watermarks are behind now: the least and the greatest watermark.",
            labels=["watermark"],
        )
        for name, pick in (("least", min), ("greatest", max)):
            marks = [mark for shard in shards if (mark := (shard.get("watermark_us") or {}).get(name)) is not None]
            if marks:
                lag.add_metric([name], self._clock_s() - pick(marks) / 1e6)
        return lag

    def _area_watermark_lag(self, shards: Statuses) -> Metric:
        sentence = "How far an area's watermark is behind now, of the areas from which frames came last."
        lag = GaugeMetricFamily(PREFIX + "area_watermark_lag_seconds", sentence, labels=["area"])
        for shard in shards:  # an area is in one of them
            for area, mark_us in (shard.get("area_watermarks_us") or {}).items():
                lag.add_metric([area], self._clock_s() - mark_us / 1e6)
        return lag


def export_unit_costs(costs: SlidingCosts, registry: CollectorRegistry) -> None:
    """Show what the job goes by when it chooses between eager and lazy."""
    sentence = "CPU time of one operation of coalescing, measured as the job started; the choice of schemes goes by it."
    gauge = Gauge(PREFIX + "coalescing_unit_seconds", sentence, ["operation"], registry=registry)
    for operation, seconds in asdict(costs).items():
        gauge.labels(operation=operation).set(seconds)


def _sum(shards: Statuses, part: str, name: str) -> float:
    return float(sum((shard.get(part) or {}).get(name, 0) for shard in shards))


def _buffered(shards: Statuses) -> Metric:
    sentence = "Detections kept for later partners, by stream."
    buffered = GaugeMetricFamily(PREFIX + "buffered_detections", sentence, labels=["stream"])
    counted: Counter[str] = Counter()
    for shard in shards:
        counted.update(shard.get("buffered", {}))
    for stream, count in sorted(counted.items()):
        buffered.add_metric([stream], count)
    return buffered


def _coalescing_metrics(by_query: dict[str, Statuses]) -> Iterator[Metric]:
    """Yield how many shards coalesce each query by each scheme, and the most that a slide costs a shard by either."""
    labels, sentence = ["query", "scheme"], "Shards that coalesce a query's readings so."
    chosen = GaugeMetricFamily(PREFIX + "coalescing_shards", sentence, labels=labels)
    cost = GaugeMetricFamily(
        PREFIX + "coalescing_slide_seconds",
        "The cost of a slide by each scheme, with the updates before it, by the cost model; of the dearest shard.",
        labels=labels,
    )
    for query, statuses in sorted(by_query.items()):
        states = [each["coalescing"] for each in statuses if "coalescing" in each]
        for scheme in SCHEMES if states else ():
            chosen.add_metric([query, scheme], sum(each["scheme"] == scheme for each in states))
            costs = [spent for each in states if (spent := each[f"{scheme}_cost_s"]) is not None]
            if costs:
                cost.add_metric([query, scheme], max(costs))
    yield from (chosen, cost)
