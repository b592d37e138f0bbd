"""What fused records say beyond who matched: when it occurred, and how often chance does as well."""

from typing import Any

import numpy as np
import pytest

from coincide import ConstraintGraph, Histogram, Window, chance_rate
from coincide.constraints.graph import Edge
from coincide.fusion.matching.chance_rates import RivalVolumes, levels
from coincide.fusion.records.kafka_records import InputRecord
from coincide.places import DistanceWindow
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds import SensorRate
from coincide.thresholds.chance import offset_lengths_s
from coincide.thresholds.offset_volumes import GraphRows
from tests.coincide.fusion.inputs import Row, frame, poisson_frames, put, query_json, started
from tests.coincide.fusion.outputs import matches
from tests.reference.fused import assert_occurred

LATE = Histogram([-3, -1, 0], [0.3, 0.7])
GAPPED = Histogram([-2, -1, 1, 2], [0.5, 0, 0.5])
TEMPLATES = [LATE, GAPPED, Histogram.point(), Histogram.uniform(-4, 1), Histogram([0, 0, 2], [0.5, 0.5])]
HOUR_S = 3600


START = frame(0, [Row("first", 1.0), Row("second", 60.0), Row("s0", 61.0, stream="s", sensor="south")])


def fused(query: dict[str, Any], frames: list[InputRecord], at_once: int = 10) -> list[dict[str, Any]]:
    core = started(put(0, query))
    batches = [frames[n : n + at_once] for n in range(0, len(frames), at_once)]
    return [match for batch in batches for match in matches(core.push(batch))]


def as_window(window_s: float | tuple[float, float]) -> Window:
    return Window(lo_s=window_s[0], hi_s=window_s[1]) if isinstance(window_s, tuple) else Window(window_s)


@pytest.mark.parametrize("window_s", [1.5, (-0.5, 3.0)])
@pytest.mark.parametrize("streams", [("p", "s"), ("p", "p")])
def test_every_record_says_when_it_occurred(window_s: float | tuple[float, float], streams: tuple[str, str]) -> None:
    rng = np.random.default_rng(3)
    sensors = [(f"sensor-{n}", "ps"[n % 2], template, 0.2) for n, template in enumerate(TEMPLATES * 2)]
    found = fused(query_json(window_s, 0.2, streams, "different"), poisson_frames(rng, sensors, 25))
    assert len(found) > 30
    for match in found:
        assert_occurred(match, {template.id: template for template in TEMPLATES}, as_window(window_s))


@pytest.mark.parametrize(
    ("streams", "sensors", "window_s"),
    [
        (("p", "s"), "different", 2.0),
        (("p", "s"), "same", (-1.0, 4.0)),
        (("p", "p"), "different", 2.0),
        (("p", "p"), "any", (0.5, 2.0)),
    ],
)
def test_the_chance_rate_tells_how_many_matches_chance_gives(
    streams: tuple[str, str], sensors: Any, window_s: float | tuple[float, float]
) -> None:
    """Detections that have nothing to do with each other: as many matches as improbable come as the rate says."""
    rng = np.random.default_rng(1987)
    sources = [("north", "p", LATE, 0.30), ("south", "p", LATE, 0.15), ("north", "s", LATE, 0.25)]
    found = fused(query_json(window_s, 0.3, streams, sensors), poisson_frames(rng, sources, HOUR_S), at_once=7)
    found = [match for match in found if match["members"][0]["detected_at_us"] > (1e6 + 600) * 1e6]
    assert len(found) > 250
    by_stream = {
        name: [SensorRate(sensor, template, rate) for sensor, stream, template, rate in sources if stream == name]
        for name in streams
    }
    sides = (by_stream[streams[0]], None if streams[0] == streams[1] else by_stream[streams[1]])
    for p in (0.3, 0.5, 0.75):
        true_hz = chance_rate(*sides, as_window(window_s), p, sensors=sensors)
        # rates of a few minutes to an hour, some hundreds of detections: right to a tenth or two
        said_hz = [match["chance_rate_hz"] for match in found if int(match["probability"] * 100) == int(p * 100)]
        assert sum(match["probability"] >= p for match in found) / (HOUR_S - 600) == pytest.approx(true_hz, rel=0.3)
        assert all(said == pytest.approx(true_hz, rel=0.35) for said in said_hz)


def test_it_is_the_rate_before_the_match_in_whole_minutes() -> None:
    # minute 0 began half-way and is not counted; minute 1: three p of north, two s of south; minute 2: the match
    rows = [Row("p0", 30), Row("s0", 31, stream="s", sensor="south")]
    rows += [Row(f"p{n}", 60 + 15 * n) for n in (1, 2, 3)]
    rows += [Row(f"s{n}", 63 + 25 * n, stream="s", sensor="south") for n in (1, 2)]
    rows += [Row("p4", 121), Row("s4", 122, stream="s", sensor="south"), Row("p5", 122.5)]
    rows.sort(key=lambda row: row.at_s)
    found = fused(query_json(1.5, 0.6, sensors="different"), [frame(n, [row]) for n, row in enumerate(rows)])
    last = found[-1]
    assert [member["id"] for member in last["members"]] == ["p5", "s4"]
    # exact clocks: 3 s of offsets match
    assert last["chance_rate_hz"] == pytest.approx(3 / 60 * 2 / 60 * 3.000001, rel=1e-5)
    assert found[0]["chance_rate_hz"] is None
    assert [member["id"] for member in found[0]["members"]] == ["p0", "s0"]


