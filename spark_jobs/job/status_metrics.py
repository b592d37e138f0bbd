"""Metrics of what the cores count: absolute totals, from the latest record of each shard on the status topic."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

SCHEMES = ("eager", "lazy")


PREFIX = "coincide_fusion_"

TOTALS = {
    "frames": "Frames read.",
    "heartbeats": "Heartbeats read.",
    "detections": "Detections in them.",
    "accepted": "Detections taken into the buffers.",
    "late": "Detections that came too late to be joined.",
    "duplicates": "Detections seen before with the same content.",
    "conflicts": "Detections whose id was seen before with other content.",
    "malformed": "Frames and detections that cannot be used.",
    "evicted": "Detections evicted because the buffer was full.",
}


class StatusMetrics(Collector):
    """Sums the shards' totals whenever metrics are read; they fall back to nothing on a rebuild, as counters may.

    Parameters
    ----------
    clock_s
        Seconds since the epoch, for the watermarks' lag.
    """

    def __init__(self, clock_s: Callable[[], float] = time.time) -> None:
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._shards: dict[bytes, dict[str, Any]] = {}

    def take(self, key: bytes, value: bytes | None) -> None:
        """Take over one record of the status topic; one without a value retires its shard, no JSON is ignored."""
        if value is None:
            with self._lock:
                self._shards.pop(key, None)
            return
        try:
            status = json.loads(value)
        except ValueError:
            return
        if isinstance(status, dict):
            with self._lock:
                self._shards[key] = status

    def collect(self) -> Iterator[Metric]:
        """Yield every metric; called by the registry."""
        with self._lock:
            shards = list(self._shards.values())
        yield from _totals(shards)
        yield from _query_metrics(shards)
        yield from _coalescing_metrics(shards)
        yield _buffered(shards)
        yield from _template_pairs(shards)
        yield self._watermark_lag(shards)

    def _watermark_lag(self, shards: list[dict[str, Any]]) -> Metric:
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


def _totals(shards: list[dict[str, Any]]) -> Iterator[Metric]:
    for name, sentence in TOTALS.items():
        total = sum(shard.get("totals", {}).get(name, 0) for shard in shards)
        yield CounterMetricFamily(PREFIX + name, sentence, value=total)


def _query_metrics(shards: list[dict[str, Any]]) -> Iterator[Metric]:
    matches = CounterMetricFamily(PREFIX + "matches", "Matches written, by query.", labels=["query"])
    episodes = CounterMetricFamily(PREFIX + "episodes", "Records of episodes written, by query.", labels=["query"])
    version = GaugeMetricFamily(
        PREFIX + "query_version", "Version of the query that every shard has applied.", labels=["query"]
    )
    counted: Counter[str] = Counter()
    records: Counter[str] = Counter()
    applied: dict[str, int] = {}
    for shard in shards:
        for query, status in shard.get("queries", {}).items():
            counted[query] += status["matches"]
            records[query] += status.get("episodes", 0)
            applied[query] = min(status["version"], applied.get(query, status["version"]))
    for query in sorted(applied):
        matches.add_metric([query], counted[query])
        episodes.add_metric([query], records[query])
        version.add_metric([query], applied[query])
    yield from (matches, episodes, version)


def _buffered(shards: list[dict[str, Any]]) -> Metric:
    buffered = GaugeMetricFamily(
        PREFIX + "buffered_detections", "Detections kept for later partners, by stream.", labels=["stream"]
    )
    counted: Counter[str] = Counter()
    for shard in shards:
        counted.update(shard.get("buffered", {}))
    for stream, count in sorted(counted.items()):
        buffered.add_metric([stream], count)
    return buffered


def _template_pairs(shards: list[dict[str, Any]]) -> Iterator[Metric]:
    def total(name: str) -> int:
        return sum((shard.get("template_pairs") or {}).get(name, 0) for shard in shards)

    hits, misses = (
        "Template pairs that met and whose offsets were known.",
        "Template pairs that met and had to be worked out.",
    )
    yield CounterMetricFamily(PREFIX + "template_pair_hits", hits, value=total("hits"))
    yield CounterMetricFamily(PREFIX + "template_pair_misses", misses, value=total("misses"))
    kept = "Template pairs remembered, over all queries."
    yield GaugeMetricFamily(PREFIX + "template_pairs", kept, value=total("kept"))


def _coalescing_metrics(shards: list[dict[str, Any]]) -> Iterator[Metric]:
    """Yield how many shards coalesce each query by each scheme, and the most that a slide costs a shard by either."""
    chosen = GaugeMetricFamily(
        PREFIX + "coalescing_shards", "Shards that coalesce a query's readings so.", labels=["query", "scheme"]
    )
    cost = GaugeMetricFamily(
        PREFIX + "coalescing_slide_seconds",
        "What a slide would cost by each scheme, with the updates before it, by the cost model; of the dearest shard.",
        labels=["query", "scheme"],
    )
    for query, states in sorted(_coalescing_by_query(shards).items()):
        for scheme in SCHEMES:
            chosen.add_metric([query, scheme], sum(each["scheme"] == scheme for each in states))
            costs = [spent for each in states if (spent := each[f"{scheme}_cost_s"]) is not None]
            if costs:
                cost.add_metric([query, scheme], max(costs))
    yield from (chosen, cost)


def _coalescing_by_query(shards: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    states: dict[str, list[dict[str, Any]]] = {}
    for shard in shards:
        for query, status in shard.get("queries", {}).items():
            if "coalescing" in status:
                states.setdefault(query, []).append(status["coalescing"])
    return states
