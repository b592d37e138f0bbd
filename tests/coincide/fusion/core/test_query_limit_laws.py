"""Laws of limits: whatever is drawn, the slow twin suspends at the same detection, however rows are batched."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, count
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from tests.coincide.fusion import outputs
from tests.coincide.fusion.core.test_fusion_core_laws import MORE_ROLES, TWO_ROLES, Kind
from tests.coincide.fusion.inputs import edge, frame, put, started
from tests.coincide.fusion.outputs import slow_matches, status
from tests.coincide.fusion.strategies import (
    SHORT_SECONDS,
    SWEEPING,
    TEMPLATES,
    Pushes,
    controls,
    frames_in_order,
    queries,
    rows,
    split,
    together,
)
from tests.examples import examples
from tests.reference.fusion import SlowFusion


def suspended(output: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = status(output)["queries"][name].get("suspended", {})
    return found


def suspensions(core: FusionCore) -> dict[tuple[str, str], tuple[str, str, str]]:
    """Return the limit, and the detection that broke it, by query and area."""
    queries = suspended_queries(core.push([]))
    return {(name, area): (why["limit"], why["sensor"], why["id"]) for name, area, why in queries}


def suspended_queries(output: Any) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name in status(output)["queries"]:
        for area, why in suspended(output, name).items():
            yield name, area, why


@st.composite
def dense_runs(draw: st.DrawFn) -> Pushes:
    """Queries of two roles over a few seconds, so that many matches come to be."""
    return together(draw, draw(frames_in_order(SHORT_SECONDS)), [put(0, draw(queries)), *draw(controls())])


@st.composite
def crowds(draw: st.DrawFn) -> list[InputRecord]:
    """Frames of two areas with detections that nearly all fit together."""
    names = (f"n{number}" for number in count())
    made = []
    for offset in range(draw(st.integers(2, 5))):
        drawn = draw(st.lists(rows(2, "ppst"), min_size=2, max_size=5))
        members = [replace(row, id=next(names), template=TEMPLATES[draw(st.integers(0, 1))]) for row in drawn]
        area, partition = draw(st.sampled_from([("bay", 0), ("bay", 0), ("hill", 3)]))
        made.append(frame(offset, members, area, partition, 1000 + draw(st.integers(0, 1))))
    return made


@st.composite
def crowd_queries(draw: st.DrawFn, name: str = "near") -> dict[str, Any]:
    """Queries of three or four roles that most detections of a crowd fit into."""
    roles = "abcd"[: draw(st.integers(3, 4))]
    streams = draw(st.sampled_from(["pppp", "ppps", "psps", "ppst"]))
    edges = list(combinations(roles, 2)) if draw(st.booleans()) else [(roles[0], other) for other in roles[1:]]
    windows = draw(st.sampled_from([[edge(3.0, 0.07)], [edge(3.0, 0.07), edge((-1.0, 2.5), 0.07)]]))
    within = [{"between": [*pair], **windows[nth % len(windows)]} for nth, pair in enumerate(edges)]
    query: dict[str, Any] = {"id": name, "from": dict(zip(roles, streams, strict=False)), "within": within}
    if draw(st.booleans()):
        query["joint_threshold"] = draw(st.sampled_from([0.013, 0.31]))
    if len(within) == len(roles) * (len(roles) - 1) // 2 and draw(st.booleans()):
        query["at_least"] = draw(st.integers(2, len(roles) - 1))
    return {**query, "sensors": "any"}


@st.composite
def crowd_runs(draw: st.DrawFn) -> Pushes:
    changes = [put(nth, draw(crowd_queries()), nth + 1) for nth in range(draw(st.integers(1, 2)))]
    return [[changes[0]], *together(draw, draw(crowds()), changes[1:])]


DENSE = TWO_ROLES._replace(runs=dense_runs(), frames=frames_in_order(SHORT_SECONDS))
CROWD = MORE_ROLES._replace(runs=crowd_runs(), frames=crowds(), queries=crowd_queries())
kinds = pytest.mark.parametrize("kind", [DENSE, CROWD], ids=["two roles", "more roles"])
few = st.builds(
    replace,
    st.just(SWEEPING),
    max_matches_per_detection=st.sampled_from([1, 4, 100]),
    max_candidates_per_detection=st.sampled_from([1, 2, 5, 12]),
    max_matches_per_s=st.sampled_from([1, 6, 100]),
)


@kinds
@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_whatever_happens_suspensions_and_answers_are_those_of_the_definition(kind: Kind, data: st.DataObject) -> None:
    limits = data.draw(few)
    core, slow = started(streams=kind.streams, limits=limits), SlowFusion(dict(kind.streams), limits)
    for batch in data.draw(kind.runs):
        known = len(slow.matches)
        output = core.push(batch)
        slow.push(batch)
        assert sorted(slow_matches(output)) == sorted(slow.matches[known:])
    expected = {(query.id, area): why for query in slow.queries.values() for area, why in query.suspended.items()}
    assert suspensions(core) == expected
    event(f"suspended: {sorted({limit for limit, *_ in expected.values()})}")


@kinds
@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_batching_never_changes_a_suspension_or_a_match(kind: Kind, data: st.DataObject) -> None:
    frames, query = data.draw(kind.frames), data.draw(kind.queries)
    limits = data.draw(few)
    at_once, core = (started(put(0, query), streams=kind.streams, limits=limits) for _ in range(2))
    expected = at_once.push(frames).matches
    cut = [match for batch in split(data.draw, frames, 4) for match in core.push(batch).matches]
    assert sorted(cut) == sorted(expected)
    assert suspensions(core) == suspensions(at_once)


@kinds
@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_a_restart_changes_nothing(kind: Kind, data: st.DataObject) -> None:
    outputs.assert_a_restart_changes_nothing(data.draw(kind.runs), data, data.draw(few), streams=kind.streams)
