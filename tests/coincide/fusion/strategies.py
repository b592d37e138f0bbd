"""What Hypothesis draws for the laws of the fusion core: rows, readings, queries, and how they come in batches."""

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from coincide import Histogram, Stream
from coincide.errors import QueryError
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord
from coincide.queries import Query, ReadingsQuery
from tests.coincide.fusion.inputs import (
    STREAMS,
    Row,
    declaration,
    edge,
    frame,
    heartbeat,
    put,
    query_json,
    removal,
    stream_removal,
)

THREE_STREAMS = {**STREAMS, "t": Stream("t", max_delay_s=0, longest_template_s=8)}

# drop at every push, a few rows a slot, merge as soon as two slots have less than three rows
SWEEPING = Limits(sweep_after=1, max_slot_bytes=1_000, merge_slots_from=2)
TEMPLATES = [
    Histogram.point(),
    Histogram.uniform(-2, 1),
    Histogram(edges_s=[-4, -3, 1, 2], mass=[0.5, 0, 0.5]),
    Histogram.uniform(-7, 0.5),
]
THRESHOLDS = [0.07, 0.31, 0.53, 0.83, 1.0]  # no probability of these templates comes near the first four by chance
WINDOWS: list[Any] = [0.0, 0.7, 3.0, (-1.0, 2.5), (0.5, 6.0)]
OBJECTS = [(), (("object", 1),), (("object", 1),), (("object", "1"),)]
LONG_SECONDS = 120  # several times every delay: late ones and dropped ones are common
SHORT_SECONDS = 9  # less than every delay: nobody is late
BURST_SECONDS = 6  # several detections that may all belong together

Draw = Callable[..., Any]  # `st.DrawFn` or `st.DataObject.draw`
Pushes = list[list[InputRecord]]


def rows(seconds: int, streams: str = "ps", start_s: float = 0) -> st.SearchStrategy[Row]:
    return st.builds(
        Row,
        id=st.sampled_from("abcdefgh"),
        at_s=st.integers(0, seconds * 10).map(lambda tenths: 1000 + start_s + tenths / 10),
        template=st.sampled_from(TEMPLATES),
        stream=st.sampled_from(streams),
        sensor=st.sampled_from(["north", "south", "east"]),
        attributes=st.sampled_from(OBJECTS) if len(streams) > 2 else st.just(()),
    )


queries = st.builds(
    query_json,
    window_s=st.sampled_from(WINDOWS),
    threshold=st.sampled_from(THRESHOLDS),
    streams=st.sampled_from([("p", "s"), ("s", "p"), ("p", "p")]),
    sensors=st.sampled_from(["any", "different", "same"]),
    name=st.sampled_from(["near", "far"]),
)


@st.composite
def frames_in_order(draw: st.DrawFn, seconds: int = LONG_SECONDS) -> list[InputRecord]:
    """Frames of two areas, each area in its own partition."""
    made = []
    for offset in range(draw(st.integers(1, 8))):
        area, partition = draw(st.sampled_from([("bay", 0), ("hill", 3)]))
        members = draw(st.lists(rows(seconds), min_size=1, max_size=6))
        received_at_s = 1000 + draw(st.integers(0, seconds))
        made.append(frame(offset, members, area, partition, received_at_s))
    return made


@st.composite
def stream_changes(draw: st.DrawFn, offset: int = 0, names: str = "ps") -> InputRecord:
    """A stream with a longer or a shorter delay, that takes shorter templates only, or that is removed."""
    name, version = draw(st.sampled_from(names)), draw(st.integers(1, 9))
    if draw(st.integers(0, 4)) == 0:
        return stream_removal(offset, name, version)
    return declaration(
        offset, name, draw(st.sampled_from([0, 5, 10, 20, 40, 90])), draw(st.sampled_from([8, 8, 4, 20])), version
    )


@st.composite
def controls(draw: st.DrawFn) -> list[InputRecord]:
    """Changes of queries: created, changed, paused, resumed, removed, replayed; and of their streams."""
    made = []
    for offset in range(draw(st.integers(0, 6))):
        version = draw(st.integers(1, 6))
        if draw(st.integers(0, 2)) == 0:
            made.append(draw(stream_changes(offset)))
        elif draw(st.integers(0, 4)) == 0:
            made.append(removal(offset, draw(st.sampled_from(["near", "far"])), version))
        else:
            made.append(put(offset, draw(queries), version, paused=draw(st.booleans())))
    return made


