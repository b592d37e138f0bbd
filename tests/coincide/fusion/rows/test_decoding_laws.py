"""Frames of good and bad columns: what is accepted and what is refused are those of one row at a time."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram
from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.saving.journal import Slot
from tests.coincide.fusion.inputs import MICROSECONDS, STREAMS, started
from tests.coincide.fusion.outputs import letters, row_slots, status
from tests.reference.frames import as_json, letter_of, reason_of

SHORT, LONG, OTHER = Histogram.uniform(-1, 1), Histogram.uniform(-5, 5), Histogram.point()
TEMPLATES: dict[str, Any] = {each.id: each.to_json() for each in (SHORT, LONG)}
TEMPLATES |= {OTHER.id: SHORT.to_json(), "t-none": {"edges_s": [1, 0], "mass": [1]}}
NAMES = st.sampled_from(["north", "südlich", "x" * 200])
NO_NAMES: st.SearchStrategy[object] = st.sampled_from([None, "", 7, "x" * 201, ["north"], {}])
OBJECTS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"a": 1},
        {"a": -1.5e300, "b": None},
        {"a": {"b": [{}, {"c": "}"}]}},
        {'"},{"': '},{"\\'},
        {"é": "e999"},
        {"a": 10**400},
    ]
)
NO_OBJECTS: st.SearchStrategy[object] = st.sampled_from([None, [], "{}", 1, [{}], {"x": "y" * 5000}])


def mostly(good: st.SearchStrategy[Any], bad: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(*[good] * 7, bad)


STAMPS = st.fixed_dictionaries(
    {
        "sensor": mostly(NAMES, NO_NAMES),
        "stream": mostly(st.sampled_from(list(STREAMS)), st.just("x") | NO_NAMES),
        "template": mostly(st.just(SHORT.id), st.sampled_from([LONG.id, OTHER.id, "t-none", "t-gone"]) | NO_NAMES),
    }
)
TIMES = st.integers(1000 * MICROSECONDS, 1001 * MICROSECONDS)
NO_TIMES: st.SearchStrategy[object] = st.sampled_from([None, "1000", 0.5, True, 2**63, -(2**62), 10**30])


@st.composite
def frames(draw: st.DrawFn) -> dict[str, Any]:
    rows = draw(st.integers(0, 6))
    stamps = draw(st.lists(mostly(STAMPS, st.sampled_from([None, [], {}])), min_size=1, max_size=3))
    positions = mostly(st.integers(0, len(stamps) - 1), st.sampled_from([-1, len(stamps), "0", None, 2**70]))
    ids = [draw(mostly(st.just(f"id-{nth}"), NO_NAMES)) for nth in range(rows)]
    columns = {
        "stamp": [draw(positions) for _ in range(rows)],
        "detected_at_us": [draw(mostly(TIMES, NO_TIMES)) for _ in range(rows)],
        "id": ids,
    }
    if draw(st.booleans()):
        columns["attributes"] = [draw(mostly(OBJECTS, NO_OBJECTS)) for _ in range(rows)]
    head = {"v": 2, "area": "bay", "received_at_us": 1002 * MICROSECONDS, "templates": TEMPLATES}
    return {**head, "stamps": stamps, "detections": columns}


@settings(deadline=None)
@given(st.lists(frames(), min_size=1, max_size=3))
def test_every_row_is_judged_by_itself(batch: list[dict[str, Any]]) -> None:
    for number, frame in enumerate(batch):
        frame["detections"]["id"] = [f"{id_}-{number}" if _is_good(id_) else id_ for id_ in frame["detections"]["id"]]
    core = started()
    output = core.push([InputRecord("detections", 0, nth, b"bay", as_json(frame)) for nth, frame in enumerate(batch)])
    accepted, refused = [], []
    for frame in batch:
        reasons = [reason_of(frame, nth, STREAMS) for nth in range(len(frame["detections"]["id"]))]
        accepted += [(frame, nth) for nth, reason in enumerate(reasons) if reason is None]
        bad = [(reason, nth) for nth, reason in enumerate(reasons) if reason is not None]
        elements_first = sorted(bad, key=lambda each: not _is_an_element(frame, *each))
        refused += [(reason, letter_of(frame, nth)) for reason, nth in elements_first]
    assert [(letter["reason"], letter["record"]) for letter in letters(output)] == refused
    assert status(output)["totals"]["malformed"] == len(refused)
    assert _journalled(core.journal()) == [_row(frame["detections"], nth) for frame, nth in accepted]


def _is_good(id_: object) -> bool:
    return isinstance(id_, str) and id_.startswith("id-")


def _is_an_element(frame: dict[str, Any], reason: str, nth: int) -> bool:
    """Whether a row was refused for an element of a column, not for its stamp: these letters come first."""
    good_stamp = {"sensor": "north", "stream": "p", "template": SHORT.id}
    return reason_of({**frame, "stamps": [good_stamp] * len(frame["stamps"])}, nth, STREAMS) is not None


def _row(columns: dict[str, Any], nth: int) -> tuple[str, int, bytes]:
    attributes = columns["attributes"][nth] if "attributes" in columns else {}
    return columns["id"][nth], columns["detected_at_us"][nth], as_json(attributes)


def _journalled(journal: dict[int, bytes]) -> list[tuple[str, int, bytes]]:
    slots = [Slot.decode(journal[number]) for number in sorted(row_slots(journal))]
    times = [memoryview(slot.detected_at_us).cast("q").tolist() for slot in slots]
    columns = zip(slots, times, strict=True)
    return [row for slot, at_us in columns for row in zip(slot.ids, at_us, slot.payload, strict=True)]
