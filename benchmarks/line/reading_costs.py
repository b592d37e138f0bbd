"""Queries over readings in the fusion core: what a reading costs by windows and as spells, and how often each is told.

Every sensor reads a temperature each second; of nine minutes it is hot for three. `hold_s` is 30 s, `max_delay_s` 20 s,
and a push has the readings of so many seconds. Without a query the core only takes the readings in. The windows are of
two minutes, at every 10 s. No Spark, no Kafka.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from benchmarks.harness.declaration import Benchmark, Costs, Options, Table
from benchmarks.harness.frames import frame_json
from benchmarks.harness.rounds import Stopwatch, Work, seconds
from benchmarks.line.fusion_core import core_types
from coincide import Histogram, Stream

START_US = 1_700_000_000_000_000
STREAMS = {"temperature": Stream("temperature", max_delay_s=20)}
COALESCE = {"from": "temperature", "value": "attributes.celsius", "where": {"above": 40}, "hold_s": 30}
WAYS: dict[str, dict[str, Any] | None] = {
    "no query": None,
    "windows": {"coalesce": {**COALESCE, "window": {"time_s": 120, "slide_s": 10}}, "lasting_s": 60},
    "spells": {"coalesce": COALESCE, "lasting_s": 60},
}
PHASE_S = 180


class Size(NamedTuple):
    """How many sensors there are, for how long, and how many seconds a push has."""

    sensors: int
    seconds: int
    seconds_a_push: int


def frames(size: Size, record: Any) -> Iterator[list[Any]]:
    """Yield what is pushed at once."""
    stamps = [(f"sensor-{nth}", "temperature", Histogram.point()) for nth in range(size.sensors)]
    for begin in range(0, size.seconds, size.seconds_a_push):
        yield [record("detections", 0, at_s, b"bay", _frame(size, stamps, at_s)) for at_s in _range(size, begin)]


def _range(size: Size, begin: int) -> range:
    return range(begin, min(begin + size.seconds_a_push, size.seconds))


def _frame(size: Size, stamps: list[tuple[str, str, Histogram]], at_s: int) -> bytes:
    sensors = range(size.sensors)
    celsius = [45.5 if _is_hot(nth, at_s) else 20.5 for nth in sensors]
    columns = {
        "stamp": list(sensors),
        "detected_at_us": [START_US + at_s * 1_000_000 + nth for nth in sensors],
        "id": [f"h-{at_s}-{nth}" for nth in sensors],
        "attributes": [{"celsius": each} for each in celsius],
    }
    return frame_json("bay", START_US + (at_s + 1) * 1_000_000, stamps, columns)


def _is_hot(sensor: int, at_s: int) -> bool:
    return (at_s + 37 * sensor) // PHASE_S % 3 == 0


def _hot_times(size: Size) -> int:
    """Count them, those that had begun before among them."""
    begins = ((nth, at_s) for nth in range(size.sensors) for at_s in range(size.seconds) if _is_hot(nth, at_s))
    return sum(at_s == 0 or not _is_hot(nth, at_s - 1) for nth, at_s in begins)


def pushing(size: Size, query: dict[str, Any] | None) -> tuple[int, Work]:
    """Return how many readings there are, and work that pushes them; the answer is the records told, and episodes."""
    core_type, limits, record = core_types()

    def work(watch: Stopwatch) -> tuple[int, int]:
        core, told = core_type(STREAMS, limits(), shard=0), list[bytes]()
        if query is not None:
            change = {"v": 1, "id": "hot", "version": 1, "changed_at_us": 0, "query": {"id": "hot", **query}}
            core.push([record("queries", 0, 0, b"hot", msgspec.json.encode(change))])
        for batch in frames(size, record):
            with watch:
                told += [episode.value for episode in core.push(batch).episodes]
                core.header()
        return len(told), len({msgspec.json.decode(each)["id"] for each in told})

    return size.sensors * size.seconds, work


def told(options: Options) -> Iterator[Table]:
    """Yield how often a hot time of three minutes is told."""
    size = Size(20, 900 if options.quick else 3600, 10)
    hot_times, rows = _hot_times(size), []
    for way in ("windows", "spells"):
        _, (records, episodes) = seconds(pushing(size, WAYS[way])[1])
        rows.append([way, hot_times, episodes, f"{episodes / hot_times:.1f}", records])
    yield Table(("", "hot times", "episodes", "episodes a hot time", "records"), rows)


COSTS = Costs(
    item="a reading",
    ways=list(WAYS),
    sizes=[Size(20, 1800, 1), Size(200, 600, 1), Size(200, 600, 10), Size(1000, 120, 1)],
    quick=[Size(20, 60, 10)],
    works=lambda size: [pushing(size, query) for query in WAYS.values()],
)
BENCHMARKS = [Benchmark("readings", "a reading through the fusion core, by windows and as spells", [COSTS, told])]
