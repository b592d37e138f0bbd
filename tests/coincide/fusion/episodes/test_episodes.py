"""Live episodes in the fusion core: what their records hold, and how they grow, merge, split and end."""

from typing import Any

import pytest

from coincide import Histogram
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from tests.coincide.fusion.inputs import Row, frame, heartbeat, put, query_json, removal, started
from tests.coincide.fusion.outputs import Record, SavedCore, episodes, status

ROLES, WITHIN = dict.fromkeys(("one", "two", "three"), "p"), [{"window_s": 2, "threshold": 0.04}]
BURST = {"id": "burst", "from": ROLES, "form": "clique", "within": WITHIN, "at_least": 2, "coalesce": {"gap_s": 0}}
ABC = [Row(name, 1000 + nth, sensor=name) for nth, name in enumerate("abc")]


def near(gap_s: float = 5, **rule: Any) -> dict[str, Any]:
    """Both streams within 2 s; exact times, so that a match occurs at the instant of the first of its members."""
    return {**query_json(), "coalesce": {"gap_s": gap_s, **rule}}


def core(query: dict[str, Any], limits: Limits | None = None) -> FusionCore:
    return started(put(0, query), limits=limits)


def both(offset: int, at_s: float, name: str = "", area: str = "bay") -> InputRecord:
    """A match of p and s at one instant."""
    name = name or f"{at_s:g}"
    return frame(offset, [Row(f"p{name}", at_s), Row(f"s{name}", at_s, stream="s", sensor="south")], area)


def alone(offset: int, at_s: float) -> InputRecord:
    """What moves the watermark and matches nothing."""
    return frame(offset, [Row(f"w{at_s:g}", at_s, sensor="west")])


def told(fused: FusionCore, *records: InputRecord) -> list[Record]:
    return episodes(fused.push(list(records)))


def brief(record: Record) -> tuple[Any, ...]:
    if record.get("retracted"):
        return "gone", record["revision"], tuple(record["replaced_by"])
    phase = "open" if record["open"] else "final" if record["final"] else "closed"
    return phase, record["revision"], record["start_us"] / 1e6, record["end_us"] / 1e6, record["count"]


def test_a_match_is_an_episode() -> None:
    [episode] = told(core(near(by=["b.sensor"])), both(7, 1000))
    expected = {"v": 1, "id": episode["id"], "query": "near", "query_version": 1, "area": "bay", "revision": 7}
    expected |= {"start_us": 10**9, "end_us": 10**9, "count": 1, "best_probability": 1.0, "received_at_us": 10**15}
    expected |= {"duration_s": 0, "uncertainty_s": 0}
    assert episode == expected | {
        "group": {"b.sensor": "south"},
        "open": True,
        "final": False,
        "members": [
            {"detected_at_us": 10**9, "sensor": "north", "id": "p1000", "stream": "p", "attributes": {}},
            {"detected_at_us": 10**9, "sensor": "south", "id": "s1000", "stream": "s", "attributes": {}},
        ],
        "members_truncated": False,
    }


def test_how_long_it_lasted_is_told_apart_from_the_doubt_about_when() -> None:
    """Alarms for 5 s, by two clocks that may be 4 s wrong either way."""
    query = near()
    query["within"][0] |= {"window_s": 1, "threshold": 0.01}
    clock = Histogram.uniform(-4, 4)
    rows = [Row(f"{stream}{at_s}", 1000 + at_s, clock, stream, stream) for stream in "ps" for at_s in range(6)]
    [episode] = told(core(query), frame(0, rows))
    assert episode["duration_s"] == pytest.approx(5, abs=0.1)
    span_s = (episode["end_us"] - episode["start_us"]) / 1e6
    assert span_s > 9
    assert episode["uncertainty_s"] == pytest.approx(span_s - episode["duration_s"])


def test_members_have_what_was_reported_with_them() -> None:
    rows = [Row("p", 1000, attributes=(("db", 90.5),)), Row("s", 1000, stream="s", sensor="south")]
    fused = core(near())
    [episode] = told(fused, frame(0, rows))
    assert [each["attributes"] for each in episode["members"]] == [{"db": 90.5}, {}]
    saved = SavedCore()
    saved.save(fused)
    [grown] = told(saved.restored(), both(1, 1004))
    assert [each["attributes"] for each in grown["members"]] == [{"db": 90.5}, {}, {}, {}]


def test_matches_a_gap_apart_are_one_episode_and_a_microsecond_more_parts_them() -> None:
    fused = core(near(gap_s=5))
    [first] = told(fused, both(0, 1000))
    [grown] = told(fused, both(1, 1005))
    assert (first["id"], brief(grown)) == (grown["id"], ("open", 1, 1000, 1005, 2))
    other, before = sorted(told(fused, both(2, 1010.000001)), key=lambda record: -record["revision"])
    assert (brief(other)[1:], brief(before)) == ((2, 1010.000001, 1010.000001, 1), ("closed", 1, 1000, 1005, 2))


