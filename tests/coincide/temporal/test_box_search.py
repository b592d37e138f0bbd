import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coincide.temporal.box_search import Boxes, Points, points_in_boxes


@given(st.integers(0, 2**32), st.integers(1, 400), st.integers(1, 60), st.integers(1, 3), st.integers(1, 4))
def test_the_points_in_a_box_are_those_of_every_point_compared(
    seed: int, n: int, boxes: int, coordinates: int, parts: int
) -> None:
    drawn = np.random.default_rng(seed)
    column = [drawn.permutation(n) for _ in range(coordinates)]
    ranges = [(low, low + drawn.integers(0, n + 1 - low)) for low in drawn.integers(0, n + 1, (coordinates, boxes))]
    part, box_part = drawn.integers(parts, size=n), drawn.integers(parts, size=boxes)
    group, box_group = drawn.integers(3, size=n), drawn.integers(3, size=boxes)
    for is_grouped in (False, True):
        inside = part == box_part[:, None]
        for at, (low, high) in zip(column, ranges, strict=True):
            inside &= (low[:, None] <= at) & (at < high[:, None])
        if is_grouped:
            inside &= group != box_group[:, None]
        pairs = points_in_boxes(
            Points(np.arange(n), part, tuple(column), group if is_grouped else None),
            Boxes(np.arange(boxes), box_part, tuple(ranges), box_group if is_grouped else None),
        )
        rows = sorted(pair for box, point in pairs for pair in zip(box.tolist(), point.tolist(), strict=True))
        assert rows == list(map(tuple, np.argwhere(inside).tolist()))