def split(draw: Draw, records: Sequence[InputRecord], pushes: int) -> Pushes:
    """Cut records into consecutive batches, each in any order."""
    cuts = sorted(draw(st.lists(st.integers(0, len(records)), min_size=pushes - 1, max_size=pushes - 1)))
    edges = [0, *cuts, len(records)]
    return [draw(st.permutations(list(records[a:b]))) for a, b in pairwise(edges)]


def together(draw: Draw, frames: Sequence[InputRecord], changes: Sequence[InputRecord]) -> Pushes:
    """Batches with frames and changes of queries among them."""
    count = draw(st.integers(1, 5))
    return [a + b for a, b in zip(split(draw, changes, count), split(draw, frames, count), strict=True)]


@st.composite
def runs(draw: st.DrawFn) -> Pushes:
    return together(draw, draw(frames_in_order()), draw(controls()))


role_filters = st.fixed_dictionaries(
    {},
    optional={
        "sensors": st.sampled_from([["no*"], ["?ou*", "east"], ["north"]]),
        "areas": st.sampled_from([["b?y"], ["*"]]),
        "where": st.sampled_from(
            [{"attributes.object": each} for each in ({"is": 1}, {"in": [1, "1"]}, {"above": 0.5}, {"below": 1})]
        ),
    },
)


@st.composite
def wide_queries(draw: st.DrawFn, name: str = "near") -> dict[str, Any]:
    """Queries of three or four roles of any form, every edge written out."""
    roles = "abcd"[: draw(st.integers(3, 4))]
    streams = draw(st.sampled_from(["psts", "ppps", "pptt", "spsp", "tttt"]))
    played = [draw(st.sampled_from([stream, stream, {"stream": stream, **draw(role_filters)}])) for stream in streams]
    query: dict[str, Any] = {"id": name, "from": dict(zip(roles, played, strict=False))}
    if draw(st.integers(0, 5)) == 0:
        query["areas"] = ["h*ll", "nowhere"]
    query["sensors"] = draw(st.sampled_from(["any", "any", "any", "different", "same"]))
    query["within"] = draw(_edges(roles))
    if draw(st.booleans()):
        query["joint_threshold"] = draw(st.sampled_from([0.013, 0.07, 0.31]))
    if draw(st.booleans()):
        query["equal"] = "attributes.object"
    if (len(query["within"]) > len(roles) and draw(st.booleans())) or draw(st.booleans()):
        query["at_least"] = draw(st.just(2) | _partly_required(roles))
    try:
        return Query.from_json(query).to_json()
    except QueryError:  # windows that contradict each other, at_least in a path, roles that are left unconnected
        assume(False)
        raise


@st.composite
def _partly_required(draw: st.DrawFn, roles: str) -> dict[str, Any]:
    """The first role, at least, is required; in most graphs every other one has an edge to it."""
    of = sorted(draw(st.sets(st.sampled_from(roles[1:]), min_size=1)))
    return {"of": of, "count": draw(st.integers(int(len(of) == len(roles) - 1), max(0, len(of) - 1)))}


@st.composite
def _edges(draw: st.DrawFn, roles: str) -> list[dict[str, Any]]:
    kinds = st.sampled_from([edge(window, threshold) for window in WINDOWS[1:] for threshold in THRESHOLDS[:2]])
    uniform = draw(st.sampled_from([edge(3.0, 0.07), edge(3.0, 0.31), edge(1.5, 0.07)]))
    is_uniform = draw(st.booleans())
    star = [(roles[0], other) for other in roles[1:]]
    clique = list(combinations(roles, 2))
    pairs = draw(st.sampled_from([list(pairwise(roles)), star, clique, clique]))
    return [{"between": [a, b], **(uniform if is_uniform else draw(kinds))} for a, b in pairs]


