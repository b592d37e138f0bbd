"""An hour of the Central Italy morning as records of a log: frames, and queries that change amid them."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from coincide import Stream
from coincide.fusion.records.kafka_records import InputRecord
from tests.acceptance import italy
from tests.acceptance.line import assert_same
from tests.coincide.fusion.inputs import Row, frame, put
from tests.coincide.fusion.strategies import Pushes
from tests.reference.central_italy import Pick
from tests.reference.oracle import Detection, expected_matches
from tests.reference.pair_probability import Template

STREAMS = {
    name: Stream(name, max_delay_s=given["max_delay_s"], longest_template_s=given["longest_template_s"])
    for name, given in italy.STREAMS.items()
}
PHASES = 4
LATE = 100  # of the first phase, that come in the last one
A_FRAME = 20
AREA = "italy"
RECEIVED_S = 2e9  # long after: what comes in is not held against a clock
COALESCED = {"coalesce": {"gap_s": 5}}
#: The threshold of one query changes with each phase; the window of the other does once.
OWN_S = [italy.OWN_S, replace(italy.OWN_S, version=2, hi_s=7.0, since=2)]
NEIGHBOURS = [
    replace(italy.NEIGHBOURS, version=nth + 1, threshold=threshold, since=nth)
    for nth, threshold in enumerate((0.6, 0.9, 0.3, 0.7))
]


def pushes(chosen: Random) -> tuple[Pushes, list[Detection]]:
    """Return the records phase by phase, and what the oracle is told of them: the late ones, too."""
    picks = italy.arrivals(chosen.randrange(1000))
    size = -(-len(picks) // PHASES)
    phases = [picks[begin : begin + size] for begin in range(0, len(picks), size)]
    late, phases[0] = phases[0][:LATE], phases[0][LATE:]
    phases[-1] = [*phases[-1], *late]
    made, picked, names = [], [], {pick: f"pick-{nth}" for nth, pick in enumerate(picks)}
    for phase, of_phase in enumerate(phases):
        made.append([*_changes(phase), *_frames(phase, of_phase, names)])
        picked += [_seen(pick, phase, names[pick]) for pick in of_phase]
    return made, picked


def _changes(phase: int) -> list[InputRecord]:
    """Return the versions that are in force from a phase on."""
    changed = [each for each in (*OWN_S, *NEIGHBOURS) if each.since == phase]
    return [
        put(phase * 10 + nth, {"id": each.query, **italy.document(each), **COALESCED}, each.version)
        for nth, each in enumerate(changed)
    ]


def _frames(phase: int, picks: Sequence[Pick], names: dict[Pick, str]) -> list[InputRecord]:
    seen = [_seen(pick, phase, names[pick]) for pick in picks]
    rows = [
        Row(each.id, each.detected_at_us / 1e6, italy.histogram(each.template), each.stream, each.sensor)
        for each in seen
    ]
    first = phase * 1_000
    return [
        frame(first + nth, rows[nth * A_FRAME : (nth + 1) * A_FRAME], AREA, received_at_s=RECEIVED_S)
        for nth in range(-(-len(rows) // A_FRAME))
    ]


def _row(seen: Detection) -> Row:
    return Row(seen.id, seen.detected_at_us / 1e6, italy.histogram(seen.template), seen.stream, seen.sensor)


def _seen(pick: Pick, phase: int, name: str) -> Detection:
    """Return a pick as the oracle sees it; from the third phase on S picks have a wider template."""
    seen = italy.as_oracle_sees(AREA, pick, name, phase)
    return replace(seen, template=_wider(seen.template)) if pick.phase == "S" and phase >= 2 else seen


def _wider(template: Template) -> Template:
    return Template(tuple(round(1.5 * edge_s, 3) for edge_s in template.edges_s), template.mass)


def assert_as_defined(matches: list[dict[str, Any]], picked: Sequence[Detection]) -> None:
    for history, at_least in ((OWN_S, 500), (NEIGHBOURS, 2_000)):
        expected = expected_matches(picked, history)
        assert len(expected) >= at_least
        assert_same([each for each in matches if each["query"] == history[0].query], expected)
