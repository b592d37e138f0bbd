"""Qualifying offsets of many template pairs against the library's own, pair by pair."""

from __future__ import annotations

import numpy as np

from coincide.histogram import Histogram
from coincide.offsets import satisfaction_offsets
from coincide.window import Window
from spark_jobs.qualifying import QualifyingOffsets
from spark_jobs.templates import Templates

WINDOW, THRESHOLD = Window(1.0), 0.2
TEMPLATES = [
    Histogram.point(),
    Histogram.uniform(-1, 1),
    Histogram([-1, 0, 5, 6], [0.5, 0, 0.5]),  # gaps: several intervals against most of the others
    Histogram([-1, 0, 3, 4, 9, 10], [0.3, 0, 0.3, 0, 0.4]),
]


def test_offsets_qualify_as_their_own_pair_says_whichever_pairs_come_together() -> None:
    known = Templates(max_buckets=1_000)
    codes = [known.add(template) for template in TEMPLATES]
    offsets = QualifyingOffsets(WINDOW, THRESHOLD, known)
    draw = np.random.default_rng(1987)
    gapped = 0
    for size in (1, 3, 500, 500):
        u, v = draw.choice(codes, (2, size)).astype(np.int32)
        offset_us = draw.integers(-13_000_000, 13_000_000, size)
        expected = []
        for i, j, offset in zip(u, v, offset_us, strict=True):
            intervals = satisfaction_offsets(known.histogram(i), known.histogram(j), WINDOW, THRESHOLD)
            expected.append(any(lo <= offset <= hi for lo, hi in intervals))
            gapped += len(intervals) > 1
        assert offsets.contain(u, v, offset_us).tolist() == expected
    assert gapped > 100