@st.composite
def bursts_in_order(draw: st.DrawFn) -> list[InputRecord]:
    """Frames of two areas: each the detections of a few seconds, one after the other or back again."""
    made, start_s = [], 0
    for offset in range(draw(st.integers(1, 7))):
        start_s += draw(st.sampled_from([-4, 0, 3, 12]))
        area, partition = draw(st.sampled_from([("bay", 0), ("bay", 0), ("bay", 0), ("hill", 3)]))
        members = draw(st.lists(rows(BURST_SECONDS, "pst", start_s), min_size=1, max_size=6))
        made.append(frame(offset, members, area, partition, 1000 + start_s + draw(st.integers(0, 12))))
    return made


@st.composite
def changes_of_one(draw: st.DrawFn) -> list[InputRecord]:
    """A query of many roles; its thresholds, and perhaps more, change; it is paused and resumed."""
    query = draw(wide_queries())
    made = [put(0, query)]
    for version in range(2, draw(st.integers(2, 4))):
        factor = draw(st.sampled_from([0.5, 1.7, 1]))
        edges = [{**edge, "threshold": min(1, edge["threshold"] * factor)} for edge in query["within"]]
        query = draw(st.sampled_from([{**query, "within": edges}] * 3 + [{**query, "sensors": "any"}]))
        made.append(put(version, query, version, paused=draw(st.integers(0, 3)) == 0))
    return made


@st.composite
def wide_runs(draw: st.DrawFn) -> Pushes:
    first, *changes = draw(changes_of_one())
    return [[first], *together(draw, draw(bursts_in_order()), changes)]


READING_TEMPLATES = [Histogram.point(), Histogram.point(), Histogram.uniform(-2, 1)]
READING_VALUES: list[Any] = [99, 101, 101.0, 101.1, 101.2, 101.5, 103]
ODD_VALUES: list[Any] = ["hot", "hot", True, 1, None]
REGIONS: list[Any] = ["west", "east", 7, 7.0, None]
JOINS: list[dict[str, Any]] = [
    {"join": {"lasting_s": 0.5}},
    {"join": {"within": 2, "lasting_s": 1}},
    {"join": {"within": 0.1, "lasting_s": 1}},
]
QUESTIONS: list[dict[str, Any]] = [{"longest": True}, {"lasting_s": 0.5}, {"lasting_s": 3}, *JOINS]
CONDITIONS = [{"above": 100}, {"at_least": 101, "below": 103}, {"above": 99, "at_most": 101}]
EQUIVALENCES = [
    "equal",
    "any",
    "increasing",
    "decreasing",
    {"bounded": 1.5},
    {"bounded": 0.1},
    {"relative": 0.015},
    {"quantised": 2},
    {"quantised": 0.1},
]


@st.composite
def reading_attributes(draw: st.DrawFn) -> tuple[tuple[str, Any], ...]:
    """Mostly a number and a region; now and then something else, or nothing."""
    rest = draw(st.integers(0, 19))
    celsius = draw(st.sampled_from(ODD_VALUES if rest == 0 else READING_VALUES))
    region = draw(st.sampled_from(REGIONS if rest < 4 else REGIONS[:2]))
    return () if rest == 1 else (("celsius", celsius), ("region", region))


def readings(start_s: float) -> st.SearchStrategy[Row]:
    return st.builds(
        Row,
        id=st.integers(0, 9999).map(str),
        at_s=st.integers(0, 2 * BURST_SECONDS).map(lambda halves: 1000 + start_s + halves / 2),
        template=st.sampled_from(READING_TEMPLATES),
        stream=st.sampled_from("pppps"),
        sensor=st.sampled_from(["north", "south"]),
        attributes=reading_attributes(),
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
        coalesce["where"] = draw(st.sampled_from(CONDITIONS))
    if draw(st.booleans()):
        coalesce["equivalence"] = draw(st.sampled_from(EQUIVALENCES))
    if draw(st.booleans()):
        coalesce["hold_s"] = draw(st.sampled_from([0.5, 2, 20]))
    query = {"id": name, "coalesce": coalesce, **draw(st.sampled_from(QUESTIONS))}
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
    first, *changes = draw(readings_controls())
    return [[first], *together(draw, draw(reading_frames()), changes)]
