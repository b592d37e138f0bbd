"""When the evidence of a match is told, and what becomes of it where a query changes or much hangs together."""

import json
import math
from math import log2
from typing import Any

import numpy as np
import pytest

from coincide import Histogram, Network
from coincide.clocks import Clock
from coincide.evidence import one_source_density
from coincide.fusion.control.host import Host
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord, Output
from coincide.fusion.rows.rates import Background
from coincide.fusion.weighing import match_groups, shard_evidence
from coincide.fusion.weighing.unpaired_rates import counted_hz, unpaired_hz
from coincide.templates.clocked import whole_of
from tests.coincide.fusion.inputs import Row, frame, put, removal, started

CLOCK = Histogram.uniform(-1, 1)
WITHIN = [{"between": ["a", "b"], "window_s": 1, "threshold": 0.01}]
QUERY = {"id": "near", "from": {"a": "p", "b": "p"}, "within": WITHIN, "event": {"per_day": 20, "heard_by": 0.8}}
PLAIN = {name: value for name, value in QUERY.items() if name != "event"}
WATCHED = [
    frame(
        nth, [Row(f"{nth}", 100.0 * nth, CLOCK, sensor="north"), Row(f"{nth}", 100.0 * nth + 50, CLOCK, sensor="south")]
    )
    for nth in range(1, 9)
]
AFTER_S = 10_000.0  # long after everything


def pair(number: int, at_s: float, later_s: float = 0.5) -> InputRecord:
    rows = [Row(f"n{number}", at_s, CLOCK, sensor="north"), Row(f"s{number}", at_s + later_s, CLOCK, sensor="south")]
    return frame(number, rows)


def clock(number: int, at_s: float = AFTER_S) -> InputRecord:
    """A detection that moves the watermark and is in no match."""
    return frame(number, [Row(f"c{number}", at_s, CLOCK, "s", "west")])


def evidence(output: Output) -> list[dict[str, Any]]:
    return [json.loads(each.value) for each in output.evidence]


def begun(query: dict[str, Any] = QUERY) -> FusionCore:
    core = started(put(0, query))
    core.push(WATCHED)
    return core


def test_it_is_told_once_the_watermark_has_passed_all_that_may_share_a_member() -> None:
    core = begun()
    first = core.push([pair(20, 1_000.0)])
    assert (len(first.matches), first.evidence) == (1, [])
    # another may come for 20 s of delay, 8 s of the longest template, 1 s of window, and what its own times may be
    assert core.push([clock(21, 1_015.0)]).evidence == []
    told = core.push([clock(22, 1_060.0)])
    [record] = evidence(told)
    assert record["id"] == json.loads(first.matches[0].value)["id"]
    assert [each.key for each in told.evidence] == [b"bay"]
    assert [term["kind"] for term in record["terms"]] == ["events", "member", "member", "times"]
    assert record["posterior"] == pytest.approx(1 / (1 + 2 ** -record["bits"]))
    assert core.push([clock(23)]).evidence == []


def test_it_waits_for_what_hangs_together_through_others() -> None:
    core = begun()
    chain = [pair(20 + nth, 1_000.0 + 1.2 * nth) for nth in range(40)]
    told = [each for record in chain for each in evidence(core.push([record]))]
    assert told == []
    assert len(evidence(core.push([clock(90)]))) > 40


def test_without_event_there_is_none_and_matches_are_the_same() -> None:
    records = [pair(20, 1_000.0), pair(21, 1_000.7), clock(22)]
    outputs = [begun(query).push(records) for query in (PLAIN, QUERY)]
    assert outputs[0].matches == outputs[1].matches != []
    assert [len(each.evidence) for each in outputs] == [0, len(outputs[0].matches)]


def test_it_is_null_until_the_area_has_been_watched() -> None:
    core = started(put(0, QUERY))
    core.push([pair(20, 1_000.0)])
    [record] = evidence(core.push([clock(21)]))
    assert (record["bits"], record["posterior"], record["unknown"]) == (None, None, "not_watched_yet")
    assert (record["terms"], record["members"]) == ([], [])


def test_it_is_told_at_once_where_the_query_says_how_much_else_is_reported() -> None:
    declared = {**QUERY, "event": {**QUERY["event"], "unpaired_per_day": 1}}  # type: ignore[dict-item]
    core = started(put(0, declared))
    core.push([pair(20, 1_000.0)])
    [record] = evidence(core.push([clock(21)]))
    of_members = [term for term in record["terms"] if term["kind"] == "member"]
    assert [term["bits"] for term in of_members] == pytest.approx([math.log2(0.8 * 86_400)] * 2)
    assert all("makes 1 other report a day" in term["sentence"] for term in of_members)
    assert record["posterior"] > 0.9


@pytest.mark.parametrize(
    "change",
    [
        removal(1),
        put(1, {**QUERY, "event": {"per_day": 3, "heard_by": 0.8}}, 2),
        put(1, PLAIN, 2),
    ],
    ids=["removed", "another event", "no event"],
)
def test_a_query_that_does_not_go_on_tells_what_it_has_by_its_own_word(change: InputRecord) -> None:
    core, expected = begun(), begun()
    for each in (core, expected):
        each.push([pair(20, 1_000.0)])
    told = core.push([change])
    assert told.evidence == expected.push([clock(21)]).evidence != []
    assert core.push([clock(21)]).evidence == []


