"""What is of another kind than a function takes is refused by its name, with what was given and what is allowed."""

from collections.abc import Callable
from typing import Any

import pytest

from coincide import CoincideError, Histogram, Stream, TimingJoin, WindowJoin, errors, goodness_of_fit
from coincide.constraints import ConstraintGraph, JoinCondition, Window
from coincide.errors import OffsetError
from coincide.joins import Detections, timing_join, timing_join_blocks, window_join, window_join_blocks
from coincide.offsets import SatisfactionTable, satisfaction_offsets
from coincide.probability import match_probabilities, match_probability, occurred, occurrence_columns
from coincide.thresholds import SensorRate, chance_rate

POINT, WINDOW = Histogram.point(), Window(1)
NOW, HERE = Detections([0], [POINT]), Stream("here")
JOIN = TimingJoin(HERE, None, WINDOW, 0.5)
FIVE: Any = 5
NOTHING: Any = None
PAIR = ConstraintGraph.binary("x", "y", WINDOW, 0.5)


@pytest.mark.parametrize("template", [5, None, "uniform", {"edges_s": [0, 1], "mass": [1]}])
@pytest.mark.parametrize(
    ("door", "field"),
    [
        (lambda u: match_probability(u, POINT, 0.0, WINDOW), "u"),
        (lambda v: match_probability(POINT, v, 0.0, WINDOW), "v"),
        (lambda u: match_probabilities([POINT, u], [POINT], [0], [0], [0], WINDOW), "us[1]"),
        (lambda v: match_probabilities([POINT], [v], [0], [0], [0], WINDOW), "vs[0]"),
        (lambda u: satisfaction_offsets(u, POINT, WINDOW, 0.5), "u"),
        (lambda v: satisfaction_offsets(POINT, v, WINDOW, 0.5), "v"),
        (lambda u: SatisfactionTable.build([u], [POINT], WINDOW, 0.5), "us[0]"),
        (lambda v: SatisfactionTable.build([], [], WINDOW, 0.5).extend(vs=[v]), "vs[0]"),
        (lambda u: occurred([POINT, u], [0, 0], WINDOW), "templates[1]"),
        (lambda u: occurrence_columns([[POINT], [u]], [[0], [0]], [[0], [0]], WINDOW), "templates[1][0]"),
        (lambda u: goodness_of_fit(u, [0.0]), "template"),
        (lambda u: SensorRate("s", u, 1.0), "template"),
    ],
)
def test_no_template(door: Callable[[Any], object], field: str, template: object) -> None:
    with pytest.raises(errors.HistogramError) as refusal:
        door(template)
    assert (refusal.value.field, refusal.value.value) == (field, template)
    assert refusal.value.allowed.startswith("a Histogram")


@pytest.mark.parametrize(
    "door",
    [
        lambda: match_probabilities(POINT, [POINT], [0], [0], [0], WINDOW),  # type: ignore[arg-type]
        lambda: SatisfactionTable.build(5, [POINT], WINDOW, 0.5),  # type: ignore[arg-type]
        lambda: occurred(POINT, [0, 0], WINDOW),  # type: ignore[arg-type]
        lambda: occurrence_columns(POINT, [[0]], [[0]], WINDOW),  # type: ignore[arg-type]
        lambda: occurrence_columns([POINT, POINT], [[0], [0]], [[0], [0]], WINDOW),  # type: ignore[list-item]
    ],
)
def test_no_list_of_templates(door: Callable[[], object]) -> None:
    with pytest.raises(errors.HistogramError, match="a list of Histogram"):
        door()


@pytest.mark.parametrize("given", [5, None, [0], [POINT]])
@pytest.mark.parametrize(
    ("door", "field"),
    [
        (lambda given: timing_join(given, NOW, WINDOW, 0.5), "a"),
        (lambda given: timing_join(NOW, given or FIVE, WINDOW, 0.5), "b"),
        (lambda given: timing_join_blocks(given, None, WINDOW, 0.5), "a"),
        (lambda given: JOIN.push("here", given), "detections"),
        (lambda given: window_join({"x": NOW, "y": given}, PAIR), "batches['y']"),
        (lambda given: list(window_join_blocks({"x": NOW, "y": given}, PAIR)), "batches['y']"),
        (lambda given: window_join(given, PAIR), "batches"),
        (lambda given: WindowJoin(PAIR, [Stream("x"), Stream("y")]).push("x", given), "detections"),
    ],
)
def test_no_detections(door: Callable[[Any], object], field: str, given: object) -> None:
    with pytest.raises(errors.DetectionsError) as refusal:
        door(given)
    assert refusal.value.field == field
    assert "Detections" in refusal.value.allowed


@pytest.mark.parametrize("stream", [5, None, "here", NOW])
@pytest.mark.parametrize(
    ("door", "field"),
    [
        (lambda stream: TimingJoin(stream, HERE, WINDOW, 0.5), "a"),
        (lambda stream: TimingJoin(HERE, stream or FIVE, WINDOW, 0.5), "b"),
        (lambda stream: WindowJoin(PAIR, [Stream("x"), stream]), "streams"),
        (lambda stream: WindowJoin(PAIR, {"x": Stream("x"), "y": stream}), "streams['y']"),
    ],
)
def test_no_stream(door: Callable[[Any], object], field: str, stream: object) -> None:
    with pytest.raises(errors.StreamError, match=r"a Stream, such as Stream\('seismic'\)") as refusal:
        door(stream)
    assert refusal.value.field == field


