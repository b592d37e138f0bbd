"""Queries over readings in the fusion core: the coalescing paper's examples, what records hold, changes at run time."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from coincide import Stream
from coincide.fusion.batches.cores import FusionCores
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.sliding.choice import TYPICAL
from tests.coincide.fusion.inputs import Row, frame, heartbeat, put, removal, started
from tests.coincide.fusion.outputs import SavedCore, episodes, reasons, status

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86_400
STREAMS = {
    "temperature": Stream("temperature", max_delay_s=60),
    "humidity": Stream("humidity", max_delay_s=10),
    "tick": Stream("tick"),
}


def query(asked: dict[str, Any], stream: str = "temperature", name: str = "hot", **coalesce: Any) -> dict[str, Any]:
    window = {"time_s": DAY_S, "slide_s": HOUR_S}
    return {"id": name, "coalesce": {"from": stream, "value": "attributes.is", "window": window, **coalesce}, **asked}


LONGEST_HOT = query({"longest": True}, where={"above": 100})


def core(*queries: dict[str, Any], limits: Limits | None = None) -> FusionCore:
    return started(*(put(offset, each) for offset, each in enumerate(queries)), streams=STREAMS, limits=limits)


def reading(at_s: float, value: Any, sensor: str = "north", stream: str = "temperature") -> Row:
    return Row(f"{sensor}-{at_s}", at_s, stream=stream, sensor=sensor, attributes=(("is", value),))


def tick(at_s: float) -> Row:
    """Moves the area's watermark, and is no reading."""
    return Row(f"tick-{at_s}", at_s, stream="tick", sensor="clock")


def pushed(fused: FusionCore, rows: Iterable[Row], offset: int = 0, **more: Any) -> list[dict[str, Any]]:
    return episodes(fused.push([frame(offset, sorted(rows, key=lambda row: row.at_s), **more)]))


def by_window(found: Sequence[dict[str, Any]], unit_s: int) -> dict[int, list[tuple[Any, float]]]:
    """By window end, in units: (first label of the group, how long)."""
    said: dict[int, list[tuple[Any, float]]] = {}
    for each in found:
        lasting = (each["end_us"] - each["start_us"]) / (unit_s * 1e6)
        label, end = next(iter(each["group"].values())), each["window"]["end_us"] // (unit_s * 10**6)
        said.setdefault(end, []).append((label, lasting))
    return said


class TestPaper:
    def test_example_1_regions_of_similar_humidity(self) -> None:
        """For 4 minutes or longer in the past 60, at every minute."""
        window = {"time_s": 60 * MINUTE_S, "slide_s": MINUTE_S}
        similar = query({"join": {"within": 2, "lasting_s": 4 * MINUTE_S}}, "humidity", window=window)
        south = [75] * 3 + [61] * 5 + [75] * 2
        rows = [reading(minute * MINUTE_S, 60, "north", "humidity") for minute in range(10)]
        rows += [reading(minute * MINUTE_S, value, "south", "humidity") for minute, value in enumerate(south)]
        found = pushed(core(similar), [*rows, tick(10 * MINUTE_S + 10)])
        assert by_window(found, MINUTE_S) == {7: [("north", 4)], **{at: [("north", 5)] for at in (8, 9, 10)}}
        assert {each["start_us"] for each in found} == {3 * MINUTE_S * 10**6}
        assert all(each["group"] == {"a.sensor": "north", "b.sensor": "south"} for each in found)
        assert {json.dumps(each["value"]) for each in found} == {'{"a": 60, "b": 61}'}
        assert [each["count"] for each in found] == [8, 10, 10, 10]

    def test_example_2_the_longest_time_above_100_degrees(self) -> None:
        """In the past 24 hours, each hour, in each region."""
        north, south = (99, 101, 103, 102, 98, 105, 105, 90), (80, 80, 80, 101, 80, 80, 80, 80)
        rows = [reading(hour * HOUR_S, value, "north") for hour, value in enumerate(north)]
        rows += [reading(hour * HOUR_S, value, "south") for hour, value in enumerate(south)]
        found = by_window(pushed(core(LONGEST_HOT), [*rows, tick(40 * HOUR_S)]), HOUR_S)
        assert found[3] == [("north", 2)]
        assert found[8] == [("north", 3), ("south", 1)]
        assert found[27] == [("north", 2), ("south", 1)]  # of the first period the last hour is left
        assert (min(found), max(found)) == (2, 30)  # hour 7 is the last hot one's end

    def test_example_2_by_equal_values_is_another_question(self) -> None:
        rows = [reading(hour * HOUR_S, value) for hour, value in enumerate((99, 101, 103, 103, 98))]
        equal = query({"longest": True}, where={"above": 100}, equivalence="equal")
        found = pushed(core(equal), [*rows, tick(5 * HOUR_S + 60)])
        assert by_window(found, HOUR_S)[5] == [("north", 2)]
        assert found[-1]["value"] == 103

    def test_example_4_regions_whose_temperature_did_not_change_for_two_hours(self) -> None:
        steady = query({"lasting_s": 2 * HOUR_S}, window={"time_s": 3 * HOUR_S, "slide_s": HOUR_S})
        rows = [
            reading(hour * HOUR_S, value, region)
            for region, each in (("1", (81, 81, 81)), ("2", (81, 79, 81)), ("3", (81, 81, 81)))
            for hour, value in zip((13, 14, 15), each, strict=True)
        ]
        found = by_window(pushed(core(steady), [*rows, tick(16 * HOUR_S + 60)]), HOUR_S)
        assert found == {15: [("1", 2), ("3", 2)], 16: [("1", 3), ("3", 3)]}


