import json

from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram
from services.ingest.kafka.frames import LONGEST_BYTES, MOST_DETECTIONS, FrameDraft
from services.ingest.registry.sensors import Template
from services.ingest.stamping.stamp import StampedDetection

NORMAL = Template.of(Histogram.normal(sigma_s=1 / 3))


@settings(deadline=None, max_examples=15)
@given(st.integers(1, 1300), st.integers(0, 1000), st.integers(1, 1300))
def test_frames_hold_every_detection_once_in_order(count: int, text: int, templates: int) -> None:
    draft = FrameDraft("bay")
    for n in range(count):
        template = Template(NORMAL.histogram, f"t-{n % templates}", 0, 0, NORMAL.json)
        draft.add(2 * n, template, StampedDetection(f"d{n}", "geo", "seismic", n, template.id, n, n, {"a": "x" * text}))
    frames = draft.frames(7)
    assert [index for frame in frames for index in frame.indices] == [2 * n for n in range(count)]
    ids = []
    for frame in frames:
        assert len(frame.value) <= LONGEST_BYTES
        value = json.loads(frame.value)
        assert 1 <= len(value["detections"]) == len(frame.indices) <= MOST_DETECTIONS
        assert value["templates"].keys() == {each["template"] for each in value["detections"]}
        ids += [each["id"] for each in value["detections"]]
    assert ids == [f"d{n}" for n in range(count)]


def test_the_longest_detection_that_can_be_posted_fits_many_times_over() -> None:
    draft = FrameDraft("a" * 128)
    long = "\U0001f300" * 200
    draft.add(0, NORMAL, StampedDetection(long, long, long, 2**62, long, 2**62, 2**62, {"a": "x" * 1016}))
    assert len(draft.frames(2**62)[0].value) < LONGEST_BYTES / 16
