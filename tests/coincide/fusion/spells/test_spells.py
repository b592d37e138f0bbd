"""Spells in the fusion core: what is told of them and when, late readings, limits at run time, what is no number."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from coincide import Histogram, Stream
from coincide.fusion.control.host import Host
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from tests.coincide.fusion.inputs import Row, frame, put, removal, started
from tests.coincide.fusion.outputs import SavedCore, episodes, letters, status

STREAMS = {"temperature": Stream("temperature", max_delay_s=30), "tick": Stream("tick")}
DAY_S, YEAR_S = 86_400, 365 * 86_400


def hot(above: float = 40, name: str = "hot", lasting_s: float = 60, **coalesce: Any) -> dict[str, Any]:
    read = {"from": "temperature", "value": "attributes.celsius", "where": {"above": above}}
    return {"id": name, "coalesce": {**read, **coalesce}, "lasting_s": lasting_s}


def core(*queries: dict[str, Any], limits: Limits | None = None) -> FusionCore:
    return started(*(put(offset, each) for offset, each in enumerate(queries)), streams=STREAMS, limits=limits)


def reading(at_s: float, celsius: Any = 45, sensor: str = "hall") -> Row:
    return Row(f"{sensor}-{at_s}", at_s, stream="temperature", sensor=sensor, attributes=(("celsius", celsius),))


def tick(at_s: float) -> Row:
    """Moves the area's watermark, and is no reading."""
    return Row(f"tick-{at_s}", at_s, stream="tick", sensor="clock")