def test_a_record_holds_what_the_contract_says() -> None:
    fused = core(query({"longest": True}, where={"above": 100}, by=["attributes.region", "sensor"], hold_s=1800))
    said_by = (("r1", 600, 101.5, 7.0), ("r2", 1200, 104, 7))
    rows = [Row(n, at_s, stream="temperature", attributes=(("is", v), ("region", r))) for n, at_s, v, r in said_by]
    assert episodes(fused.push([frame(0, rows, received_at_s=1300)])) == []
    [said] = episodes(fused.push([frame(1, [tick(3660)], received_at_s=4000)]))
    content = json.dumps(["hot", "bay", {"attributes.region": 7, "sensor": "north"}, 3600 * 10**6, 600 * 10**6])
    expected: dict[str, Any] = {"v": 1, "query": "hot", "query_version": 1, "area": "bay", "revision": 0, "count": 2}
    expected |= {
        "start_us": 600 * 10**6,
        "end_us": 3000 * 10**6,
        "duration_s": 2400,
        "received_at_us": 1300 * 10**6,
        "value": 101.5,
    }
    expected |= {"open": False, "final": True, "best_probability": None, "members": [], "members_truncated": False}
    assert said == expected | {
        "id": "e-" + hashlib.sha256(content.replace(", ", ",").replace(": ", ":").encode()).hexdigest()[:32],
        "group": {"attributes.region": 7, "sensor": "north"},
        "window": {"start_us": (3600 - DAY_S) * 10**6, "end_us": 3600 * 10**6},
    }


def test_a_window_is_answered_once_nothing_on_time_can_change_it() -> None:
    fused = core(LONGEST_HOT)
    assert pushed(fused, [reading(0, 101), tick(HOUR_S + 59.999999)]) == []
    late = reading(HOUR_S - 0.000001, 99)  # just on time, and ends the run
    [said] = pushed(fused, [late, tick(HOUR_S + 60)], 1)
    assert (said["start_us"], said["end_us"]) == (0, HOUR_S * 10**6 - 1)
    assert pushed(fused, [tick(HOUR_S + 61)], 2) == []


def test_the_last_windows_of_a_silent_area_are_answered_by_heartbeats() -> None:
    fused = core(LONGEST_HOT, limits=Limits(quiet_s=30))
    assert pushed(fused, [reading(0, 101)], received_at_s=0) == []
    told = [episodes(fused.push([heartbeat(number, 30 * number)])) for number in range(1, 125)]
    assert [number for number, found in enumerate(told, 1) if found] == [123]  # an hour, its delay, and half a minute
    assert told[122][0]["end_us"] == HOUR_S * 10**6


@pytest.mark.parametrize("gap_s", [1e6, 1e8, 3e9])
def test_a_silence_of_very_many_slides_costs_nothing(gap_s: float) -> None:
    fused = core(query({"longest": True}, window={"time_s": 10, "slide_s": 0.01}))
    assert len(pushed(fused, [reading(0, 1), reading(gap_s, 1), tick(gap_s + 60)])) == 1999