@pytest.mark.parametrize("window", [5, 5.0, None, "5", (-1, 1)])
@pytest.mark.parametrize(
    "door",
    [
        lambda window: satisfaction_offsets(POINT, POINT, window, 0.5),
        lambda window: timing_join(NOW, NOW, window, 0.5),
        lambda window: list(timing_join_blocks(NOW, None, window, 0.5)),
        lambda window: TimingJoin(Stream("x"), Stream("y"), window, 0.5),
        lambda window: JoinCondition("x", "y", window, 0.5),
        lambda window: match_probability(POINT, POINT, 0.0, window),
        lambda window: match_probabilities([POINT], [POINT], [], [], [], window),
        lambda window: SatisfactionTable.build([], [], window, 0.5),
        lambda window: occurred([POINT, POINT], [0, 0], window),
        lambda window: occurrence_columns([[POINT], [POINT]], [[0], [0]], [[0], [0]], window),
        lambda window: chance_rate([SensorRate("s", POINT, 1.0)], None, window, 0.5),
        lambda window: ConstraintGraph.graph([("a", "b", window)]),
    ],
)
def test_no_window(door: Callable[[Any], object], window: Any) -> None:
    with pytest.raises(errors.WindowError, match=r"window is .*: a Window, such as Window\(5.0\)"):
        door(window)


@pytest.mark.parametrize("door", [lambda five: window_join({}, five), lambda five: WindowJoin(five, [HERE])])
def test_no_graph(door: Callable[[Any], object]) -> None:
    with pytest.raises(errors.GraphError, match="graph is 5: a ConstraintGraph, such as"):
        door(5)


@pytest.mark.parametrize(
    ("door", "error", "message"),
    [
        (lambda: TimingJoin(HERE, None, WINDOW, 0.5, pair_limits=FIVE), CoincideError, "pair_limits is 5: PairLimits"),
        (lambda: WindowJoin(PAIR, [Stream("x"), Stream("y")], pair_limits=FIVE), CoincideError, "pair_limits is 5"),
        (lambda: Histogram.from_latency(FIVE), errors.HistogramError, "latency is 5: adjacent buckets"),
        (lambda: Histogram.from_latency([FIVE]), errors.HistogramError, "latency is 5: adjacent buckets"),
        (lambda: Histogram.from_latency([(NOTHING, 1, 1)]), errors.HistogramError, "three numbers each"),
        (lambda: POINT.cdf("x"), errors.HistogramError, "x_s is 'x': numbers of seconds"),
        (lambda: POINT.cdf([[0], [0, 1]]), errors.HistogramError, "numbers of seconds"),
        (lambda: POINT.quantile("x"), errors.HistogramError, "p is 'x': probabilities"),
        (lambda: match_probability(POINT, POINT, "0", WINDOW), OffsetError, "offset_s is '0': numbers of seconds"),
        (lambda: match_probability(POINT, POINT, True, WINDOW), OffsetError, "offset_s is True: numbers of seconds"),
        (lambda: match_probability(POINT, POINT, NOTHING, WINDOW), OffsetError, "offset_s is None: numbers of seconds"),
        (lambda: match_probability(POINT, POINT, 10**400, WINDOW), OffsetError, "offset_s is 1"),
        (lambda: satisfaction_offsets(POINT, POINT, WINDOW, 10**400), errors.ThresholdError, "a number above 0"),
        (lambda: satisfaction_offsets(POINT, POINT, WINDOW, -(10**400)), errors.ThresholdError, "a number above 0"),
        (lambda: timing_join_blocks(NOW, NOW, WINDOW, threshold=0), errors.ThresholdError, "threshold is 0"),
    ],
)
def test_other_arguments(door: Callable[[], object], error: type[CoincideError], message: str) -> None:
    with pytest.raises(error, match=message):
        door()


@pytest.mark.parametrize(
    ("message", "times"),
    [("less than 2.*53 microseconds apart", each) for each in ([0, 2**53], [2**53, 0], [-(2**62) + 1, 2**62 - 1])]
    + [("below 2.*62 either way", each) for each in ([0, 2**62], [-(2**63), 0])],
)
def test_times_too_far_apart(message: str, times: list[int]) -> None:
    with pytest.raises(OffsetError, match=message):
        occurred([POINT, POINT], times, WINDOW)
    with pytest.raises(OffsetError, match=message):
        occurrence_columns([[POINT], [POINT]], [[0], [0]], [[times[0]], [times[1]]], WINDOW)


def test_times_at_the_ends_of_what_is_allowed() -> None:
    with pytest.raises(OffsetError, match=r"whole microseconds, below 2.*62 either way"):
        occurred([POINT, POINT], [2**63, 0], WINDOW)
    found = occurrence_columns([[POINT], [POINT]], [[0], [0]], [[0], [2**53 - 1]], WINDOW)
    assert (found.probability.tolist(), found.mean_us.tolist()) == ([0.0], [0])
