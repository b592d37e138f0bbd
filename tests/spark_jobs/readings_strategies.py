"""What Hypothesis draws for the laws of queries over readings."""

from __future__ import annotations

from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from coincide import Histogram
from coincide.errors import QueryError
from coincide.queries import ReadingsQuery
from spark_jobs.records.kafka_records import InputRecord
from tests.spark_jobs.building import Row, frame, heartbeat, put, removal
from tests.spark_jobs.strategies import BURST_SECONDS, Pushes, split

TEMPLATES = [Histogram.point(), Histogram.point(), Histogram.uniform(-2, 1)]
VALUES: list[Any] = [99, 101, 101.0, 101.5, 103]
ODD: list[Any] = ["hot", "hot", True, 1, None]
REGIONS: list[Any] = ["west", "east", 7, 7.0, None]


@st.composite
def attributes(draw: st.DrawFn) -> tuple[tuple[str, Any], ...]:
    """Mostly a number and a region; now and then something else, or nothing."""
    rest = draw(st.integers(0, 19))
    celsius = draw(st.sampled_from(ODD if rest == 0 else VALUES))
    region = draw(st.sampled_from(REGIONS if rest < 4 else REGIONS[:2]))
    return () if rest == 1 else (("celsius", celsius), ("region", region))


def readings(start_s: float) -> st.SearchStrategy[Row]:
    return st.builds(
        Row,
        id=st.integers(0, 9999).map(str),
        at_s=st.integers(0, 2 * BURST_SECONDS).map(lambda halves: 1000 + start_s + halves / 2),
        template=st.sampled_from(TEMPLATES),
        stream=st.sampled_from("pppps"),
        sensor=st.sampled_from(["north", "south"]),
        attributes=attributes(),
    )


@st.composite
def reading_frames(draw: st.DrawFn) -> list[InputRecord]:
    """Frames of two areas, each in its own partition, later or back again, and heartbeats; the last far ahead."""
    made, start_s = [], 0
    count = draw(st.integers(2, 6))
    for offset in range(count):
        is_last = offset == count - 1
        start_s += draw(st.sampled_from([6, 60, 60, 60] if is_last else [-4, 3, 3, 6]))
        area, partition = draw(st.sampled_from([("bay", 0)] * 3 + ([] if is_last else [("hill", 3)])))
        if draw(st.integers(0, 3)) == 0:
            made.append(heartbeat(2 * offset, 1000 + start_s, partition))
        members = draw(st.lists(readings(start_s), min_size=1 if is_last else 3, max_size=8))
        made.append(frame(2 * offset + 1, members, area, partition, 1000 + start_s + draw(st.integers(0, 12))))
    beats = [heartbeat(2 * count + nth, 1000 + start_s + 20 * nth) for nth in range(draw(st.integers(0, 3)))]
    return made + beats


@st.composite
def readings_queries(draw: st.DrawFn, name: str = "hot") -> dict[str, Any]:
    """Queries of every kind; those that contradict themselves are drawn anew."""
    coalesce: dict[str, Any] = {
        "from": draw(st.sampled_from("pppps")),
        "by": draw(st.sampled_from(["sensor", "attributes.region", ["sensor", "attributes.region"], []])),
        "value": "attributes.celsius",
        "window": {"time_s": draw(st.sampled_from([4, 7.5, 15])), "slide_s": draw(st.sampled_from([2, 4, 7.5]))},
    }
    if draw(st.booleans()):
        coalesce["where"] = draw(
            st.sampled_from([{"above": 100}, {"at_least": 101, "below": 103}, {"above": 99, "at_most": 101}])
        )
    if draw(st.booleans()):
        coalesce["equivalence"] = draw(
            st.sampled_from(["equal", "any", "increasing", "decreasing", {"bounded": 1.5}, {"quantised": 2}])
        )
    if draw(st.booleans()):
        coalesce["hold_s"] = draw(st.sampled_from([0.5, 2, 20]))
    asked: dict[str, Any] = draw(
        st.sampled_from(
            [
                {"longest": True},
                {"lasting_s": 0.5},
                {"lasting_s": 3},
                {"join": {"lasting_s": 0.5}},
                {"join": {"within": 2, "lasting_s": 1}},
            ]
        )
    )
    query = {"id": name, "coalesce": coalesce, **asked}
    try:
        ReadingsQuery.from_json(query)
    except QueryError:  # a join of runs that have no one value
        assume(False)
    return query


@st.composite
def readings_controls(draw: st.DrawFn) -> list[InputRecord]:
    """Queries are created, changed, paused and removed."""
    made = [put(0, draw(readings_queries()))]
    for offset in range(1, draw(st.integers(1, 5))):
        name, version = draw(st.sampled_from(["hot", "cold"])), draw(st.integers(1, 6))
        if draw(st.integers(0, 4)) == 0:
            made.append(removal(offset, name, version))
        else:
            made.append(put(offset, draw(readings_queries(name)), version, paused=draw(st.integers(0, 3)) == 0))
    return made


@st.composite
def readings_runs(draw: st.DrawFn) -> Pushes:
    """Batches with readings and changes of queries among them."""
    count = draw(st.integers(1, 5))
    first, *changes = draw(readings_controls())
    frames, later = split(draw, draw(reading_frames()), count), split(draw, changes, count)
    return [[first], *(a + b for a, b in zip(later, frames, strict=True))]