@pytest.mark.parametrize("version", [put(1, QUERY, 2, paused=True), put(1, {**QUERY, "limits": {}}, 2)])
def test_a_pause_or_another_threshold_lets_it_come_in_time(version: InputRecord) -> None:
    core = begun()
    core.push([pair(20, 1_000.0)])
    assert core.push([version]).evidence == []
    [record] = evidence(core.push([clock(21)]))
    assert record["query_version"] == 1


def test_too_much_that_hangs_together_is_told_at_once_and_whatever_joins_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(match_groups, "MOST_PARTS", 3)
    core = begun()
    rows = [Row(f"n{nth}", 1_000.0 + nth / 10, CLOCK, sensor="north") for nth in range(2)]
    rows += [Row(f"s{nth}", 1_000.3 + nth / 10, CLOCK, sensor="south") for nth in range(2)]
    output = core.push([frame(20, rows)])
    assert len(output.matches) == 4
    assert {each["unknown"] for each in evidence(output)} == {"too_much_work"}
    assert {each["id"] for each in evidence(output)} == {json.loads(each.value)["id"] for each in output.matches}
    joining = core.push([frame(21, [Row("late", 1_000.6, CLOCK, sensor="south")])])
    assert [each["unknown"] for each in evidence(joining)] == ["too_much_work"] * len(joining.matches)
    apart = core.push([pair(22, 1_030.0), clock(23)])
    assert [each["posterior"] is None for each in evidence(apart)] == [False]
    assert not [number for number in core.live_slots() if number <= -(3 * 2**29)]


def test_a_sensor_that_lives_and_is_silent_speaks_against_an_event() -> None:
    told = []
    for at_s in ((), (150.0, 850.0), (150.0, 160.0)):
        core = started(put(0, QUERY))
        others = [frame(60 + nth, [Row(f"{nth}", each, CLOCK, sensor="east")]) for nth, each in enumerate(at_s)]
        for each in sorted(
            [*WATCHED, *others], key=lambda record: json.loads(record.value or b"")["detections"]["detected_at_us"]
        ):
            core.push([each])
        core.push([pair(80, 1_000.0)])
        told += evidence(core.push([clock(81)]))
    without, lively, late = told
    assert [term["sensor"] for term in lively["terms"] if term["kind"] == "silent"] == ["east"]
    assert lively["terms"][-1]["bits"] == pytest.approx(log2(1 - 0.8))
    assert lively["bits"] < without["bits"] - 2
    assert late["terms"][-1]["sensor"] == "east"  # five of its mean intervals have not passed


def test_a_clock_that_members_share_is_a_term_of_its_own() -> None:
    own = Histogram.uniform(-0.1, 0.1)
    gateway = Clock("gw-7", Histogram.uniform(-3, 3)).template(own)
    told = []
    for template in (gateway, whole_of(gateway)):
        core = begun()
        core.push(
            [
                frame(
                    20,
                    [
                        Row(f"{at_s}", at_s, template, sensor=name)
                        for name, at_s in (("north", 1_000.0), ("south", 1_000.1))
                    ],
                )
            ]
        )
        told += evidence(core.push([clock(21)]))
    on_clock, alone = told
    assert [term["kind"] for term in on_clock["terms"]] == ["events", "member", "member", "times", "clock"]
    assert on_clock["terms"][-1]["sentence"] == "north and south share the clock gw-7, which may be off by 3 s."
    density = [one_source_density([each], [[0], [0]], [[0], [100_000]])[0] for each in (own, whole_of(gateway))]
    assert on_clock["terms"][-1]["bits"] == pytest.approx(log2(density[0] / density[1]))
    assert on_clock["bits"] == pytest.approx(sum(term["bits"] for term in on_clock["terms"]))
    assert on_clock["bits"] == pytest.approx(alone["bits"] + on_clock["terms"][-1]["bits"])


def test_of_more_sensors_than_are_weighed_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_evidence, "MOST_LIVE", 1)
    [record] = evidence(begun().push([pair(20, 1_000.0)]))
    assert record["unknown"] == "too_much_work"


def test_a_query_at_which_workers_died_tells_that_it_is_too_much() -> None:
    core = begun()
    core.push([pair(20, 1_000.0)])
    [record] = evidence(core.push([clock(21)], Host(fatal=frozenset({"near"}))))
    assert record["unknown"] == "too_much_work"


def test_the_more_a_sensor_reports_besides_the_less_a_match_says() -> None:
    network = Network(["north", "south", "east", "dead"], 0.01, 0.5, None)  # an event in 100 s
    counted = Background({0: {"north": 40.0, "south": 1.0}, 1: {"east": 7.0}}, 1_000.0)
    live = np.array([[True] * 3, [True] * 3, [True, False, True], [False] * 3])
    figures = [counted_hz(counted, 0, name) for name in ("north", "north", "south")]
    rates = unpaired_hz(network, np.array([0, 0, 1]), live, *zip(*figures, strict=True))
    paired_hz = 0.01 * 0.5 * (1 - 0.5**2)  # of three sensors one hears it, and one of two others
    assert rates[0] == pytest.approx(0.04 - paired_hz)
    assert rates[1] == pytest.approx(0.04 - 0.01 * 0.5 * 0.5)
    assert rates[2] == 1 / 1_000  # no less than one in what was watched
    assert counted_hz(counted, 0, "unheard") == (0.0, 1 / 1_000)
    assert counted_hz(None, 0, "north")[0] is None
    crowded = Background({0: {"": 12.0, "north": 40.0}}, 1_000.0)
    assert counted_hz(crowded, 0, "one of many")[0] is None
    assert np.isnan(unpaired_hz(network, np.array([0]), live[:, :1], [None], [0.001])).all()
