"""WindowJoin while time goes on: what is let go was not needed any more, what comes late is told."""

import numpy as np
import pytest

from coincide import (
    AtLeast,
    CoincideError,
    ConstraintGraph,
    Detections,
    Histogram,
    Stream,
    Window,
    WindowJoin,
    window_join,
)
from coincide.errors import CandidateLimitError
from tests.examples import in_turn

SECOND_US = 1_000_000
EVENTS = 600
TEMPLATES = [Histogram.uniform(-1, 0.5), Histogram([-2, -1, 0, 0.2], [0.2, 0, 0.8])]
FRAMES_OF = 25
UNEVEN = {("a", "b"): Window(0.4), ("b", "c"): Window(0.4), ("a", "c"): Window(lo_s=-1, hi_s=3)}
GRAPHS = {
    "path": ConstraintGraph.path("abc", Window(lo_s=0, hi_s=1), 0.3),
    "uniform clique": ConstraintGraph.clique("abc", Window(1), 0.4),
    "uneven clique": ConstraintGraph.clique("abc", UNEVEN, 0.3),
}
CLIQUES = ("uniform clique", "uneven clique")
POINT, STREAMS = [Histogram.point()], [Stream(name) for name in "abc"]


def recorded(seed: int, areas: int) -> Detections:
    """Ten minutes of one stream, by arrival: up to 5 s out of order."""
    rng = np.random.default_rng(seed)
    detected_s = rng.uniform(0, EVENTS, EVENTS)
    order = np.argsort(detected_s + rng.uniform(0, 5, EVENTS))
    detected_us = (detected_s[order] * SECOND_US).astype(np.int64)
    return Detections(detected_us, TEMPLATES, rng.integers(0, 2, EVENTS), area=rng.integers(0, areas, EVENTS))


ASKED: list[tuple[str, int | AtLeast | None]] = [
    *((form, None) for form in GRAPHS),
    *((form, 2) for form in CLIQUES),
    *((form, AtLeast(1, "ac")) for form in GRAPHS),
    *((form, AtLeast(0, "c")) for form in GRAPHS),
]


@pytest.mark.parametrize(("form", "at_least", "areas"), list(in_turn(ASKED, [1, 3])))
def test_the_buffers_stay_small_and_nothing_is_missed(form: str, at_least: int | AtLeast | None, areas: int) -> None:
    """Some rows of each stream are pushed in turn."""
    frames = {name: recorded(seed, areas) for seed, name in enumerate("abc")}
    join = WindowJoin(GRAPHS[form], [Stream(name, 90, 2.2) for name in "abc"], at_least=at_least)
    standing, most, rows = set[tuple[int, ...]](), 0, list[int]()
    for first in range(0, EVENTS, FRAMES_OF):
        at = np.arange(first, first + FRAMES_OF)
        for name, frame in frames.items():
            rows += at.tolist()
            changes = join.push(name, frame.take(at))
            assert len(changes.late) == 0
            gone, come = (
                {tuple(-1 if ref < 0 else rows[ref] for ref in each) for each in tuples.members.tolist()}
                for tuples in (changes.retract, changes.insert)
            )
            assert gone <= standing
            assert not come & standing
            standing = standing - gone | come
            most = max(most, sum(join.buffered(each) for each in frames))
    expected = window_join(frames, GRAPHS[form], at_least=at_least)
    assert standing == set(map(tuple, expected.members.tolist()))
    assert len(standing) > 50
    assert most < 900  # of 1,800: 90 s and a frame of each stream, and an eighth more


def test_what_is_late_is_told_and_not_joined() -> None:
    join = WindowJoin(GRAPHS["path"], [Stream(name, 10, 0) for name in "abc"])
    join.push("a", Detections([100 * SECOND_US], POINT))
    changes = join.push("b", Detections([89 * SECOND_US, 100 * SECOND_US], POINT))
    complete = join.push("c", Detections([89 * SECOND_US, 101 * SECOND_US], POINT))
    assert (changes.late.tolist(), changes.late_by_us.tolist()) == ([0], [SECOND_US])
    assert (complete.late.tolist(), complete.insert.members.tolist()) == ([0], [[0, 2, 4]])


