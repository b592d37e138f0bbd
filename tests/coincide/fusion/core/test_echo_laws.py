"""Laws of streams with `echo_s`: what joins is what the library's rule leaves, however it came, and after restarts."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from coincide import Detections, Histogram, Stream
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord
from coincide.joins.echoes import without_echoes
from tests.coincide.fusion import outputs
from tests.coincide.fusion import strategies as drawn
from tests.coincide.fusion.inputs import STREAMS, Row, declaration, frame, heartbeat, put, started
from tests.coincide.fusion.outputs import matches, slow_matches, status
from tests.coincide.fusion.strategies import SWEEPING, TEMPLATES, split
from tests.examples import examples
from tests.reference.fusion import SlowFusion
from tests.reference.fusion_query import SlowRow

AREAS = {"bay": 0, "hill": 3}
FOREVER_S = 1e6
SOON_S = [0.0, 0.1, 0.5, 2.0, 30.0]
Echoing = dict[str, Stream]

echoing: st.SearchStrategy[Echoing] = st.builds(
    lambda p, s: {"p": replace(STREAMS["p"], echo_s=p), "s": replace(STREAMS["s"], echo_s=s)},
    st.sampled_from(SOON_S),
    st.sampled_from([None, *SOON_S]),
)


def own(row: Row) -> Row:
    """A row with the template of its sensor, whose ids do not meet those of other streams."""
    template = TEMPLATES[["north", "south", "east"].index(row.sensor)]
    return replace(row, template=template, id=f"{row.stream}-{row.id}")


@st.composite
def chatter(draw: st.DrawFn, seconds: int = drawn.LONG_SECONDS) -> list[InputRecord]:
    """Frames of two areas in which sensors often repeat themselves, under other ids and under the same."""
    made, kept = list[InputRecord](), list[Row]()
    for offset in range(draw(st.integers(1, 8))):
        area = draw(st.sampled_from(sorted(AREAS)))
        rows = [
            replace(own(row), id=f"{row.stream}{offset}.{nth}")
            for nth, row in enumerate(draw(st.lists(drawn.rows(seconds), min_size=1, max_size=6)))
        ]
        again = draw(st.lists(st.sampled_from(kept), max_size=3)) if kept else []
        soon = [
            replace(row, at_s=row.at_s + draw(st.sampled_from(SOON_S)), id=f"{row.stream}{offset}+{nth}")
            for nth, row in enumerate(draw(st.lists(st.sampled_from([*kept, *rows]), max_size=4)))
        ]
        kept += [*rows, *soon]
        made.append(frame(offset, [*rows, *again, *soon], area, AREAS[area], 1000 + draw(st.integers(0, seconds))))
    return made


def over(offset: int) -> list[InputRecord]:
    """Frames after which nothing of the areas is held back."""
    last = Row("last", FOREVER_S, stream="s", sensor="last")
    return [frame(offset, [last], area, partition, FOREVER_S) for area, partition in AREAS.items()]


def joining(rows: Sequence[SlowRow], streams: Echoing) -> set[tuple[str, tuple[str, str]]]:
    """Area and name of each row of some that is no echo, by the library's rule."""
    kept = set()
    for name, stream in streams.items():
        ours = [row for row in rows if row.fields["stream"] == name]
        if stream.echo_s is None or not ours:
            kept |= {(row.area, row.name) for row in ours}
            continue
        area, sensor, id_, at_us = zip(
            *((row.area, *row.name, row.fields["detected_at_us"]) for row in ours), strict=True
        )
        left = without_echoes(Detections(at_us, [Histogram.point()], area=area, sensor=sensor, id=id_), stream.echo_s)
        assert left.area is not None
        assert left.sensor is not None
        assert left.id is not None
        kept |= {(area, (sensor, id_)) for area, sensor, id_ in zip(left.area, left.sensor, left.id, strict=True)}
    return kept