def test_the_order_of_arrival_may_change_the_rate_and_nothing_else() -> None:
    before = [Row(f"p{n}", 105.0 + n) for n in range(10)]  # not late even after the pair: max_delay_s is 20
    pair = [Row("p", 121.0), Row("s", 121.5, stream="s", sensor="south")]
    query = query_json(0.7, 0.6, sensors="different")
    [in_order] = fused(query, [START, frame(1, before), frame(2, pair)])
    [otherwise] = fused(query, [START, frame(1, pair), frame(2, before)])
    seconds = 1.400001
    assert in_order.pop("chance_rate_hz") == pytest.approx(11 / 60 * 1 / 60 * seconds, rel=1e-5)
    assert otherwise.pop("chance_rate_hz") == pytest.approx(1 / 60 * 1 / 60 * seconds, rel=1e-5)
    assert in_order == otherwise


def rival_lengths_s(rivals: RivalVolumes, window: Window, templates: list[Histogram], index: Any, level: Any) -> Any:
    graph = ConstraintGraph.binary("a", "b", window, 0.2)
    least = np.where(level == 1.0, 1.0, level - 1e-12)
    volumes = rivals.volumes(GraphRows(graph, [templates] * 2, index, least[None]), level)
    assert {error for _, error in volumes} == {0.0}
    return [value for value, _ in volumes]


def test_rival_offsets_are_those_of_the_library_at_a_whole_percent() -> None:
    rng = np.random.default_rng(11)
    rivals, window = RivalVolumes(), Window(1.5)
    for _ in range(3):  # the second and third time some are known
        index = rng.integers(len(TEMPLATES), size=(2, 200))
        pairs = TemplatePairs(TEMPLATES, TEMPLATES, index[0], index[1])
        probability = rng.uniform(0.2, 1, 200)
        percent = np.maximum(np.floor(probability * 100) / 100, 0.2)
        level = levels(probability, 0.2, np.zeros(200, np.bool_))
        lengths_s = rival_lengths_s(rivals, window, TEMPLATES, index, level)
        assert lengths_s == offset_lengths_s(pairs, window, percent - 1e-12).tolist()
    # a match that is certain is at least as probable as itself
    certain = levels(np.ones(1), 0.2, np.ones(1, np.bool_))
    assert rival_lengths_s(rivals, window, [Histogram.point()], np.zeros((2, 1), np.int64), certain) == [3.000001]
    # one that is almost certain counts as 99 %
    assert levels(np.ones(1), 0.2, np.zeros(1, np.bool_)).tolist() == [0.99]
    assert levels(np.ones(1), 1.0, np.zeros(1, np.bool_)).tolist() == [1.0]


def test_rival_offsets_in_windows_by_distance_are_those_in_each_window() -> None:
    rng, sound = np.random.default_rng(12), DistanceWindow(343, up_to_m=20_000)
    rivals, graph = RivalVolumes(), ConstraintGraph(("a", "b"), (Edge("a", "b", sound.widest, 0.2, sound),))
    for _ in range(2):  # the second time many are known
        index, level = rng.integers(len(TEMPLATES), size=(2, 60)), rng.choice([0.2, 0.55, 0.99, 1.0], 60)
        widths_ms = rng.choice([30, 700, 5_000, 40_000, 40_001], 60)
        least = np.where(level == 1.0, 1.0, level - 1e-12)
        rows = GraphRows(graph, [TEMPLATES] * 2, index, least[None], None, widths_ms[None])
        for nth, (value, _) in enumerate(rivals.volumes(rows, level)):
            [one] = rival_lengths_s(
                RivalVolumes(), Window(widths_ms[nth] / 1000), TEMPLATES, index[:, [nth]], level[[nth]]
            )
            assert value == pytest.approx(one, rel=1e-14)


def test_a_match_of_templates_of_very_many_buckets_has_no_rate() -> None:
    def rate_hz(template: Histogram) -> float | None:
        pair = [Row("p", 121.0, template), Row("s", 121.5, template, "s", sensor="south")]
        [match] = fused(query_json(0.5, 0.2, sensors="different"), [START, frame(1, pair)])
        rate: float | None = match["chance_rate_hz"]
        assert match.get("unknown", {}).get("chance_rate_hz") == (None if rate else "too_much_work")
        return rate

    assert rate_hz(Histogram.normal(1, 45)) is not None
    assert rate_hz(Histogram.normal(1, 46)) is None