def test_what_comes_between_two_episodes_merges_them_and_takes_the_later_back() -> None:
    fused = core(near(gap_s=5))
    [first], [second] = told(fused, both(0, 1000)), [r for r in told(fused, both(1, 1008)) if r["revision"] == 1]
    merged, gone = told(fused, both(2, 1004))
    assert (merged["id"], brief(merged)) == (first["id"], ("open", 2, 1000, 1008, 3))
    assert (gone["id"], brief(gone)) == (second["id"], ("gone", 2, (first["id"],)))


def test_an_earlier_member_gives_the_episode_another_name() -> None:
    fused = core(near(gap_s=5))
    [episode] = told(fused, both(0, 1000))
    renamed, gone = told(fused, both(1, 997))
    assert renamed["id"] != episode["id"] == gone["id"]
    assert (brief(renamed), brief(gone)) == (("open", 1, 997, 1000, 2), ("gone", 1, (renamed["id"],)))


def test_time_closes_an_episode_and_makes_it_final() -> None:
    # p may be 20 s late and s 10 s, templates 8 s long: a p of latest W - 20 s begins at W - 28 s, and partners of it
    # begin, 2 s of window before, with 8 s of their own template before that and 1 or 2 us of rounding for each
    fused = core(near(gap_s=5))
    told(fused, both(0, 1000))
    assert told(fused, alone(1, 1005)) == []
    assert [brief(record) for record in told(fused, alone(2, 1005.000001))] == [("closed", 0, 1000, 1000, 1)]
    assert told(fused, alone(3, 1005 + 20 + 8 + 2)) == []
    [final] = told(fused, alone(4, 1005 + 20 + 8 + 2 + 8 + 8.00001))
    assert brief(final) == ("final", 0, 1000, 1000, 1)
    assert told(fused, alone(5, 2000)) == []
    assert all(slot >= 0 for slot in fused.live_slots())  # none of an episode


def test_what_may_still_be_enlarged_by_something_on_time_is_not_final() -> None:
    early = Histogram(edges_s=[-8, -7.9, 0], mass=[0.95, 0.05])  # most likely 8 s before it was noticed
    late = Histogram(edges_s=[-8, -0.1, 0], mass=[0.05, 0.95])
    fused = core({**query_json(), "coalesce": {"gap_s": 1, "interval": "hull"}})
    [episode] = told(fused, both(0, 1000))
    fused.push([alone(1, 1016), frame(2, [Row("s", 1007.5, late, "s")])])
    assert told(fused, alone(3, 1037)) == []
    # 20 s behind, as late as a p may be: it lies at 1009, 1.5 s after the s, which may lie anywhere from 999.5 on
    [grown] = told(fused, frame(4, [Row("p", 1017, early)]))
    assert (grown["id"], brief(grown)) != (episode["id"], brief(episode))
    assert brief(grown)[1:] == (4, 999.5, 1017, 2)


def test_heartbeats_end_the_last_episode_of_a_silent_area() -> None:
    fused = core(near(gap_s=5))
    fused.push([frame(0, [Row("p", 1000), Row("s", 1000, stream="s", sensor="south")], received_at_s=1000.0)])
    beats_s = range(1005, 1105, 5)
    phases = [(at_s, brief(record)[0]) for at_s in beats_s for record in told(fused, heartbeat(at_s, at_s))]
    # after 30 s of silence the watermark goes on: closed after 1005, final after 1005 + 38 and some microseconds
    assert phases == [(1040, "closed"), (1075, "final")]


def test_one_batch_may_begin_and_end_an_episode() -> None:
    assert [brief(record)[0] for record in told(core(near()), both(0, 1000), alone(1, 2000))] == ["final"]


def test_groups_are_apart() -> None:
    fused = core(near(by=["a.attributes.object"]))
    rows = [
        Row(f"{stream}{nth}", 1000, stream=stream, sensor=stream, attributes=(("object", value),))
        for nth, value in enumerate([7, 7.0, "7", True])
        for stream in "ps"
    ]
    found = told(core({**near(by=["attributes.object"]), "equal": "attributes.object"}), frame(0, rows))
    counts = sorted((repr(e["group"]["attributes.object"]), e["count"]) for e in found)
    assert counts == [("'7'", 1), ("7", 4), ("True", 1)]
    assert len(told(fused, frame(0, rows))) == 3
    areas = told(core(near()), both(0, 1000), both(1, 1000, area="hill"))
    assert [(e["area"], e["count"]) for e in areas] == [("bay", 1), ("hill", 1)]


