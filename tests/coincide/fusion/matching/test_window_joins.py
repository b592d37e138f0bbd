"""Queries of more than two roles in the fusion core: what their records hold, and how they change at run time."""

import hashlib
import json
from typing import Any

import pytest

from coincide import Histogram, Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.fusion_core import FusionCore
from coincide.joins.tuples.maximal_sets import CompatibleEvents
from coincide.queries import Query
from tests.coincide.fusion.inputs import SN1987A, STREAMS, Row, frame, put, query_json, started
from tests.coincide.fusion.outputs import letters, matches, pairs, status
from tests.reference.call_counts import CallCounts

FOUR_STREAMS = {**STREAMS, "t": Stream("t", max_delay_s=20, longest_template_s=8), "neutrino": Stream("neutrino")}
KAMIOKANDE, IMB, BAKSAN = SN1987A
P, S, T = Row("p1", 1000), Row("s1", 1001, stream="s", sensor="south"), Row("t1", 1002, stream="t", sensor="tower")

WORK = {"seconds": 0.0, "candidates": 1}  # of a core without a clock


def valley(window_s: float = 1.5, **more: Any) -> dict[str, Any]:
    """A path of three streams."""
    within = [{"window_s": window_s, "threshold": 0.6}]
    return {"id": "valley", "from": {"a": "p", "b": "s", "c": "t"}, "form": "path", "within": within, **more}


def burst(**more: Any) -> dict[str, Any]:
    """Three neutrino detectors within ten seconds."""
    roles = {"one": "neutrino", "two": "neutrino", "three": "neutrino"}
    return {"id": "burst", "from": roles, "form": "clique", "within": [{"window_s": 10}], **more}


def core(*queries: dict[str, Any], limits: Limits | None = None) -> FusionCore:
    return started(*(put(offset, query) for offset, query in enumerate(queries)), streams=FOUR_STREAMS, limits=limits)


def ids(found: list[dict[str, Any]]) -> list[list[str]]:
    return [[member["id"] for member in match["members"]] for match in found]


def test_all_three_first_events_of_sn1987a() -> None:
    fused = core(burst(joint_threshold=0.04))
    assert matches(fused.push([frame(0, [KAMIOKANDE, IMB])])) == []
    [match] = matches(fused.push([frame(1, [BAKSAN])]))
    assert match["probability"] == pytest.approx(5 / 112, abs=1e-12)
    roles = [(member["role"], member["id"]) for member in match["members"]]
    assert roles == [("one", "k1"), ("two", "i1"), ("three", "b1")]
    assert {tuple(edge["between"]): edge["probability"] for edge in match["edges"]} == {
        ("one", "two"): pytest.approx(20 / 120, abs=1e-12),
        ("one", "three"): pytest.approx(20 / 120, abs=1e-12),
        ("two", "three"): pytest.approx(20 / 56, abs=1e-12),
    }
    assert match["supersedes"] == []
    assert (match["chance_rate_hz"], match["unknown"]) == (None, {"chance_rate_hz": "not_watched_yet"})


def test_two_of_three_first_events_and_then_the_third() -> None:
    fused = core(burst(joint_threshold=0.04, at_least=2))
    [two] = matches(fused.push([frame(0, [KAMIOKANDE, IMB])]))
    [three] = matches(fused.push([frame(1, [BAKSAN])]))
    assert ids([two, three]) == [["k1", "i1"], ["k1", "i1", "b1"]]
    assert two["probability"] == pytest.approx(20 / 120, abs=1e-12)
    assert (two["supersedes"], three["supersedes"]) == ([], [two["id"]])
    assert [edge["between"] for edge in two["edges"]] == [["one", "two"]]


def seen_and_heard() -> FusionCore:
    """A camera (t) and at least two of three microphones (p) that hear what it sees within 3 s."""
    within = [{"between": ["camera", mic], "lo_s": 0, "hi_s": 3, "threshold": 0.9} for mic in ("m1", "m2", "m3")]
    roles = {"camera": "t", "m1": "p", "m2": "p", "m3": "p"}
    return core({"id": "q", "from": roles, "within": within, "at_least": {"of": ["m1", "m2", "m3"], "count": 2}})


HEARD = [Row(f"p{nth}", 1000 + nth, sensor=f"mic-{nth}") for nth in range(1, 4)]
FLASH = Row("t1", 1000, stream="t", sensor="pole")