def test_a_hard_bound_drops_the_earliest_and_counts_them() -> None:
    join = WindowJoin(GRAPHS["uniform clique"], [Stream(name, 1e6, 0) for name in "abc"], at_least=2, max_buffered=2)
    join.push("a", Detections([0, 10 * SECOND_US, 20 * SECOND_US], POINT))
    changes = join.push("b", Detections([0, 20 * SECOND_US], POINT))
    assert join.dropped == 1
    assert changes.insert.members.tolist() == [[2, 4, -1]]


def test_own_templates_are_forgotten_with_their_events() -> None:
    join = WindowJoin(GRAPHS["uniform clique"], [Stream(name, 1, 3) for name in "abc"], at_least=2)
    found = 0
    for second in range(0, 900, 10):
        own = Detections([second * SECOND_US], [Histogram.uniform(-0.1 - second * 1e-6, 0.1)])
        found += sum(len(join.push(name, own).insert) for name in "abc")
    assert found == 180  # each pair, then all three
    assert join.templates_known < 3 * 45  # of 270


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"streams": STREAMS[:2]}, "streams"),
        ({"streams": {"a": Stream("x", 1), "b": Stream("x", 2), "c": Stream("y")}}, "streams"),
        ({"at_least": 1}, "at_least"),
        ({"at_least": 4}, "at_least"),
        ({"at_least": True}, "at_least"),
        ({"graph": GRAPHS["path"], "at_least": 2}, "at_least"),
        ({"graph": GRAPHS["path"], "at_least": AtLeast(0, "b")}, "at_least.of"),
        ({"graph": GRAPHS["path"], "at_least": AtLeast(3, "ac")}, "at_least.count"),
        ({"threshold": 0}, "threshold"),
        ({"sensors": "none"}, "sensors"),
        ({"graph": ConstraintGraph.clique("abc", Window(1))}, "threshold"),
        ({"graph": ConstraintGraph.binary("a", "b", Window.deadline(1)), "streams": STREAMS[:2]}, "threshold"),
    ],
)
def test_what_cannot_be_joined_is_refused(wrong: dict[str, object], field: str) -> None:
    with pytest.raises(CoincideError) as refusal:
        WindowJoin(**{"graph": GRAPHS["uniform clique"], "streams": STREAMS, **wrong})  # type: ignore[arg-type]
    assert refusal.value.field == field


def test_at_least_has_no_other_condition() -> None:
    frames = dict.fromkeys("ab", Detections([0], POINT)) | {"c": Detections([0], POINT)}
    with pytest.raises(CoincideError, match="where"):
        window_join(frames, GRAPHS["uniform clique"], where=lambda members: members[:, 0] == 0, at_least=2)


@pytest.mark.parametrize(("at_least", "most"), [(2, 4), (AtLeast(1, "ac"), 12), (AtLeast(0, "c"), 12)])
def test_a_row_with_too_many_candidates_is_refused_and_the_join_goes_on(at_least: int | AtLeast, most: int) -> None:
    """Which row is refused first does not depend on how rows come together; later pushes answer as ever."""
    frames = {name: recorded(seed, 1).take(np.arange(80)) for seed, name in enumerate("abc")}
    assert len({_first_refused(frames, together, at_least, most) for together in (1, 5, EVENTS)}) == 1


def _first_refused(frames: dict[str, Detections], together: int, at_least: int | AtLeast, most: int) -> int:
    streams = [Stream(name, 1e6, 2.2) for name in frames]
    join, free = (WindowJoin(GRAPHS["uniform clique"], streams, 0.3, at_least, max_candidates=n) for n in (most, 1000))
    refused, answers = list[int](), 0
    for name, frame in frames.items():
        for first in range(0, len(frame), together):
            rows = frame.take(np.arange(first, min(first + together, len(frame))))
            whole = free.push(name, rows)
            try:
                changes = join.push(name, rows)
            except CandidateLimitError as error:
                refused.append(error.row)
            else:
                answers += len(changes.insert)
                assert changes.insert.members.tolist() == whole.insert.members.tolist()
                assert changes.retract.members.tolist() == whole.retract.members.tolist()
    assert answers > 20 or together > 5
    return refused[0]
