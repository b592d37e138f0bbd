"""Queries that ask for one source: which sets match, where it was, and the same answers however rows arrive."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from coincide import Histogram, Window, match_probability
from coincide.fusion.matching import source_judge
from coincide.fusion.matching.advisory_work import AdvisoryBudget
from coincide.places import FramePlace, Places
from coincide.sources import ReportSets, SourceRule, SourceTest
from tests.coincide.fusion.inputs import Row, frame, put, started
from tests.coincide.fusion.outputs import matches, reasons, status

MICROPHONES = [FramePlace(0, 0), FramePlace(400, 0), FramePlace(0, 300), FramePlace(420, 330), FramePlace(200, -150)]
CLOCK = Histogram.uniform(-0.01, 0.01)
SOURCE = {"speed_m_s": 343, "slack_s": 0.05, "reach_m": 600, "threshold": 0.5}
WINDOW_S, THRESHOLD = 2.0, 0.5
NEAR = {"speed_m_s": 343, "slack_s": 0.1, "threshold": 0.5}
TEST = SourceTest(SourceRule(343, 0.05, reach_m=600), 0.5)


def shot(**changes: Any) -> dict[str, Any]:
    roles = {f"m{nth}": "p" for nth in range(len(MICROPHONES))}
    asked = {"form": "clique", "within": [{"window_s": WINDOW_S, "threshold": THRESHOLD}], "at_least": 3}
    return {"id": "shot", "from": roles, **asked, "source": SOURCE, **changes}


def heard(
    nth: int,
    x_m: float,
    y_m: float,
    at_s: float,
    name: str,
    late_s: float = 0.0,
    microphones: Sequence[FramePlace] = MICROPHONES,
) -> Row:
    place = microphones[nth]
    way_s = float(np.hypot(place.x_m - x_m, place.y_m - y_m)) / 343
    return Row(f"{name}{nth}", at_s + way_s + late_s, CLOCK, sensor=f"mic-{nth}", place=place)


BANG = [heard(nth, 150, 100, 1000, "a", late_s) for nth, late_s in enumerate((0.002, -0.003, 0.001, 0.004, 0.0))]
STRANGER = Row("x1", BANG[1].at_s + 0.7, CLOCK, sensor="mic-1", place=MICROPHONES[1])


def live(found: Sequence[dict[str, Any]]) -> set[frozenset[str]]:
    """The sets that none supersedes."""
    gone = {each for match in found for each in match["supersedes"]}
    return {frozenset(member["id"] for member in match["members"]) for match in found if match["id"] not in gone}


def test_the_microphones_that_one_source_explains_and_where_it_was() -> None:
    found = matches(started(put(0, shot())).push([frame(0, [*BANG[:4], STRANGER, BANG[4]])]))
    [everyone] = [match for match in found if len(match["members"]) == 5]
    place = everyone["place"]
    assert place["probability"] >= 0.5
    assert (place["peak"]["x_m"], place["peak"]["y_m"]) == pytest.approx((150, 100), abs=8)
    assert place["ellipse"]["minor_m"] <= place["ellipse"]["major_m"] < 30
    occurred = place["occurred"]
    assert occurred["p05_us"] < 1_000_000_000 < occurred["p95_us"]
    assert place["residual_s"] == pytest.approx([0.002, -0.003, 0.001, 0.004, 0.0], abs=0.008)
    assert 0.88 < sum(place["cells"]["probability"]) < 0.95
    assert len(place["cells"]["at"]) == len(place["cells"]["probability"]) <= 128
    assert "height_m" not in place
    assert "place" not in everyone.get("unknown", {})
    assert all("x1" not in each or len(each) < 5 for each in live(found))


def largest(rows: Sequence[Row]) -> set[frozenset[str]]:
    """The slow twin: every set of three or more that windows and a source allow and that none of the others holds."""
    sets = [
        frozenset(row.id for row in chosen)
        for size in range(3, len(MICROPHONES) + 1)
        for chosen in combinations(sorted(rows, key=lambda row: (row.at_us, row.sensor)), size)
        if len({row.sensor for row in chosen}) == size and fits(chosen)
    ]
    return {each for each in sets if not any(each < other for other in sets)}


def fits(rows: Sequence[Row]) -> bool:
    if any(abs(one.at_s - other.at_s) > WINDOW_S for one, other in combinations(rows, 2)):
        return False
    places = Places.of([row.place for row in rows if row.place is not None])
    index = np.arange(len(rows))[None]
    times = np.array([[row.at_us for row in rows]])
    return bool(TEST.explains(ReportSets(places, index, [CLOCK], np.zeros_like(index), times))[0])


@pytest.mark.parametrize("seed", range(2))
def test_neither_the_order_of_arrival_nor_the_batches_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    other = [heard(nth, 300, 250, 1000.6, "b") for nth in range(5)]
    rows = [*BANG, STRANGER, *(row for row in other if rng.uniform() < 0.5)]
    wanted = largest(rows)
    told = []
    for cut in (2, len(rows)):
        shuffled = [rows[nth] for nth in rng.permutation(len(rows)).tolist()]
        core, found = started(put(0, shot())), list[dict[str, Any]]()
        for nth, first in enumerate(range(0, len(rows), cut)):
            found += matches(core.push([frame(nth, shuffled[first : first + cut])]))
        told.append(live(found))
    assert told == [wanted] * 2
    assert any(len(each) == 5 for each in wanted)


def test_the_same_records_in_one_batch_and_row_by_row() -> None:
    rows = [*BANG[:2], STRANGER, *BANG[2:]]
    whole = matches(started(put(0, shot())).push([frame(0, rows)]))
    core, by_row = started(put(0, shot())), list[dict[str, Any]]()
    for nth, row in enumerate(rows):
        by_row += matches(core.push([frame(nth, [row])]))
    assert by_row == whole


def test_all_of_the_roles_without_at_least() -> None:
    roles = {f"m{nth}": "p" for nth in range(4)}
    query = {name: value for name, value in shot().items() if name != "at_least"}
    core = started(put(0, {**query, "from": roles}))
    found = matches(core.push([frame(0, [*BANG[:4], STRANGER])]))
    assert [sorted(member["id"] for member in match["members"]) for match in found] == [["a0", "a1", "a2", "a3"]]
    assert found[0]["place"]["probability"] >= 0.5


def test_of_too_few_members_the_windows_decide_and_the_record_says_so() -> None:
    found = matches(started(put(0, shot(at_least=2))).push([frame(0, [BANG[0], STRANGER])]))
    assert [(match["place"], match["unknown"]["place"]) for match in found] == [(None, "few_members")]


def test_a_row_without_a_place_is_in_no_match_and_told() -> None:
    unplaced = [Row(row.id, row.at_s, CLOCK, sensor=row.sensor) for row in BANG[:3]]
    output = started(put(0, shot())).push([frame(0, unplaced)])
    assert matches(output) == []
    assert reasons(output) == ["no_place"] * 3


def test_windows_by_distance_find_candidates_and_members_say_where_they_were() -> None:
    roles = {f"m{nth}": "p" for nth in range(4)}
    query = shot(within=[NEAR], **{"from": roles})
    found = matches(started(put(0, query)).push([frame(0, [*BANG[:4], STRANGER])]))
    assert frozenset(row.id for row in BANG[:4]) in live(found)
    [largest] = [match for match in found if len(match["members"]) == 4]
    assert largest["members"][0]["place"] == {"x_m": 0.0, "y_m": 0.0, "z_m": 0.0}


#: For a source to the west the times of the first three differ by as much as any can.
IN_LINE = [FramePlace(0, 0), FramePlace(200, 0), FramePlace(400, 0), FramePlace(300, 200), FramePlace(100, -200)]


def test_of_many_roles_by_distance_the_edges_bound_the_joint_probability() -> None:
    near = {**NEAR, "slack_s": 0.004}
    rows = [heard(nth, -150, 0, 1000, "a", late_s, IN_LINE) for nth, late_s in enumerate((0.0, 0.002, 0.001, 0, 0))]
    whole = matches(started(put(0, shot(within=[near]))).push([frame(0, rows)]))
    assert frozenset(row.id for row in rows) in live(whole)
    core, by_row = started(put(0, shot(within=[near]))), list[dict[str, Any]]()
    for nth, row in enumerate(rows):
        by_row += matches(core.push([frame(nth, [row])]))
    assert by_row == whole
    row_of = {row.id: row for row in rows}
    for match in whole:
        members = [row_of[member["id"]] for member in match["members"]]
        expected = [held_s(one, other, near["slack_s"]) for one, other in combinations(members, 2)]
        edges = [edge["probability"] for edge in match["edges"]]
        assert edges == pytest.approx(expected, abs=1e-11)
        joint = match["joint"]
        assert match["probability"] == joint["greatest"] == min(edges)
        assert joint["least"] == pytest.approx(max(0.0, 1 - sum(1 - each for each in edges)), abs=1e-11)
        assert joint["probability"] == pytest.approx(math.prod(edges), abs=1e-11)
        drawn = all_at_once(members, near["slack_s"])
        assert joint["least"] - 0.015 <= drawn <= joint["greatest"] + 0.015  # four times its error
    assert any(match["joint"]["least"] < match["joint"]["greatest"] for match in whole)


def window_s(one: Row, other: Row, slack_s: float) -> float:
    assert isinstance(one.place, FramePlace)
    assert isinstance(other.place, FramePlace)
    apart_m = math.dist(one.place.coordinates, other.place.coordinates)
    return math.ceil((apart_m / 343 + slack_s) * 1000 - 1e-6) / 1000


def held_s(one: Row, other: Row, slack_s: float) -> float:
    window = Window(window_s(one, other, slack_s))
    return float(match_probability(one.template, other.template, (other.at_us - one.at_us) / 1e6, window))


def all_at_once(rows: Sequence[Row], slack_s: float) -> float:
    """How often all windows of some rows hold, of 20,000 draws."""
    rng = np.random.default_rng(1)
    times_s = [row.at_us / 1e6 + row.template.quantile(rng.uniform(size=20_000)) for row in rows]
    held = [
        np.abs(times_s[a] - times_s[b]) <= window_s(rows[a], rows[b], slack_s)
        for a, b in combinations(range(len(rows)), 2)
    ]
    return float(np.all(held, axis=0).mean())


def test_a_query_is_suspended_where_sets_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_judge, "MOST_TESTS", 4)
    output = started(put(0, shot())).push([frame(0, BANG)])
    assert [len(match["members"]) for match in matches(output)] == [3, 4]
    assert "max_candidates_per_detection" in str(status(output)["queries"])


def test_what_takes_too_much_is_not_placed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_judge, "MOST_PLACES", AdvisoryBudget(0.5, 0.5))
    found = matches(started(put(0, shot())).push([frame(0, BANG)]))
    assert {(match["place"], match["unknown"]["place"]) for match in found} == {(None, "too_much_work")}


RING = [FramePlace(400 * np.cos(nth * 0.4), 350 * np.sin(nth * 0.4)) for nth in range(15)]


@pytest.mark.parametrize("strangers", [0, 2])
def test_a_set_of_many_members_is_found_without_testing_all_its_parts(
    strangers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_judge, "MOST_TESTS", 2_500)  # thirteen members have 8,000 parts
    late_s = np.random.default_rng(5).uniform(-0.008, 0.008, 13)
    ways_s = [float(np.hypot(place.x_m - 150, place.y_m - 100)) / 343 for place in RING]
    rows = [
        Row(f"a{nth}", 1000 + ways_s[nth] + late_s[nth], CLOCK, sensor=f"mic-{nth}", place=RING[nth])
        for nth in range(13)
    ]
    others = [
        Row(f"x{nth}", 1001.5 + nth / 9, CLOCK, sensor=f"mic-{nth}", place=RING[nth])
        for nth in range(13, 13 + strangers)
    ]
    roles = {f"m{nth}": "p" for nth in range(15)}
    near = {"form": "clique", "within": [{"window_s": 4, "threshold": 0.5}], "at_least": 11}
    source = {**SOURCE, "reach_m": 900, "threshold": 0.2}
    core = started(put(0, shot(**near, **{"from": roles}, source=source)))
    output = core.push([frame(0, [*others[:strangers], *rows])])
    assert [len(match["members"]) for match in matches(output)] == [11, 12, 13]
    assert "suspended" not in str(status(output)["queries"])
