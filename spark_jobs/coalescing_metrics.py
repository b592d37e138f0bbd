"""Metrics of how queries over readings are coalesced, from what the shards say of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client.core import GaugeMetricFamily, Metric

SCHEMES = ("eager", "lazy")


def coalescing_metrics(prefix: str, shards: list[dict[str, Any]]) -> Iterator[Metric]:
    """Yield how many shards coalesce each query by each scheme, and the most that a slide costs a shard by either."""
    chosen = GaugeMetricFamily(
        prefix + "coalescing_shards", "Shards that coalesce a query's readings so.", labels=["query", "scheme"]
    )
    cost = GaugeMetricFamily(
        prefix + "coalescing_slide_seconds",
        "What a slide would cost by each scheme, with the updates before it, by the cost model; of the dearest shard.",
        labels=["query", "scheme"],
    )
    for query, said in sorted(_by_query(shards).items()):
        for scheme in SCHEMES:
            chosen.add_metric([query, scheme], sum(each["scheme"] == scheme for each in said))
            costs = [spent for each in said if (spent := each[f"{scheme}_cost_s"]) is not None]
            if costs:
                cost.add_metric([query, scheme], max(costs))
    yield from (chosen, cost)


def _by_query(shards: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    said: dict[str, list[dict[str, Any]]] = {}
    for shard in shards:
        for query, status in shard.get("queries", {}).items():
            if "coalescing" in status:
                said.setdefault(query, []).append(status["coalescing"])
    return said
