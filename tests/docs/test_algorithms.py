"""The table of docs/algorithms.md holds what the algorithms count."""

from __future__ import annotations

import re

import pytest

from coincide.timing_join.algorithms import ALGORITHMS, PaperAlgorithm
from docs.generate import ROOT
from tests.reference.recorded_streams import long_recording

PAGE = (ROOT / "docs/algorithms.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=lambda algorithm: algorithm.name)
def test_counts_are_those_of_the_recording(algorithm: PaperAlgorithm) -> None:
    streams = long_recording()
    measured = algorithm.run(streams.arrivals, streams.window, streams.threshold)
    work = measured.work
    counts = [f"{count:,}" for count in (work.scanned, work.probabilities, work.lookups, work.buffered)]

    row = re.search(rf"^\| `{algorithm.name}` \|.*$", PAGE, re.MULTILINE)

    assert row is not None, f"{algorithm.name} has no row"
    assert row[0].rsplit(" | ", 4)[1:] == [*counts[:3], f"{counts[3]} |"]
    assert f"{len(measured.pairs):,} pairs" in PAGE
