"""Windows by distance in the fusion core, against the slow twin: any order, any batches, any restarts."""

from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from coincide import Histogram
from coincide.places import EarthPlace, FramePlace
from coincide.places.place import Place
from tests.coincide.fusion import outputs
from tests.coincide.fusion import strategies as drawn
from tests.coincide.fusion.inputs import Row, frame, put, query_json, started
from tests.coincide.fusion.outputs import letters, matches, pairs, reasons, slow_matches, status
from tests.coincide.fusion.strategies import SWEEPING, THREE_STREAMS, split
from tests.examples import examples
from tests.reference.fusion import SlowFusion

HALL: list[Place | None] = [FramePlace(0, 0), FramePlace(343, 0), FramePlace(0, 1029), FramePlace(9000, 0), None]
TOWN: list[Place | None] = [EarthPlace(54, 8), EarthPlace(54.003, 8, 20), EarthPlace(54, 8.015), EarthPlace(55, 9)]
SOUNDS = [(343, 0, 2000), (343, 0.2, 20_000), (100, 0.05, 2000), (3000, 0, 2000)]


@st.composite
def edges(draw: st.DrawFn) -> dict[str, Any]:
    """An edge by distance, or now and then one with a fixed window."""
    if draw(st.integers(0, 4)) == 0:
        return {"window_s": 3.0, "threshold": draw(st.sampled_from(drawn.THRESHOLDS[:3]))}
    speed, slack, up_to_m = draw(st.sampled_from(SOUNDS))
    window = {"speed_m_s": speed, "slack_s": slack, "up_to_m": up_to_m}
    return {**window, "threshold": draw(st.sampled_from(drawn.THRESHOLDS))}


@st.composite
def queries(draw: st.DrawFn) -> dict[str, Any]:
    """Pairs, paths and cliques, some of whose members may be absent."""
    roles = "abcd"[: draw(st.integers(2, 4))]
    form = draw(st.sampled_from(["path", "clique"]))
    pairs_of = list(combinations(roles, 2)) if form == "clique" else list(pairwise(roles))
    streams = draw(st.sampled_from(["psts", "pppp", "ppss"]))
    one = draw(edges()) if draw(st.booleans()) else None
    within = [{"between": list(pair), **(one or draw(edges()))} for pair in pairs_of]
    query: dict[str, Any] = {"id": "near", "from": dict(zip(roles, streams, strict=False)), "within": within}
    query["sensors"] = draw(st.sampled_from(["any", "any", "different"]))
    if len(roles) > 2 and draw(st.booleans()):
        query["joint_threshold"] = draw(st.sampled_from([0.013, 0.07, 0.31]))
    if len(roles) > 2 and form == "clique" and draw(st.booleans()):
        query["at_least"] = 2
    return query


@st.composite
def heard(draw: st.DrawFn, place_of: list[Place | None]) -> list[list[Row]]:
    """Rows of a few seconds in frames; mostly each sensor stands where it stands, and now and then one has moved."""
    made = []
    for start_s in range(draw(st.integers(1, 5))):
        rows = draw(st.lists(drawn.rows(drawn.BURST_SECONDS, "pst", 2 * start_s), min_size=1, max_size=6))
        stands = {"north": 0, "south": 1, "east": 2}
        moved = [draw(st.integers(0, 9)) for _ in rows]
        made.append(
            [
                replace(row, place=place_of[to if to < len(place_of) else stands[row.sensor]], attributes=())
                for row, to in zip(rows, moved, strict=True)
            ]
        )
    return made


places = st.sampled_from([HALL, HALL, TOWN])


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_the_answers_are_those_of_the_definition(data: st.DataObject) -> None:
    query, batches = data.draw(queries()), data.draw(places.flatmap(heard))
    needs_places = any("speed_m_s" in edge for edge in query["within"])
    core, slow = started(put(0, query), streams=THREE_STREAMS, limits=SWEEPING), SlowFusion(dict(THREE_STREAMS))
    slow.push([put(0, query)])
    frames = [frame(nth, rows, received_at_s=1000.0 + 2 * nth) for nth, rows in enumerate(batches)]
    for batch in split(data.draw, frames, data.draw(st.integers(1, 4))):
        known = len(slow.matches)
        slow.push(batch)
        output = core.push(batch)
        assert sorted(slow_matches(output)) == sorted(slow.matches[known:])
        for match in matches(output):
            assert 0 < match["probability"] <= 1
            assert all(("place" in member) == needs_places for member in match["members"])
    without = sum(
        row.fields.get("place") is None for row in slow.rows if row.fields["stream"] in query["from"].values()
    )
    assert status(core.push([]))["totals"]["no_place"] == (without if needs_places else 0)
    event(f"some match: {bool(slow.matches)}, roles: {len(query['from'])}")