def test_two_of_three_microphones_and_the_camera() -> None:
    fused = seen_and_heard()
    assert matches(fused.push([frame(0, HEARD[:2])])) == []
    [three] = matches(fused.push([frame(1, [FLASH])]))
    [four] = matches(fused.push([frame(2, HEARD[2:])]))
    assert [[(each["role"], each["id"]) for each in match["members"]] for match in (three, four)] == [
        [("camera", "t1"), ("m1", "p1"), ("m2", "p2")],
        [("camera", "t1"), ("m1", "p1"), ("m2", "p2"), ("m3", "p3")],
    ]
    assert [edge["between"] for edge in three["edges"]] == [["camera", "m1"], ["camera", "m2"]]
    assert (three["supersedes"], four["supersedes"]) == ([], [three["id"]])


def test_a_required_member_that_comes_last_supersedes_nothing() -> None:
    fused = seen_and_heard()
    first = matches(fused.push([frame(0, [FLASH, *HEARD])]))
    [other] = matches(fused.push([frame(1, [Row("t2", 1000.5, stream="t", sensor="pole")])]))
    assert [len(match["members"]) for match in (*first, other)] == [3, 4, 4]
    assert other["supersedes"] == []


def test_microphones_alone_are_not_even_paired(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = CallCounts(monkeypatch)
    counts.watch(CompatibleEvents, "of", "pairs", lambda events, *_: len(events.pairs[0]))
    crowd = [Row(f"p{nth}", 1000 + nth / 100, sensor=f"mic-{nth}") for nth in range(12)]
    roles = {"camera": "t", "m1": "p", "m2": "p", "m3": "p"}
    near = {"form": "clique", "within": [{"window_s": 3, "threshold": 0.9}]}
    two_of_three = {"at_least": {"of": ["m1", "m2", "m3"], "count": 2}}
    fused = core({"id": "q", "from": roles, **near, **two_of_three})
    assert matches(fused.push([frame(0, crowd)])) == []
    assert counts["pairs"] == 0
    assert matches(fused.push([frame(1, [FLASH])])) != []
    assert counts["pairs"] > 0


def test_where_all_three_are_too_improbable_pairs_are_maximal() -> None:
    found = matches(core(burst(joint_threshold=0.05, at_least=2)).push([frame(0, [KAMIOKANDE, IMB, BAKSAN])]))
    assert sorted(map(sorted, ids(found))) == [["b1", "i1"], ["b1", "k1"], ["i1", "k1"]]
    assert [match["supersedes"] for match in found] == [[], [], []]


def test_a_record_of_three_members_holds_what_the_contract_says() -> None:
    sure, unsure = Histogram.point(), Histogram.uniform(-1, 1)
    fused = core(valley(joint_threshold=0.2))
    rows = [P, Row("s1", 1001, unsure, "s", "south"), Row("t1", 1002.25, unsure, "t", "tower")]
    (match,) = matches(fused.push([frame(0, rows)]))
    members = match.pop("members")
    identity = [["a", "north", "p1", 10**9], ["b", "south", "s1", 1001 * 10**6], ["c", "tower", "t1", 1002_250_000]]
    content = json.dumps(["valley", *identity], separators=(",", ":"))
    # X_s is 1000 + x, x uniform on 0 to 2, and x <= 1.5 has 3/4; X_t is 1001.25 to 1003.25, so at most 1.5 after
    # X_s with (x + 0.25) / 2: together the integral of (x + 0.25) / 4 from 0 to 1.5, which is 0.375
    expected = {"v": 1, "query": "valley", "query_version": 1, "area": "bay", "received_at_us": 10**15}
    expected |= {"earliest_us": 1000 * 10**6, "latest_us": 1003_250_000}
    assert match == expected | {
        "id": "m-" + hashlib.sha256(content.encode()).hexdigest()[:32],
        "probability": pytest.approx(0.375, abs=1e-12),
        "joint": {"probability": match["probability"]}
        | {"least": match["probability"], "greatest": match["probability"], "certain": True},
        "occurred": None,  # only a clique of one symmetric window has an onset
        "chance_rate_hz": None,
        "unknown": {"occurred": "graph", "chance_rate_hz": "not_watched_yet"},
        "edges": [
            {"between": ["a", "b"], "probability": pytest.approx(0.75, abs=1e-12)},
            {"between": ["b", "c"], "probability": pytest.approx(1 - 1.75**2 / 8, abs=1e-12)},
        ],
        "supersedes": [],
    }
    stamped = [(member["role"], member["stream"], member["template"]) for member in members]
    assert stamped == [("a", "p", sure.id), ("b", "s", unsure.id), ("c", "t", unsure.id)]


def test_the_probability_is_the_one_with_a_threshold() -> None:
    unsure = Histogram.uniform(-1, 1)
    query = valley()
    query["within"] = [{**edge, "threshold": 0.6} for edge in query["within"]]
    rows = [P, Row("s1", 1001, unsure, "s", "south"), Row("t1", 1002.25, unsure, "t", "tower")]
    (match,) = matches(core(query).push([frame(0, rows)]))
    assert match["probability"] == min(edge["probability"] for edge in match["edges"])
    assert match["probability"] == pytest.approx(1 - 1.75**2 / 8, abs=1e-12)
    assert match["joint"]["probability"] == pytest.approx(0.375, abs=1e-12)
    assert match["joint"]["certain"]


def test_the_onset_of_a_clique_is_told() -> None:
    [match] = matches(core(valley(2, form="clique")).push([frame(0, [P, S, T])]))
    assert match["occurred"]["mean_us"] == 1000 * 10**6  # exact times: the first of them


def test_thresholds_change_half_way_and_keep_the_activation() -> None:
    template = Histogram.uniform(-2, 0)  # P(|X_s - X_p| <= 1.5 s) is 1/4
    fused = core(valley())
    assert pairs(fused.push([frame(0, [Row("p1", 1000, template), T])])) == []
    lower = valley(within=[{"window_s": 1.5, "threshold": 0.2}])
    [match] = matches(fused.push([put(1, lower, 2), frame(1, [S])]))
    assert (match["query_version"], match["probability"]) == (2, pytest.approx(0.25))
    higher = {**lower, "joint_threshold": 0.3}
    assert pairs(fused.push([put(2, higher, 3), frame(2, [Row("s2", 1001, stream="s", sensor="south")])])) == []
    last = frame(3, [Row("t2", 1002, stream="t", sensor="tower")])
    assert pairs(fused.push([put(3, lower, 4), last])) == [("p1", "s1", "t2"), ("p1", "s2", "t2")]


def test_another_window_starts_anew_and_a_pause_does_not() -> None:
    fused = core(valley())
    fused.push([frame(0, [P, T])])
    assert pairs(fused.push([put(1, valley(), 2, paused=True), frame(1, [S])])) == []
    assert pairs(fused.push([put(2, valley(), 3), frame(2, [Row("s2", 1001, stream="s")])])) == []  # not another sensor
    assert pairs(fused.push([frame(3, [Row("s3", 1001, stream="s", sensor="south")])])) == [("p1", "s3", "t1")]
    output = fused.push([put(3, valley(1.6), 4), frame(4, [Row("s4", 1001, stream="s", sensor="south")])])
    assert pairs(output) == []
    assert status(output)["queries"] == {
        "valley": {"version": 4, "paused": False, "matches": 1, "episodes": 0, "work": WORK}
    }


def test_a_set_that_was_completed_in_a_pause_is_superseded_all_the_same() -> None:
    query = {**valley(2, form="clique"), "at_least": 2}
    fused = core(query)
    fused.push([put(1, query, 2, paused=True), frame(0, [P, S])])
    [match] = matches(fused.push([put(2, query, 3), frame(1, [T])]))
    [unpaused] = matches(core(query).push([frame(0, [P, S])]))
    assert match["supersedes"] == [unpaused["id"]]


def of(row: Row, **attributes: Any) -> Row:
    return Row(row.id, row.at_s, row.template, row.stream, row.sensor, tuple(attributes.items()))


@pytest.mark.parametrize(
    ("values", "match"),
    [
        *((values, True) for values in [(7, 7, 7), (7, 7.0, 7), ("x", "x", "x"), (True, True, True)]),
        *((values, False) for values in [(False, False, 0), (1, True, 1), (7, "7", 7), ("x", "x", "y")]),
        *(((None, None, None), False), (([1], [1], [1]), False), (({}, {}, {}), False)),
    ],
)
@pytest.mark.parametrize("more", [{}, {"form": "clique", "at_least": 2}])
def test_an_attribute_has_to_be_equal(values: tuple[Any, ...], match: bool, more: dict[str, Any]) -> None:
    fused = core(valley(2, equal="attributes.object", **more))
    rows = [of(row, object=value, other=0) for row, value in zip((P, S, T), values, strict=True)]
    assert (["p1", "s1", "t1"] in ids(matches(fused.push([frame(0, rows)])))) is match


def test_a_detection_without_the_attribute_matches_nothing_of_that_query_alone() -> None:
    two = query_json(threshold=1, name="two")
    fused = core({**two, "id": "equal", "equal": "attributes.object"}, two)
    found = matches(fused.push([frame(0, [of(P, object=1), of(S, object=1), Row("p2", 1000)])]))
    assert [match["query"] for match in found] == ["equal", "two", "two"]
    assert ids(found) == [["p1", "s1"], ["p1", "s1"], ["p2", "s1"]]


def test_another_attribute_starts_the_query_anew() -> None:
    fused = core(valley())
    fused.push([frame(0, [of(P, object=1), of(T, object=1)])])
    assert pairs(fused.push([put(1, valley(equal="attributes.object"), 2), frame(1, [of(S, object=1)])])) == []


def test_what_chance_gives_is_not_told_where_an_attribute_has_to_be_equal() -> None:
    two = query_json(threshold=0.5, name="two")
    fused = core({**two, "id": "equal", "equal": "attributes.object"}, two)
    before = [Row("p0", 30), Row("p1", 61), Row("s1", 63, stream="s", sensor="south"), Row("p2", 121)]
    fused.push([frame(nth, [row], received_at_s=row.at_s) for nth, row in enumerate(before)])
    last = [of(Row("p3", 122), object=1), of(Row("s3", 122, stream="s", sensor="south"), object=1)]
    by_query = {match["query"]: match for match in matches(fused.push([frame(9, last)]))}
    assert by_query["two"]["chance_rate_hz"] > 0
    assert "unknown" not in by_query["two"]
    assert by_query["equal"]["chance_rate_hz"] is None
    assert by_query["equal"]["unknown"] == {"chance_rate_hz": "equal"}


def test_the_state_holds_the_query_with_every_edge() -> None:
    fused = core(valley())
    assert json.dumps(Query.from_json(valley()).to_json(), separators=(",", ":")).encode() in fused.header()


def test_rows_that_only_a_third_role_needs_are_kept() -> None:
    """p needs t's delay and both windows: 20 + 1.5 + 8 + 1.5 + 8 s, its partner s only 10 + 1.5 + 8 s."""
    fused = core(valley(), limits=Limits(sweep_after=1))
    fused.push([frame(0, [P])])
    clock = Row("clock", 1038.9, stream="s", sensor="clock")
    assert status(fused.push([frame(1, [clock], received_at_s=1038.9)]))["buffered"]["p"] == 1
    later = Row("clock", 1039.1, stream="s", sensor="clock2")
    assert status(fused.push([frame(2, [later], received_at_s=1039.1)]))["buffered"]["p"] == 0


def test_many_roles() -> None:
    roles = {f"r{nth}": "p" for nth in range(16)}
    within = [{"window_s": 2, "threshold": 1}]
    query = {"id": "many", "from": roles, "form": "clique", "within": within, "sensors": "any"}
    rows = [Row(f"p{nth:02}", 1000 + nth / 10) for nth in range(16)]
    fused = core(query, {**query, "id": "most", "at_least": 15})
    found = matches(fused.push([frame(nth, [row]) for nth, row in enumerate(reversed(rows))]))
    of_all = [f"p{nth:02}" for nth in range(16)]
    assert [match["query"] for match in found] == ["many", "most", "most"]
    assert ids(found) == [of_all, of_all[1:], of_all]
    assert len(found[0]["edges"]) == 120


def test_a_filter_takes_texts_that_write_numbers_and_tells_those_that_do_not() -> None:
    loud = {"stream": "p", "where": {"attributes.db": {"above": 80}}}
    fused = core({**query_json(streams=("p", "s")), "from": {"a": loud, "b": {**loud, "stream": "s"}}})
    values: dict[str, Any] = {"p1": "91.5", "p2": 79, "p3": "91,5", "p4": [91], "p5": None, "p6": "79"}
    heard = [Row(name, 1000, attributes=(("db", value),)) for name, value in values.items()]
    output = fused.push(
        [frame(0, [*heard, Row("s1", 1000, stream="s", sensor="south", attributes=(("db", "8.1e1"),))])]
    )
    assert pairs(output) == [("p1", "s1")]
    assert [each["detail"] for each in letters(output)] == [
        'attributes.db is "91,5": a query needs a number',
        "attributes.db is [91]: a query needs a number",
    ]
    assert status(output)["totals"]["no_number"] == 2
