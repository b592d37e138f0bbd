from typing import Any

import numpy as np
import pytest

from coincide import CoincideError, Detections, Histogram, Window, timing_join

CLOCK = Histogram.uniform(-40, 0.0000005)


def test_earliest_is_rounded_down_and_latest_up() -> None:
    detections = Detections([60_000_000], [CLOCK])
    assert (detections.earliest_us.tolist(), detections.latest_us.tolist()) == ([20_000_000], [60_000_001])


def test_each_row_has_its_own_template() -> None:
    detections = Detections([0, 0], [Histogram.point(), CLOCK], template_index=[1, 0])
    assert detections.earliest_us.tolist() == [-40_000_000, 0]


def test_columns_are_read_only_and_leave_the_callers_array_alone() -> None:
    times = np.array([1, 2], np.int64)
    detections = Detections(times, [CLOCK])
    with pytest.raises(ValueError, match="read-only"):
        detections.detected_at_us[0] = 5
    times[0] = 3
    assert times.tolist() == [3, 2]


def test_a_batch_may_be_empty() -> None:
    detections = Detections([], [], area=[], sensor=[], id=[])
    assert (len(detections), detections.latest_us.tolist()) == (0, [])


def test_labels_of_any_integer_type_are_told_apart_to_the_last_bit() -> None:
    far = 2**53
    signed = Detections([0], [CLOCK], area=np.array([far]))
    unsigned = Detections([0], [CLOCK], area=np.array([far + 1], np.uint64), id=np.array([7], np.int8))
    assert unsigned.id is not None
    assert unsigned.id.dtype == np.int64
    assert len(timing_join(signed, unsigned, Window(100), 1)) == 0


def test_take_keeps_all_columns_together() -> None:
    columns: dict[str, Any] = {"area": ["x", "y"], "sensor": [7, 8], "received_at_us": [4, 5], "id": ["p", "q"]}
    taken = Detections([1, 2], [CLOCK], **columns).take(np.array([1, 0]))
    for name, values in {"detected_at_us": [1, 2], **columns}.items():
        assert getattr(taken, name).tolist() == values[::-1], name


UNUSABLE: dict[str, list[Any]] = {
    "detected_at_us": [[1.5, 2.0], [[1, 2]], [1, 2**62], [1, 2**64 - 1], ["1", "2"], [True, False]],
    "templates": [["t-1"], CLOCK],
    "template_index": [[0, 1], [0, -1], [0]],
    "area": [[1.0, 2.0], ["x"]],
    "sensor": [["x", None], [1, 2**63]],
    "id": [np.array([1, 2**64 - 1], np.uint64), ["x", "y", "z"]],
    "received_at_us": [[1, -(2**62)]],
}


@pytest.mark.parametrize(
    ("field", "columns"),
    [
        *((field, {field: column}) for field, columns in UNUSABLE.items() for column in columns),
        ("template_index", {"templates": [CLOCK, CLOCK]}),
    ],
)
def test_an_unusable_column_is_refused_by_name(field: str, columns: dict[str, Any]) -> None:
    with pytest.raises(CoincideError) as refusal:
        Detections(**{"detected_at_us": [1, 2], "templates": [CLOCK], **columns})
    assert refusal.value.field == field