def told(fused: FusionCore, offset: int, rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    """Push one frame; return what is told: start, end and state in seconds, or what replaces what."""
    found = []
    for each in episodes(fused.push([frame(offset, list(rows))])):
        if each.get("retracted"):
            found.append((each["id"], "retracted", each["replaced_by"]))
        else:
            state = "open" if each["open"] else "final" if each["final"] else "closed"
            found.append((each["start_us"] / 1e6, each["end_us"] / 1e6, state))
    return found


def minute(begin_s: float = 0) -> list[Row]:
    return [reading(begin_s + at_s) for at_s in range(0, 70, 10)]


def member(at_s: int, celsius: float = 45) -> dict[str, Any]:
    name = {"detected_at_us": at_s * 1_000_000, "sensor": "hall", "id": f"hall-{at_s}", "stream": "temperature"}
    return {**name, "attributes": {"celsius": celsius}}


class TestLife:
    def test_one_that_was_told_is_ended_though_its_query_was_left_amid_a_push(self) -> None:
        fused = core(hot())
        assert told(fused, 0, minute()) == [(0, 60, "open")]
        left = fused.push([frame(1, [reading(70, 30)])], Host(stopped=lambda: {"hot": 2}))
        assert episodes(left) == []
        [ended] = episodes(fused.push([removal(1, "hot", 2)]))
        assert (ended["start_us"], ended["final"]) == (0, True)

    def test_open_once_then_closed_then_final(self) -> None:
        fused = core(hot())
        said = [told(fused, nth, [row]) for nth, row in enumerate(minute())]
        assert said == [[]] * 6 + [[(0, 60, "open")]]
        assert [told(fused, 10 + nth, [reading(70 + 10 * nth)]) for nth in range(100)] == [[]] * 100
        assert told(fused, 200, [reading(1070, 30)]) == [(0, 1070, "closed")]
        assert told(fused, 201, [tick(1100)]) == []  # one at 1070 might still come, and count instead
        assert told(fused, 202, [tick(1100.1)]) == [(0, 1070, "final")]
        assert told(fused, 203, [tick(9999)]) == []

    def test_silence_ends_it_at_its_last_reading(self) -> None:
        fused = core(hot(hold_s=20))
        told(fused, 0, minute())
        assert told(fused, 1, [tick(80)]) == []
        assert told(fused, 2, [tick(81)]) == [(0, 60, "closed")]
        assert told(fused, 3, [tick(111)]) == [(0, 60, "final")]

    def test_a_late_reading_opens_it_again_in_time(self) -> None:
        fused = core(hot(hold_s=20))
        told(fused, 0, minute())
        told(fused, 1, [tick(81)])
        assert told(fused, 2, [reading(75)]) == [(0, 75, "open")]

    def test_one_that_was_over_before_it_was_heard_of_is_final_at_once(self) -> None:
        assert told(core(hot()), 0, [*minute(), reading(70, 0), tick(DAY_S)]) == [(0, 70, "final")]

    def test_the_record_is_that_of_an_episode(self) -> None:
        [said] = episodes(core(hot()).push([frame(7, minute(), received_at_s=100)]))
        assert said["id"].startswith("e-")
        del said["id"]
        assert said == {
            "v": 1,
            "query": "hot",
            "query_version": 1,
            "area": "bay",
            "group": {"sensor": "hall"},
            "revision": 7,
            "start_us": 0,
            "end_us": 60_000_000,
            "duration_s": 60,
            "count": 7,
            "best_probability": 1.0,
            "open": True,
            "final": False,
            "received_at_us": 100_000_000,
            "members": [member(0), member(60)],
            "members_truncated": True,
            "value": 45,
        }

    def test_its_members_have_their_attributes_after_they_were_settled_and_saved(self) -> None:
        """The first reading is not kept any more; what stands for it is read from the slots."""
        saved = SavedCore(STREAMS, Limits(sweep_after=1))
        fused = core(hot(hold_s=2 * DAY_S), limits=saved.limits)
        for nth, rows in enumerate(([*minute(), tick(DAY_S)], [reading(DAY_S, 50)], [tick(DAY_S + 40)])):
            fused.push([frame(nth, rows)])
            saved.save(fused)
        assert status(fused.push([]))["buffered"]["temperature"] == 0
        saved.save(fused)
        [said] = episodes(saved.restored().push([frame(9, [reading(DAY_S + 60, 30)])]))
        assert said["members"] == [member(0), member(DAY_S, 50)]


class TestTwoLimits:
    def test_a_value_that_swings_about_the_limit_makes_one_spell(self) -> None:
        swinging = [reading(at_s, 45 if at_s % 20 == 0 else 39.5) for at_s in range(0, 130, 10)]
        assert told(core(hot()), 0, [*swinging, tick(DAY_S)]) == []
        both = core(hot(where={"above": 40, "until_below": 37}))
        assert told(both, 0, swinging) == [(0, 120, "open")]
        assert told(both, 1, [reading(130, 37)]) == []
        assert told(both, 2, [reading(140, 36.9)]) == [(0, 140, "closed")]
        assert told(both, 3, [reading(at_s, 38) for at_s in range(150, 300, 10)]) == [(0, 140, "final")]

    def test_the_mirror_image(self) -> None:
        cold = core(hot(where={"below": -18, "until_above": -15}))
        frozen = [reading(at_s, -20 if at_s == 0 else -16) for at_s in range(0, 70, 10)]
        assert told(cold, 0, frozen) == [(0, 60, "open")]
        assert told(cold, 1, [reading(70, -14)]) == [(0, 70, "closed")]

    def test_a_late_cold_reading_among_those_between_gives_a_spell_back(self) -> None:
        """Each record of an id counts that has the greatest revision: the one that comes back has a greater one."""
        fused = core(hot(where={"above": 40, "until_below": 37}, lasting_s=10))
        assert told(fused, 0, [reading(20), reading(30)]) == [(20, 30, "open")]
        earlier, gone = told(fused, 1, [reading(10), reading(14, 38)])
        assert (earlier, gone[1]) == ((10, 30, "open"), "retracted")
        back = next(each for each in episodes(fused.push([frame(2, [reading(12, 30)])])) if not each.get("retracted"))
        assert (back["id"], back["start_us"], back["revision"]) == (gone[0], 20_000_000, 2)

    def test_other_second_limits_count_from_the_next_reading_on(self) -> None:
        fused = core(hot(where={"above": 40, "until_below": 37}))
        told(fused, 0, [reading(0), *(reading(at_s, 38) for at_s in range(10, 70, 10))])
        fused.push([put(1, hot(where={"above": 40, "until_below": 39}), 2)])
        assert told(fused, 3, [reading(70, 39)]) == []
        assert told(fused, 4, [reading(80, 38)]) == [(0, 80, "closed")]

    def test_a_spell_between_two_limits_survives_a_restart(self) -> None:
        saved = SavedCore(STREAMS, Limits(sweep_after=1))
        fused = core(hot(where={"above": 40, "until_below": 37}), limits=saved.limits)
        for nth, rows in enumerate(([reading(600, 38)], [tick(660), reading(659, 38)], [reading(690), tick(730)])):
            assert told(fused, nth, rows) == []
            saved.save(fused)
            fused = saved.restored()
        assert told(fused, 9, [reading(at_s, 38) for at_s in range(740, 751, 10)]) == [(690, 750, "open")]


class TestLateReadings:
    def test_a_late_cold_reading_splits_a_spell(self) -> None:
        fused = core(hot())
        told(fused, 0, [reading(at_s) for at_s in range(0, 150, 10)])
        assert told(fused, 1, [reading(115, 20)]) == [(0, 115, "closed")]
        assert told(fused, 2, [reading(at_s) for at_s in range(150, 190, 10)]) == [
            (0, 115, "final"),
            (120, 180, "open"),
        ]

    def test_a_spell_that_did_not_last_after_all_is_taken_back(self) -> None:
        fused = core(hot())
        [first] = episodes(fused.push([frame(0, minute())]))
        assert told(fused, 1, [reading(35, 20)]) == [(first["id"], "retracted", [])]

    def test_a_late_hot_reading_unites_two_spells(self) -> None:
        fused = core(hot(lasting_s=10, hold_s=15))
        first, second = episodes(fused.push([frame(0, [reading(at_s) for at_s in (30, 40, 60, 70)])]))
        united, gone = episodes(fused.push([frame(1, [reading(50)])]))
        assert (united["id"], united["start_us"], united["count"]) == (first["id"], 30_000_000, 5)
        assert (gone["id"], gone["retracted"], gone["replaced_by"]) == (second["id"], True, [first["id"]])

    def test_an_earlier_first_reading_makes_it_another(self) -> None:
        fused = core(hot(lasting_s=20))
        [first] = episodes(fused.push([frame(0, [reading(at_s) for at_s in (40, 50, 60)])]))
        [new, old] = episodes(fused.push([frame(1, [reading(35)])]))
        assert (new["start_us"], old["id"], old["replaced_by"]) == (35_000_000, first["id"], [new["id"]])


class TestLimits:
    """A reading is judged by the limits in force when it came."""

    def test_before_at_and_after_a_change(self) -> None:
        fused = core(hot(40))
        assert told(fused, 0, minute()) == [(0, 60, "open")]
        output = fused.push([put(1, hot(50), 2), frame(1, [reading(70, 45), reading(80, 55)])])
        [closed] = episodes(output)
        assert (closed["end_us"], closed["open"], closed["query_version"]) == (70_000_000, False, 2)
        rows = [reading(at_s, 55) for at_s in range(90, 150, 10)]
        assert told(fused, 2, rows) == [(0, 70, "final"), (80, 140, "open")]

    def test_a_spell_goes_on_within_other_limits(self) -> None:
        fused = core(hot(40))
        told(fused, 0, minute())
        assert episodes(fused.push([put(1, hot(30), 2), frame(1, [reading(70, 35)])])) == []
        assert told(fused, 2, [reading(80, 20)]) == [(0, 80, "closed")]

    def test_they_are_known_after_a_restart(self) -> None:
        fused, saved = core(hot(40)), SavedCore(STREAMS)
        saved.save(fused)
        for push in ([frame(0, minute())], [put(1, hot(50), 2), frame(1, [reading(70, 55)])]):
            fused.push(push)
            saved.save(fused)
        for each in (fused, saved.restored()):
            assert told(each, 2, [reading(65, 45)]) == [(0, 65, "closed")]  # it came when the limit was 50

    @pytest.mark.parametrize(
        "changed", [hot(lasting_s=30), hot(hold_s=10), hot(by=[]), hot(equivalence={"bounded": 9})]
    )
    def test_any_other_change_ends_the_spells(self, changed: dict[str, Any]) -> None:
        fused = core(hot())
        told(fused, 0, minute())
        [final] = episodes(fused.push([put(1, changed, 2)]))
        assert (final["start_us"], final["final"]) == (0, True)
        assert told(fused, 1, [reading(70)]) == []

    def test_a_pause_ends_the_spells_and_they_begin_anew(self) -> None:
        fused = core(hot())
        told(fused, 0, minute())
        [final] = episodes(fused.push([put(1, hot(), 2, paused=True), frame(1, [reading(70)])]))
        assert final["final"]
        fused.push([put(2, hot(), 3)])
        assert told(fused, 2, [reading(at_s) for at_s in range(80, 150, 10)]) == [(80, 140, "open")]

    def test_a_removal_ends_the_spells(self) -> None:
        fused = core(hot())
        told(fused, 0, minute())
        [final] = episodes(fused.push([removal(1, "hot")]))
        assert final["final"]


def test_times_that_are_uncertain_decide_by_the_threshold() -> None:
    """Each known to 20 s: 60 s apart as reported, they lay 60 s apart with 1/2, and 70 s apart with 7/8."""
    clock = Histogram.uniform(-10, 10)
    rows = [Row(f"r{at_s}", at_s, clock, "temperature", "hall", (("celsius", 45),)) for at_s in (0, 20, 40, 60, 70)]
    sure = {**hot(name="sure"), "threshold": 0.8}
    fused = core(hot(), sure)
    said = [
        [(it["query"], it["best_probability"]) for it in episodes(fused.push([frame(n, [row])]))]
        for n, row in enumerate(rows)
    ]
    assert said == [[], [], [], [("hot", 0.5)], [("sure", 0.875)]]


class TestState:
    def test_a_spell_of_a_year_keeps_no_readings(self) -> None:
        fused, saved = core(hot(hold_s=2 * DAY_S), limits=Limits(sweep_after=16)), SavedCore(STREAMS)
        saved.limits = Limits(sweep_after=16)
        saved.save(fused)
        for day in range(365):
            fused.push([frame(day, [reading(day * DAY_S + hour * 3600) for hour in range(24)])])
            saved.save(fused)
        assert status(fused.push([]))["buffered"]["temperature"] < 48
        saved.save(fused)
        assert sum(map(len, saved.slots.values())) < 8_000
        for each in (fused, saved.restored()):
            [closed] = episodes(each.push([frame(400, [reading(YEAR_S, 20)])]))
            assert (closed["start_us"], closed["end_us"], closed["count"]) == (0, YEAR_S * 10**6, 365 * 24)

    def test_what_is_evicted_is_settled(self) -> None:
        fused = core(hot(), limits=Limits(max_buffered=8, sweep_after=1))
        assert told(fused, 0, [reading(at_s / 10) for at_s in range(800)]) == [(0, 79.9, "open")]
        assert status(fused.push([]))["totals"]["evicted"] > 200
        assert told(fused, 1, [reading(90, 20)]) == [(0, 90, "closed")]


class TestNoNumber:
    VALUES: tuple[Any, ...] = ("hot", True, None, [45], {"is": 45})

    def test_each_is_a_letter_and_the_rest_goes_on(self) -> None:
        fused = core(hot())
        rows = [reading(at_s, value, "attic") for at_s, value in enumerate(self.VALUES, 60)]
        missing = Row("bare", 66, stream="temperature", sensor="attic")
        output = fused.push([frame(0, [*minute(), *rows, missing])])
        assert len(episodes(output)) == 1
        refused = letters(output)
        assert [(each["reason"], each["sensor"], each["stream"]) for each in refused] == [
            ("no_number", "attic", "temperature")
        ] * 6
        assert refused[0]["detail"] == 'attributes.celsius is "hot": a query needs a number'
        assert json.loads(json.dumps(refused[-1]["record"]))["id"] == "bare"
        totals = status(output)["totals"]
        assert (totals["no_number"], totals["accepted"], totals["malformed"]) == (6, 13, 0)

    @pytest.mark.parametrize("value", VALUES)
    @pytest.mark.parametrize("how", [{}, {"equivalence": {"bounded": 1}}])
    def test_it_ends_what_it_follows(self, value: Any, how: dict[str, Any]) -> None:
        fused = core(hot(**how))
        rows = [reading(at_s) for at_s in range(0, 50, 10)] + [reading(50, value)]
        assert told(fused, 0, [*rows, *(reading(at_s) for at_s in range(60, 110, 10))]) == []
        assert told(fused, 1, [reading(at_s) for at_s in range(110, 130, 10)]) == [(60, 120, "open")]
        assert told(fused, 2, [reading(130, value)]) == [(60, 130, "closed")]

    def test_it_is_saved_as_the_reading_that_it_is(self) -> None:
        saved, fused = SavedCore(STREAMS), core(hot())
        saved.save(fused)
        for nth, rows in enumerate(([*minute(), reading(70, "gone")], [tick(90)], [tick(500)])):
            told(fused, nth, rows)
            saved.save(fused)
        for each in (fused, saved.restored()):
            assert told(each, 3, [reading(at_s) for at_s in range(520, 590, 10)]) == [(520, 580, "open")]

    def test_without_the_attribute_nothing_ends(self) -> None:
        fused = core(hot())
        missing = Row("bare", 30, stream="temperature", sensor="hall")
        assert told(fused, 0, [*minute(), missing]) == [(0, 60, "open")]

    def test_a_text_that_writes_a_number_is_a_reading(self) -> None:
        fused = core(hot())
        output = fused.push([frame(0, [reading(at_s, "45.0") for at_s in range(0, 70, 10)])])
        assert (len(episodes(output)), letters(output)) == (1, [])

    def test_one_letter_however_many_queries_read_it(self) -> None:
        window = {"id": "windows", "coalesce": {**hot()["coalesce"], "window": {"time_s": 60, "slide_s": 60}}}
        fused = core(hot(), hot(name="other"), {**window, "longest": True})
        assert len(letters(fused.push([frame(0, [reading(0, "hot")])]))) == 1

    def test_only_where_a_number_is_needed(self) -> None:
        steady = hot()
        del steady["coalesce"]["where"]
        fused = core(steady)
        rows = [reading(at_s, "on") for at_s in (0, 60)]
        assert told(fused, 0, rows) == [(0, 60, "open")]
        assert letters(fused.push([frame(1, [reading(70, None)])])) == []