def test_an_episode_of_very_many_members_names_the_first() -> None:
    fused = core(near(gap_s=5))
    told(fused, *(both(offset, 1000 + 3 * offset) for offset in range(149)))
    [episode] = told(fused, both(149, 1000 + 3 * 149))
    assert (episode["count"], len(episode["members"]), episode["members_truncated"]) == (150, 200, True)
    assert [member["id"] for member in episode["members"][:2]] == ["p1000", "s1000"]
    assert episode["members"][-1]["id"] == "s1297"


def test_a_removed_query_leaves_its_episodes_final() -> None:
    fused = core(near())
    told(fused, both(0, 1000))
    assert [brief(record)[0] for record in told(fused, removal(1))] == ["final"]
    assert told(fused, both(1, 1001)) == []


def test_another_gap_begins_anew_and_another_threshold_goes_on() -> None:
    fused = core(near())
    [episode] = told(fused, both(0, 1000))
    assert told(fused, put(1, {**near(), "within": query_json(threshold=0.9)["within"]}, 2)) == []
    [grown] = told(fused, both(1, 1003))
    assert (grown["id"], grown["query_version"], grown["count"]) == (episode["id"], 2, 2)
    ended, anew = told(fused, put(2, near(gap_s=6), 3), both(2, 1007))
    assert (ended["id"], brief(ended)[0], anew["count"]) == (episode["id"], "final", 1)


def test_a_pause_lets_time_go_on() -> None:
    fused = core(near())
    told(fused, both(0, 1000))
    assert told(fused, put(1, near(), 2, paused=True), both(1, 1002)) == []
    assert [brief(record) for record in told(fused, alone(2, 1100))] == [("final", 0, 1000, 1000, 1)]


def test_episodes_are_counted() -> None:
    fused = core(near())
    fused.push([both(0, 1000)])
    counted = status(fused.push([both(1, 1003), alone(2, 1100)]))
    assert (counted["totals"]["episodes"], counted["queries"]["near"]["episodes"]) == (2, 2)


def quiet(limits: Limits) -> tuple[FusionCore, SavedCore, str]:
    """An episode of an area that the last batch forgot, as saved, and its id."""
    fused = core(near(), limits)
    saved = SavedCore(limits=limits)
    match = frame(0, [Row("p", 1000), Row("s", 1000, stream="s")], "quiet", received_at_s=1001.0)
    [episode] = episodes(fused.push([match]))
    saved.save(fused)
    fused.push([frame(1, [Row("p", 1000)], "bay", received_at_s=4602.0)])
    saved.save(fused)
    return fused, saved, episode["id"]


@pytest.mark.parametrize("is_restored", [False, True])
def test_the_end_of_a_forgotten_area_s_episodes_survives_a_restart(is_restored: bool) -> None:
    fused, saved, episode = quiet(Limits(sweep_after=1, forget_area_after_s=3600))
    if is_restored:
        fused = saved.restored()
    [final] = told(fused, frame(2, [Row("q", 1000)], "bay", received_at_s=4602.0))
    assert (final["id"], brief(final)[0]) == (episode, "final")


def test_an_area_that_comes_back_goes_on_with_nothing() -> None:
    fused, _, episode = quiet(Limits(sweep_after=1, forget_area_after_s=3600))
    ended, anew = told(fused, frame(2, [Row("p", 1002), Row("s", 1002, stream="s")], "quiet", received_at_s=4603.0))
    assert (ended["id"], brief(ended)[0]) == (episode, "final")
    assert (anew["id"] != episode, brief(anew)) == (True, ("open", 2, 1002, 1002, 1))


def test_a_query_that_is_removed_and_comes_back_in_one_batch_begins_anew() -> None:
    fused = core(near())
    [episode] = told(fused, both(0, 1000))
    ended, anew = told(fused, removal(1), put(2, near(), 3), both(1, 1001))
    assert (ended["id"], brief(ended)[0]) == (episode["id"], "final")
    assert (anew["id"] != episode["id"], anew["count"]) == (True, 1)


def test_episodes_of_another_rule_have_other_ids() -> None:
    fused = core(near())
    [episode] = told(fused, both(0, 1000))
    ended, anew = told(fused, put(1, near(gap_s=6), 2), frame(1, [Row("again", 1000, stream="s", sensor="south")]))
    assert ended["id"] == episode["id"] != anew["id"]
    assert anew["members"][0] == episode["members"][0]


def test_what_is_superseded_in_one_area_stays_in_another_where_all_has_the_same_names() -> None:
    fused = core(BURST)
    bay, hill = told(fused, frame(0, ABC[:2]), frame(1, ABC[:2], "hill"))
    [three] = told(fused, frame(2, ABC[2:]))
    assert (bay["id"], bay["area"], three["area"], three["count"]) == (three["id"], "bay", "bay", 1)
    [grown] = told(fused, frame(3, [Row("d", 1000.5, sensor="d")], "hill"))
    assert (grown["id"], grown["count"], len(grown["members"])) == (hill["id"], 1, 3)
