import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram
from coincide.wire.fields import MOST_DETECTIONS
from services.ingest.publishing.frame import Frame
from services.ingest.registry.sensors import template_of
from services.ingest.registry.snapshot import StreamStamp
from services.ingest.stamping.frames import LONGEST_BYTES, FrameDraft
from services.ingest.stamping.stamp import Stamped
from tests.examples import examples
from tests.reference.frame_columns import frame_of
from tests.reference.frames import rows_of

NORMALS = [Histogram.normal(sigma_s=1 / n) for n in (1, 2, 3)]
TEMPLATES = [template_of(histogram) for histogram in NORMALS]
HISTOGRAMS = {histogram.id: histogram.to_json() for histogram in NORMALS}
STAMPS = [
    StreamStamp("bay", sensor, stream, template)
    for sensor in ("geo", "ö\n")
    for stream in ("seismic", "acoustic")
    for template in TEMPLATES
]


def drafted(rows: Sequence[Stamped]) -> list[Frame]:
    draft = FrameDraft("bay")
    for nth, row in enumerate(rows):
        draft.add(2 * nth, *row)
    return draft.frames(7)


def as_object(row: Stamped) -> dict[str, Any]:
    stamp, detected_at_us, identity, attributes = row
    shared = {"sensor": stamp.sensor, "stream": stamp.stream, "template": stamp.template.id}
    return {"id": identity, **shared, "detected_at_us": detected_at_us, "attributes": json.loads(attributes)}


ROWS = st.tuples(
    st.sampled_from(STAMPS),
    st.integers(-(2**62), 2**62),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9),
    st.sampled_from([b"{}", b'{"a":1}', '{"a":[null,"☃"]}'.encode()]),
)


@given(st.lists(ROWS, min_size=1, max_size=20))
def test_a_frame_says_what_its_rows_say_and_nothing_else(rows: list[Stamped]) -> None:
    [frame] = drafted(rows)
    written = json.loads(frame.value)
    assert list(rows_of(written)) == [as_object(row) for row in rows]
    assert written == frame_of("bay", 7, HISTOGRAMS, [as_object(row) for row in rows])
    assert list(written) == ["v", "area", "received_at_us", "templates", "stamps", "detections"]
    assert frame.key == b"bay"


@settings(deadline=None, max_examples=examples(15))
@given(st.integers(1, 1300), st.integers(0, 1000), st.integers(1, 1300))
def test_frames_hold_every_detection_once_in_order(count: int, text: int, stamps: int) -> None:
    of = [StreamStamp("bay", f"geo-{n}", "seismic", TEMPLATES[n % 3]) for n in range(stamps)]
    attributes = json.dumps({"a": "x" * text}).encode()
    rows = [(of[n % stamps], n, f"d{n}", attributes) for n in range(count)]
    frames = drafted(rows)
    assert [index for frame in frames for index in frame.indices] == [2 * n for n in range(count)]
    assert all(len(frame.value) <= LONGEST_BYTES and len(frame.indices) <= MOST_DETECTIONS for frame in frames)
    written = [list(rows_of(json.loads(frame.value))) for frame in frames]
    assert [len(each) for each in written] == [len(frame.indices) for frame in frames]
    assert [each for detections in written for each in detections] == [as_object(row) for row in rows]


def test_the_longest_detection_that_can_be_posted_fits_many_times_over() -> None:
    long = "\U0001f300" * 200
    stamp = StreamStamp("a" * 128, long, long, TEMPLATES[0])
    [frame] = drafted([(stamp, 2**62, long, b'{"a":"%b"}' % (b"x" * 1016))])
    assert len(frame.value) < LONGEST_BYTES / 16