def test_a_reading_holds_as_long_as_it_may() -> None:
    rows = [reading(0, 1), reading(60, 1), reading(200, 1), tick(400)]
    fused = core(query({"lasting_s": 1}, hold_s=90, window={"time_s": 300, "slide_s": 300}))
    spans_s = [(each["start_us"] / 1e6, each["end_us"] / 1e6) for each in pushed(fused, rows)]
    assert spans_s == [(0, 150), (200, 290)]


def test_of_readings_at_one_instant_the_smallest_sensor_and_id_counts() -> None:
    rows = [reading(10, "on", "south"), reading(10, "off", "north"), tick(HOUR_S + 60)]
    [said] = pushed(core(query({"longest": True}, by=[])), rows)
    assert (said["value"], said["count"], said["group"]) == ("off", 1, {})


@pytest.mark.parametrize(
    ("asked", "values"),
    [
        (query({"longest": True}), ["on", True, 7, 1.5]),
        (query({"longest": True}, equivalence="any"), ["on", True, 7, 1.5]),
        (LONGEST_HOT, []),
        (query({"longest": True}, equivalence={"bounded": 1}), [7, 1.5]),
        (query({"longest": True}, equivalence={"relative": 0.1}), [7, 1.5]),
    ],
)
def test_what_is_no_value_is_no_reading(asked: dict[str, Any], values: list[Any]) -> None:
    given = enumerate(["on", True, 7, 1.5, None, [1], {"is": 1}])
    rows = [reading(nth, value, f"s{nth}") for nth, value in given]
    found = pushed(core(asked), [*rows, Row("bare", 3, stream="temperature", sensor="bare"), tick(HOUR_S + 60)])
    assert [each["value"] for each in found] == values


def test_true_is_not_1() -> None:
    found = pushed(core(query({"lasting_s": 1})), [*map(reading, (0, 60, 120), (1, True, 1.0)), tick(HOUR_S + 60)])
    assert [json.dumps(each["value"]) for each in found] == ["1", "true", "1"]


def test_steps_are_told_and_joined_by_their_lower_ends() -> None:
    fused = core(query({"longest": True}, equivalence={"quantised": 5}))
    [said] = pushed(fused, [reading(0, 23), reading(600, 21.5), tick(HOUR_S + 60)])
    assert (said["value"], said["count"]) == (20, 2)
    rows = [reading(0, 24, "north"), reading(0, 26, "south"), reading(0, 21, "west"), tick(HOUR_S + 60)]
    [said] = pushed(core(query({"join": {"lasting_s": 60}}, equivalence={"quantised": 5})), rows)
    assert (said["group"], said["value"]) == ({"a.sensor": "north", "b.sensor": "west"}, {"a": 20, "b": 20})


def test_steps_of_a_tenth_are_those_of_the_decimals() -> None:
    values = [0.3, 0.7, 101.1, 101.2]  # 0.3 / 0.1 and 0.7 / 0.1 are less than 3 and 7 in float64
    rows = [reading(0, value, f"s{nth}") for nth, value in enumerate(values)]
    found = pushed(core(query({"longest": True}, equivalence={"quantised": 0.1})), [*rows, tick(HOUR_S + 60)])
    assert [each["value"] for each in found] == values
    tenth = query({"join": {"lasting_s": 60, "within": 0.1}}, equivalence={"quantised": 0.1})
    [said] = pushed(core(tenth), [*rows, tick(HOUR_S + 60)])
    assert said["value"] == {"a": 101.1, "b": 101.2}


def test_records_are_told_by_window_group_and_start() -> None:
    both = [("south", 0), ("north", 0), ("south", 1200), ("north", 1200)]
    rows = [reading(at_s, 1, sensor) for sensor, at_s in both]
    lasting = query({"lasting_s": 60}, hold_s=600, window={"time_s": HOUR_S, "slide_s": 1800})
    found = pushed(core(lasting), [*rows, tick(HOUR_S + 60)])
    order = [(each["window"]["end_us"], each["group"]["sensor"], each["start_us"]) for each in found]
    assert order == sorted(order)
    assert len(order) == 8


