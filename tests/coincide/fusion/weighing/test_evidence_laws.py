"""The law of evidence: batches and restarts change nothing, and a twin that sees the whole log says the same."""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram
from coincide.fusion.core.fusion_core import FusionCore
from coincide.fusion.records.kafka_records import InputRecord
from tests.coincide.fusion.inputs import Row, frame, put, started
from tests.coincide.fusion.outputs import SavedCore
from tests.coincide.fusion.strategies import SWEEPING
from tests.examples import examples
from tests.reference.weighed_matches import assert_as_defined

Record = dict[str, Any]

EVENT = {"per_day": 2_000, "heard_by": 0.7}
WITHIN = [{"window_s": 3.0, "threshold": 0.05}]
PAIRS: Record = {"id": "pairs", "from": {"a": "p", "b": "s"}, "form": "clique", "within": WITHIN, "event": EVENT}
SETS: Record = {
    "id": "sets",
    "from": {"a": "p", "b": "p", "c": "s"},
    "form": "clique",
    "within": WITHIN,
    "event": EVENT,
}
SETS |= {"joint_threshold": 0.01, "at_least": 2}
QUERIES = (PAIRS, SETS)
TEMPLATES = [Histogram.uniform(-2, 1), Histogram.uniform(-1, 2), Histogram(edges_s=[-3, -2, 1, 2], mass=[0.5, 0, 0.5])]
SENSORS = ("north", "south", "east")

rows = st.builds(
    Row,
    id=st.uuids().map(str),
    at_s=st.integers(0, 250).map(lambda tenths: 1_000 + tenths / 10),
    template=st.sampled_from(TEMPLATES),
    stream=st.sampled_from("ps"),
    sensor=st.sampled_from(SENSORS),
)


@st.composite
def logs(draw: st.DrawFn) -> list[InputRecord]:
    """Frames of two areas: what was watched before, what happens, and what comes long after."""
    before = [
        Row(f"{at_s}", at_s, Histogram.point(), "p", SENSORS[nth % 3]) for nth, at_s in enumerate((800, 870, 940))
    ]
    after = [Row("after", 90_000.0)]
    drawn = draw(
        st.lists(st.tuples(st.lists(rows, min_size=1, max_size=3), st.sampled_from(["bay", "hill"])), max_size=8)
    )
    watched = [([row], area) for row in before for area in ("bay", "hill")]
    stories = [*watched, *drawn, (after, "bay"), (after, "hill")]
    return [frame(nth, of, area) for nth, (of, area) in enumerate(stories)]


def told(
    core: FusionCore, batches: Sequence[Sequence[InputRecord]], saved: SavedCore | None = None
) -> tuple[list[Record], list[Record]]:
    """Return all matches and all evidence; with a `saved` core each batch is another process's."""
    matches, evidence = list[Record](), list[Record]()
    for batch in batches:
        output = core.push(list(batch))
        matches += (json.loads(each.value) for each in output.matches)
        evidence += (json.loads(each.value) for each in output.evidence)
        if saved is not None:
            saved.save(core)
            core = saved.restored()
    return matches, evidence


def begun() -> FusionCore:
    return started(*(put(nth, query) for nth, query in enumerate(QUERIES)), limits=SWEEPING)


@settings(max_examples=examples(60))
@given(logs(), st.data())
def test_batches_and_restarts_change_nothing(log: list[InputRecord], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(1, len(log) - 1))))
    batches = [log[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(log)], strict=True)]
    matches, expected = told(begun(), [log])
    by_id = {each["id"]: each for each in expected}
    assert len(by_id) == len(expected)
    assert by_id.keys() == {each["id"] for each in matches}
    core = begun()
    saved = SavedCore(limits=SWEEPING)
    saved.save(core)
    for found in (told(begun(), batches)[1], told(begun(), [[each] for each in log])[1], told(core, batches, saved)[1]):
        assert len(found) == len(expected)
        assert {each["id"]: each for each in found} == by_id


@settings(max_examples=examples(60))
@given(logs())
def test_it_is_what_the_twin_says(log: list[InputRecord]) -> None:
    matches, evidence = told(begun(), [[each] for each in log])
    by_id = {each["id"]: each for each in evidence}
    templates = [Histogram.point(), *TEMPLATES]
    for query in QUERIES:
        own = [each for each in matches if each["query"] == query["id"]]
        assert_as_defined(own, by_id, templates, Fraction(2_000, 86_400), Fraction(7, 10))