@settings(max_examples=examples(90), deadline=None)
@given(st.data())
def test_what_joins_is_what_the_rule_of_the_library_leaves(data: st.DataObject) -> None:
    frames, query, streams = data.draw(chatter()), data.draw(drawn.queries), data.draw(echoing)
    records = [*frames, *over(len(frames))]
    slow = SlowFusion(dict(STREAMS))
    slow.push([put(0, query), *records])
    kept = joining(slow.rows, streams)
    expected = [match for match in slow.matches if all((match[3], name[1:]) in kept for name in match[4])]
    core = started(put(0, query), streams=streams, limits=SWEEPING)
    told = [core.push(batch) for batch in split(data.draw, frames, 4)]
    told.append(core.push(over(len(frames))))
    assert sorted(match for output in told for match in slow_matches(output)) == sorted(expected)
    totals = status(told[-1])["totals"]
    assert (totals["accepted"], totals["echoes"]) == (len(slow.rows), len(slow.rows) - len(kept))
    assert (totals["duplicates"], totals["conflicts"], totals["late"]) == (slow.duplicates, 0, len(slow.late))
    event(f"some echo would have matched: {len(expected) < len(slow.matches)}")
    event(f"some match: {bool(expected)}")


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_batching_never_changes_a_match(data: st.DataObject) -> None:
    """Heartbeats move time on as well; records are the same to the byte."""
    frames, query, streams = data.draw(chatter()), data.draw(drawn.queries), data.draw(echoing)
    beats = [
        heartbeat(offset, 1000 + data.draw(st.integers(0, 400)), partition)
        for offset, partition in enumerate([0, 3], len(frames))
    ]
    records = [*frames, *beats, *over(len(frames) + 2)]
    at_once = started(put(0, query), streams=streams, limits=SWEEPING).push(records)
    core = started(put(0, query), streams=streams, limits=SWEEPING)
    one_by_one = [match for batch in split(data.draw, records, 5) for match in core.push(batch).matches]
    assert sorted(one_by_one) == sorted(at_once.matches)


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_the_order_of_arrival_never_changes_what_joins(data: st.DataObject) -> None:
    rows = data.draw(st.lists(drawn.rows(drawn.SHORT_SECONDS).map(own), min_size=2, max_size=12, unique_by=id_of))
    query, streams = data.draw(drawn.queries), data.draw(echoing)

    def found(order: Sequence[Row]) -> list[str]:
        core = started(put(0, query), streams=streams, limits=SWEEPING)
        told = [core.push([frame(nth, [row], received_at_s=1000.0)]) for nth, row in enumerate(order)]
        told.append(core.push(over(len(order))))
        return sorted(match["id"] for output in told for match in matches(output))

    assert found(data.draw(st.permutations(rows))) == found(rows)


def id_of(row: Row) -> tuple[str, str]:
    return row.sensor, row.id


@st.composite
def runs(draw: st.DrawFn) -> drawn.Pushes:
    """Batches with rows of any template, and changes of queries and streams, of `echo_s` too."""
    changes = [
        declaration(100 + nth, name, draw(st.sampled_from([5, 20, 40])), version=10 + nth, echo_s=draw(soon))
        for nth, name in enumerate(draw(st.lists(st.sampled_from("ps"), max_size=4)))
    ]
    soon_frames = draw(st.one_of(chatter(), drawn.frames_in_order()))
    return drawn.together(draw, soon_frames, [*draw(drawn.controls()), *changes])


soon = st.sampled_from([None, *SOON_S])


@settings(max_examples=examples(90), deadline=None)
@given(st.data(), st.sampled_from([SWEEPING, replace(SWEEPING, max_buffered=3), Limits()]))
def test_a_restart_changes_nothing(data: st.DataObject, limits: Limits) -> None:
    outputs.assert_a_restart_changes_nothing(data.draw(runs()), data, limits, streams=data.draw(echoing))