class TestChanges:
    def test_readings_count_from_the_activation_on(self) -> None:
        fused = core()
        pushed(fused, [reading(0, 101)])
        [said] = episodes(fused.push([put(0, LONGEST_HOT), frame(1, [reading(1800, 101), tick(HOUR_S + 60)])]))
        assert (said["start_us"], said["count"]) == (1800 * 10**6, 1)

    def test_another_limit_keeps_the_readings(self) -> None:
        fused = core(LONGEST_HOT)
        pushed(fused, [reading(0, 95), reading(600, 101)])
        warm = query({"longest": True}, where={"above": 90})
        [said] = episodes(fused.push([put(1, warm, 2), frame(1, [tick(HOUR_S + 60)])]))
        assert (said["query_version"], said["start_us"], said["count"]) == (2, 0, 2)

    def test_windows_that_end_in_a_pause_are_never_answered(self) -> None:
        fused = core(LONGEST_HOT)
        fused.push([put(1, LONGEST_HOT, 2, paused=True), frame(0, [reading(0, 101), tick(HOUR_S + 60)])])
        [said] = episodes(fused.push([put(2, LONGEST_HOT, 3), frame(1, [tick(2 * HOUR_S + 60)])]))
        assert (said["window"]["end_us"], said["start_us"]) == (2 * HOUR_S * 10**6, 0)

    def test_a_query_may_become_one_of_the_other_kind_and_back(self) -> None:
        edge = {"between": ["a", "b"], "window_s": 2, "threshold": 0.6}
        join = {"id": "hot", "from": {"a": "temperature", "b": "tick"}, "within": [edge]}
        fused = core(LONGEST_HOT)
        output = fused.push([put(1, join, 2), frame(0, [reading(10, 101), tick(11)])])
        assert (len(output.matches), episodes(output)) == (1, [])
        output = fused.push([put(2, LONGEST_HOT, 3), frame(1, [reading(20, 101), tick(HOUR_S + 60)])])
        assert (len(output.matches), len(episodes(output))) == (0, 1)
        assert list(status(output)["queries"]) == ["hot"]
        assert status(fused.push([removal(3, "hot", 4)]))["queries"] == {}

    def test_a_stream_must_be_declared(self) -> None:
        assert reasons(core().push([put(0, query({"longest": True}, "pressure"))])) == ["unknown_stream"]


class TestState:
    def test_rows_are_kept_as_long_as_they_may_hold_in_a_window(self) -> None:
        asked = query({"longest": True}, window={"time_s": 100, "slide_s": 100}, hold_s=50)
        fused = core(asked, limits=Limits(sweep_after=1))
        for nth, at_s in enumerate((0, 209.999999, 210)):  # it holds in windows that end before 150, known by 210
            pushed(fused, [reading(0, 1) if nth == 0 else tick(at_s)], nth)
            assert (status(fused.push([]))["buffered"]["temperature"] > 0) is (at_s < 210.1)
        pushed(fused, [tick(210.000001)], 3)
        assert status(fused.push([]))["buffered"]["temperature"] == 0

    def test_beyond_the_cap_the_oldest_go_and_are_counted(self) -> None:
        fused = core(query({"lasting_s": 1}, by="sensor"), limits=Limits(max_buffered=20, sweep_after=1))
        pushed(fused, [reading(nth, 101, f"s{nth:02}") for nth in range(30)])
        found = pushed(fused, [tick(HOUR_S + 60)], 1)
        assert status(fused.push([]))["totals"]["evicted"] == 11
        assert [each["group"]["sensor"] for each in found] == [f"s{nth:02}" for nth in range(11, 30)]


