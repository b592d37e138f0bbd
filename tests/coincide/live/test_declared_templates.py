"""Streams that declare their templates: the same answers as without, and never more events kept."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import (
    AtLeast,
    ConstraintGraph,
    Detections,
    Histogram,
    Pairs,
    Stream,
    TimingJoin,
    Tuples,
    Window,
    WindowJoin,
)
from coincide.errors import DetectionsError
from coincide.joins.buffer import COMPACT_FROM
from coincide.live.live_join import LiveJoin
from tests.examples import examples
from tests.reference.timing_join import couples

SECOND = 1_000_000
TEMPLATES = (
    Histogram.point(),
    Histogram.uniform(-2, 1),
    Histogram.from_latency([(0, 1, 0.6), (1, 2, 0.3), (2, 4, 0.1)]),
    Histogram([-4, -4, 0, 0], [0.5, 0, 0.5]),
)
WINDOWS = (Window(2.0), Window(0.5), Window(lo_s=-1.0, hi_s=3.0), Window(lo_s=4, hi_s=6))
UNEVEN = {("a", "b"): Window(2), ("b", "c"): Window(1), ("a", "c"): Window(lo_s=-1, hi_s=3)}
GRAPHS = {
    "path": ConstraintGraph.path("abc", Window(lo_s=0, hi_s=2), 0.3),
    "uniform clique": ConstraintGraph.clique("abc", Window(2), 0.4),
    "uneven clique": ConstraintGraph.clique("abc", UNEVEN, 0.3),
}
ASKED: dict[str, dict[str, Any]] = {
    "all": {},
    "jointly": {"threshold": 0.2},
    "two of three": {"at_least": 2},
    "c may be absent": {"at_least": AtLeast(0, "c")},
    "a or c": {"at_least": AtLeast(1, "ac")},
}


@dataclass
class Recording:
    """Rows of some streams by arrival, none of them late, and how they are cut into batches of one stream."""

    templates: dict[str, tuple[Histogram, ...]]
    delay_s: dict[str, int]
    batches: list[tuple[str, Detections]]

    @property
    def plain(self) -> dict[str, Stream]:
        longest_s = {name: max(each.length_s for each in templates) for name, templates in self.templates.items()}
        return {name: Stream(name, self.delay_s[name], longest_s[name]) for name in self.templates}

    @property
    def declared(self) -> dict[str, Stream]:
        return {name: Stream(name, self.delay_s[name], templates=each) for name, each in self.templates.items()}


@st.composite
def recordings(draw: st.DrawFn, names: str) -> Recording:
    """About as late as may be, since what an event is kept for comes late."""
    some = st.lists(st.sampled_from(TEMPLATES), min_size=1, max_size=2, unique=True)
    recording = Recording({name: tuple(draw(some)) for name in names}, {name: draw(DELAYS_S) for name in names}, [])
    rng, most_together = np.random.default_rng(draw(st.integers(0, 10**6))), draw(st.integers(1, 3))
    watermark_us = {"bay": 0, "sea": 0}
    for _ in range(draw(st.integers(1, 40))):
        name = rng.choice(list(names))
        templates, rows = recording.templates[name], []
        for area in rng.choice(list(watermark_us), rng.integers(1, most_together + 1)).tolist():
            template, least_us = (
                int(rng.integers(len(templates))),
                watermark_us[area] - recording.delay_s[name] * SECOND,
            )
            latest_us = least_us + int(rng.choice([0, 0, 1, 2, 5, 8])) * SECOND
            watermark_us[area] = max(watermark_us[area], latest_us)
            rows.append((latest_us - templates[template].latest_us, template, area))
        times_us, template_index, areas = zip(*rows, strict=True)
        recording.batches.append((name, Detections(times_us, templates, template_index, areas)))
    return recording


DELAYS_S = st.sampled_from((0, 1, 3))


@pytest.mark.parametrize("partner", ["y", "x"])
@settings(max_examples=examples(60))
@given(st.data(), st.sampled_from(WINDOWS), st.sampled_from((0.05, 0.5, 0.9, 1.0)))
def test_pairs_are_the_same_and_no_more_events_are_kept(
    partner: str, data: st.DataObject, window: Window, threshold: float
) -> None:
    recording = data.draw(recordings("xy" if partner == "y" else "x"))
    plain, declared = (
        TimingJoin(streams["x"], streams[partner], window, threshold)
        for streams in (recording.plain, recording.declared)
    )
    assert_alike(plain, declared, recording)


@pytest.mark.parametrize(
    ("form", "asked"), [each for each in product(GRAPHS, ASKED) if each != ("path", "two of three")]
)
@settings(max_examples=examples(12))
@given(data=st.data())
def test_tuples_are_the_same_and_no_more_events_are_kept(data: st.DataObject, form: str, asked: str) -> None:
    names = "xyz" if "at_least" in ASKED[asked] else data.draw(st.sampled_from(("xyz", "xxy", "xyx", "xxx")))
    recording = data.draw(recordings("".join(dict.fromkeys(names))))
    plain, declared = (
        WindowJoin(GRAPHS[form], {role: streams[name] for role, name in zip("abc", names, strict=True)}, **ASKED[asked])
        for streams in (recording.plain, recording.declared)
    )
    assert_alike(plain, declared, recording)


def rows_of(answer: Pairs | Tuples) -> list[Any]:
    return couples(answer) if isinstance(answer, Pairs) else answer.members.tolist()


def assert_alike(plain: LiveJoin[Any], declared: LiveJoin[Any], recording: Recording) -> None:
    """Whatever may go goes after every batch."""
    for name, batch in recording.batches:
        one, other = (join._pushed(name, batch) for join in (plain, declared))
        assert len(one.late) == len(other.late) == 0
        for wanted, rows in ((one.insert, other.insert), (one.retract, other.retract)):
            assert rows_of(rows) == rows_of(wanted)
        for join in (declared, plain):
            join._engine._evict()
        for stream in recording.templates:
            kept = declared.buffered(stream)
            may_go = COMPACT_FROM * kept  # a buffer of several areas waits for so many that can go
            assert kept - plain.buffered(stream) <= may_go


CLOCK, CLOCK_OF_1_S = [Histogram.uniform(-1.7, 1.7)], [Histogram.uniform(-1, 1)]
FIGURES = {
    "default": (Stream("x", 0), Stream("y", 0), 6102),
    "longest template": (Stream("x", 0, 3.4), Stream("y", 0, 3.4), 170),
    "templates": (Stream("x", 0, templates=CLOCK), Stream("y", 0, templates=CLOCK), 102),
}


@pytest.mark.parametrize("declared", FIGURES)
def test_how_many_events_are_kept(declared: str) -> None:
    """Ten events a second in each stream, all in time, +-5 s at threshold 0.5, each time known to 3.4 s."""
    x, y, kept = FIGURES[declared]
    join = TimingJoin(x, y, Window(5), 0.5)
    times_us, found = range(0, 320 * SECOND, SECOND // 10), 0
    for time_us in times_us:
        found += sum(len(join.push(name, Detections([time_us], CLOCK)).insert) for name in "xy")
    assert found == sum(len(times_us) - abs(apart) for apart in range(-50, 51))
    join.advance(times_us[-1])
    assert join.buffered("x") + join.buffered("y") == kept


def test_an_event_stays_for_the_last_offset_that_matches_and_no_longer() -> None:
    x, y = (Stream(name, 2, templates=CLOCK_OF_1_S) for name in "xy")
    for apart_us, wanted in ((5_000_000, 1), (5_000_001, 0)):
        join = TimingJoin(x, y, Window(5), 0.5)
        join.push("x", Detections([0], CLOCK_OF_1_S))
        join.push("x", Detections([apart_us + 2 * SECOND], CLOCK_OF_1_S))
        join.advance(0)
        assert join.buffered("x") == wanted + 1
        changes = join.push("y", Detections([apart_us], CLOCK_OF_1_S))
        assert (len(changes.insert), len(changes.late)) == (wanted + 1, 0)


def test_a_template_that_is_not_declared_is_refused_and_nothing_is_taken_in() -> None:
    join = TimingJoin(Stream("x", templates=CLOCK), Stream("y"), Window(5), 0.5)
    join.push("x", Detections([0], CLOCK))
    with pytest.raises(DetectionsError, match="one of the 1 templates that stream 'x' declares") as refused:
        join.push("x", Detections([9 * SECOND], [*CLOCK, *CLOCK_OF_1_S], [0]))
    assert refused.value.field == "templates"
    assert (join.buffered("x"), join.watermark_us()) == (1, round(1.7 * SECOND))
    assert join.push("y", Detections([SECOND], CLOCK_OF_1_S)).insert.left.tolist() == [0]