@settings(max_examples=examples(15), deadline=None)
@given(st.data())
def test_the_order_of_arrival_never_changes_what_is_left(data: st.DataObject) -> None:
    [rows, *_] = data.draw(places.flatmap(heard))
    rows = list({(row.sensor, row.id): row for row in rows}.values())
    query = data.draw(queries())

    def left(*batches: list[Row]) -> list[tuple[str, str]]:
        core = started(put(0, query), streams=THREE_STREAMS, limits=SWEEPING)
        answers = [core.push([frame(nth, batch, received_at_s=1000.0)]) for nth, batch in enumerate(batches)]
        records = [match for output in answers for match in matches(output)]
        gone = {each for match in records for each in match.pop("supersedes", ())}
        return sorted((match["id"], repr(match)) for match in records if match["id"] not in gone)

    shuffled = left(*([row] for row in data.draw(st.permutations(rows))))
    assert shuffled == left(*([row] for row in rows)) == left(rows)


@settings(max_examples=examples(10), deadline=None)
@given(st.data())
def test_a_restart_changes_nothing(data: st.DataObject) -> None:
    batches = data.draw(places.flatmap(heard))
    pushes = [[frame(nth, rows, received_at_s=1000.0 + 2 * nth)] for nth, rows in enumerate(batches)]
    setup = put(0, data.draw(queries()))
    outputs.assert_a_restart_changes_nothing(pushes, data, SWEEPING, setup, streams=THREE_STREAMS)


SOUND = {"speed_m_s": 343, "slack_s": 0.1, "up_to_m": 2000}


def sound(**more: Any) -> dict[str, Any]:
    within = [{"between": ["a", "b"], **SOUND, "threshold": 0.5}]
    return {"id": "sound", "from": {"a": "p", "b": "s"}, "within": within, "sensors": "any", **more}


def test_a_window_is_as_long_as_sound_takes_from_one_to_the_other_and_the_slack() -> None:
    for apart_m, apart_s, matches_it in ((343, 1.1, True), (343, 1.101, False), (0, 0.1, True), (0, 0.11, False)):
        core = started(put(0, sound()))
        one = Row("a", 1000, sensor="mic-1", place=FramePlace(0, 0))
        other = Row("b", 1000 + apart_s, stream="s", sensor="mic-2", place=FramePlace(apart_m, 0))
        assert bool(pairs(core.push([frame(0, [one, other])]))) == matches_it


def test_a_row_without_a_place_is_a_letter_and_serves_other_queries() -> None:
    core = started(put(0, sound()), put(1, query_json()))
    rows = [Row("a", 1000, place=FramePlace(0, 0)), Row("b", 1000, Histogram.point(), "s", "south")]
    output = core.push([frame(0, rows)])
    assert reasons(output) == ["no_place"]
    assert letters(output)[0]["sensor"] == "south"
    assert [match["query"] for match in matches(output)] == ["near"]
    assert "place" not in matches(output)[0]["members"][0]
    totals = status(output)["totals"]
    assert (totals["accepted"], totals["no_place"], totals["no_number"]) == (2, 1, 0)


def test_the_record_says_where_its_members_were() -> None:
    core = started(put(0, sound()))
    rows = [Row("a", 1000, place=FramePlace(1, 2)), Row("b", 1000, stream="s", place=FramePlace(3, 4, 5))]
    [match] = matches(core.push([frame(0, rows)]))
    assert [member["place"] for member in match["members"]] == [
        {"x_m": 1, "y_m": 2, "z_m": 0},
        {"x_m": 3, "y_m": 4, "z_m": 5},
    ]
