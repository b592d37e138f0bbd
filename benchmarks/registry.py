"""Every benchmark, by name."""

from __future__ import annotations

from benchmarks.coalescing import batch, schemes, streaming, unit_costs
from benchmarks.console import viewers
from benchmarks.dataframes import contest as dataframes
from benchmarks.evidence import real_morning, said_and_true
from benchmarks.harness.declaration import Benchmark
from benchmarks.history import beside_live, rebuild, what_if
from benchmarks.joins import probability, streams, timing_join, window_join
from benchmarks.line import (
    alerts,
    first_match,
    fusion_core,
    growth,
    growth_delay,
    ingest,
    latency,
    list_pages,
    log_appends,
    reading_costs,
    serve_first_match,
    serve_load,
    small_pushes,
    stages,
    stored_matches,
    throughput,
)
from benchmarks.peers_line import contest
from benchmarks.places import distance_core, events_found, regions
from docs.studies import coalescing_costs, episodes, events, learning, pairs, timing_join_work, window_join_work, work

JOINS = (probability, said_and_true, real_morning, timing_join, streams, window_join, dataframes)
PLACES = (regions, events_found, distance_core)
COALESCING = (batch, streaming, unit_costs, schemes)
STUDIES = (pairs, events, episodes, learning, work, timing_join_work, window_join_work, coalescing_costs)
LINE = (
    fusion_core,
    growth,
    growth_delay,
    ingest,
    latency,
    list_pages,
    log_appends,
    reading_costs,
    serve_first_match,
    serve_load,
    small_pushes,
    stages,
    stored_matches,
    throughput,
    alerts,
    first_match,
    contest,
    viewers,
)
HISTORY = (what_if, beside_live, rebuild)
DECLARED: list[list[Benchmark]] = [
    module.BENCHMARKS for module in (*JOINS, *PLACES, *COALESCING, *STUDIES, *LINE, *HISTORY)
]
BENCHMARKS = {benchmark.name: benchmark for declared in DECLARED for benchmark in declared}