def drifting(fused: FusionCore, slides: int, changes_every: int, begin: int = 0, sensors: int = 1) -> dict[str, Any]:
    """Push a reading of each sensor for each slide of a second; return what is said of the coalescing in the end."""
    output = fused.push([])
    for second in range(begin, begin + slides):
        rows = [reading(second, second // changes_every, f"s{number}") for number in range(sensors)]
        output = fused.push([frame(second, [*rows, tick(second + 60)], received_at_s=second + 60)])
    said: dict[str, Any] = status(output)["queries"]["hot"]["coalescing"]
    return said


class TestSchemes:
    EACH_SECOND = query({"lasting_s": 90}, window={"time_s": 100, "slide_s": 1}, hold_s=10)

    def test_lazy_until_something_is_known(self) -> None:
        said = drifting(core(self.EACH_SECOND), 1, 1)
        assert (said["scheme"], said["reason"]) == ("lazy", "lazy until 64 readings and 2 slides are measured")
        assert (said["eager_cost_s"], said["lazy_cost_s"]) == (None, None)

    def test_a_slide_for_every_reading_and_long_runs_are_coalesced_eagerly_until_that_changes(self) -> None:
        fused = core(self.EACH_SECOND)
        steady = drifting(fused, 150, 150)
        assert steady["scheme"] == "eager"
        assert steady["eager_cost_s"] < steady["lazy_cost_s"]
        assert steady["reason"].startswith("eager: 100 % of readings coalesce, 0 % come out of order, 1 a slide over ")
        restless = drifting(fused, 60, 1, begin=150, sensors=40)
        assert restless["scheme"] == "lazy"
        assert restless["eager_cost_s"] > restless["lazy_cost_s"]

    def test_the_choice_goes_by_the_costs_that_were_measured_also_after_a_restart(self) -> None:
        cores, saved = FusionCores(STREAMS, Limits(), replace(TYPICAL, scan_eager=1.0)), SavedCore(STREAMS)
        fused = cores.create(0)
        fused.push([put(0, self.EACH_SECOND)])
        saved.save(fused)
        restored = cores.restore(0, saved.header, saved.slots.values())
        said = [drifting(each, 150, 150) for each in (fused, restored, core(self.EACH_SECOND))]
        assert [each["scheme"] for each in said] == ["lazy", "lazy", "eager"]

    def test_queries_that_read_alike_share_their_readings_and_are_chosen_for_together(self) -> None:
        other = {**self.EACH_SECOND, "id": "cold", "coalesce": {**self.EACH_SECOND["coalesce"], "where": {"below": 0}}}
        fused = core(self.EACH_SECOND, other)
        drifting(fused, 100, 100)
        said = status(fused.push([]))["queries"]
        assert {said[name]["coalescing"]["scheme"] for name in ("hot", "cold")} == {"eager"}


def test_an_area_without_a_reading_is_swept_as_others_are() -> None:
    fused = core(LONGEST_HOT, limits=Limits(sweep_after=1))
    bare = Row("bare", 0, stream="temperature")
    assert all(pushed(fused, [row], nth) == [] for nth, row in enumerate((bare, tick(HOUR_S), tick(90 * HOUR_S))))
    assert status(fused.push([]))["buffered"]["temperature"] == 0


@pytest.mark.parametrize("name", ['a"b', "a\\b", "a\tb", "is"])
def test_attributes_of_any_name_are_read(name: str) -> None:
    fused = core(query({"longest": True}, value=f"attributes.{name}", by=["sensor", f"attributes.{name}"]))
    rows = [Row(f"r{nth}", nth * HOUR_S, stream="temperature", attributes=((name, 7.0),)) for nth in range(3)]
    found = pushed(fused, [*rows, tick(3 * HOUR_S + 61)])
    assert found[-1]["group"] == {"sensor": "north", f"attributes.{name}": 7}


def test_areas_are_answered_by_name_after_a_restart_too() -> None:
    fused, saved = core(LONGEST_HOT), SavedCore(STREAMS)
    for offset, area in enumerate(["beta", "alpha"]):
        fused.push([frame(offset, [reading(HOUR_S, 101)], area)])
        saved.save(fused)
    restored = saved.restored()
    last = [frame(2 + nth, [tick(2 * HOUR_S + 61)], area) for nth, area in enumerate(["beta", "alpha"])]
    for either in (fused, restored):
        assert [each["area"] for each in episodes(either.push(last))] == ["alpha", "beta"]


@pytest.mark.parametrize("value", ["unknown", None, True, [101]])
@pytest.mark.parametrize("how", [{"where": {"above": 100}}, {"equivalence": {"bounded": 5}}])
def test_an_unknown_reading_ends_what_it_follows(value: Any, how: dict[str, Any]) -> None:
    hours = [101.0, 101.0, value, value, 101.0, 101.0, 101.0, 40.0]
    rows = [reading(hour * HOUR_S, each) for hour, each in enumerate(hours)]
    asked = query({"lasting_s": HOUR_S}, window={"time_s": DAY_S, "slide_s": DAY_S}, **how)
    found = pushed(core(asked), [*rows, tick(DAY_S + 100)])
    held = sorted((each["start_us"] / 3600e6, each["end_us"] / 3600e6) for each in found)
    assert held[:2] == [(0, 2), (4, 7)]
    assert all(isinstance(each["value"], int | float) for each in found if "value" in each)
