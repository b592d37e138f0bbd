"""Decimals and far whole numbers: runs in one go, eagerly, lazily and by the command are those of exact arithmetic."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coincide import Bounded, EagerCoalescing, LazyCoalescing, Quantised, WindowExtent, coalesce_readings
from coincide.coalescing import Equivalence
from tests.coincide.command.files import EPOCH_US, coalesce, write


def in_one_go(values: Sequence[Any], equivalence: Equivalence) -> int:
    return len(coalesce_readings(np.arange(len(values)), value=values, equivalence=equivalence))


def eagerly(values: Sequence[Any], equivalence: Equivalence) -> int:
    stream = EagerCoalescing(WindowExtent(size=len(values)), equivalence)
    stream.push(np.arange(len(values)), value=values)
    return len(stream.scan())


def one_by_one(values: Sequence[Any], equivalence: Equivalence) -> int:
    stream = EagerCoalescing(WindowExtent(size=len(values)), equivalence)
    for ts_us, value in enumerate(values):
        stream.push([ts_us], value=[value])
    return len(stream.scan())


def lazily(values: Sequence[Any], equivalence: Equivalence) -> int:
    stream = LazyCoalescing(WindowExtent(size=len(values)), equivalence)
    stream.push(np.arange(len(values)), value=values)
    return len(stream.scan())


Way = Callable[[Sequence[Any], Equivalence], int]
WALK = (np.cumsum(np.resize([1, 1, 1, -1, 1, -1, -1], 2000)) / 10).tolist()


@pytest.mark.parametrize("way", [in_one_go, eagerly, one_by_one, lazily])
@pytest.mark.parametrize(
    ("values", "equivalence", "runs"),
    [
        (WALK, Bounded(0.1), 1),
        ((np.arange(100) / 10).tolist(), Quantised(0.1), 100),
        ((np.arange(1000) / 100).tolist(), Quantised(0.1), 100),
        ([1.1, 1.21, 1.331, 1.4641, 1.61], Bounded(0.1, relative=True), 1),
        ([-20, -19, -17.9, 0, 0, 1], Bounded(0.05, relative=True), 4),
        ([-(2**63), 2**63 - 1], Bounded(1), 2),
        ([-(2**63), 2**63 - 1, 2**63 - 3], Quantised(3.0), 3),
        ([2**62, 2**62 + 1, 2**62 + 3], Bounded(1.5), 2),
    ],
)
def test_runs_are_those_of_the_decimals_in_every_way(
    way: Way, values: list[Any], equivalence: Equivalence, runs: int
) -> None:
    assert way(values, equivalence) == runs


@pytest.mark.parametrize(
    ("values", "equivalence", "runs"),
    [
        (WALK, "bounded:0.1", 1),
        ([nth / 10 for nth in range(100)], "quantised:0.1", 100),
        ([1.1, 1.21, 1.331, 1.4641], "relative:0.1", 1),
        ([-(2**63), 2**63 - 1], "bounded:1", 2),
    ],
)
@pytest.mark.parametrize("file_type", ["csv", "ndjson"])
def test_the_command_says_the_same(
    tmp_path: Path, values: list[Any], equivalence: str, runs: int, file_type: str
) -> None:
    rows = [{"detected_at_us": EPOCH_US + nth, "celsius": value} for nth, value in enumerate(values)]
    file = write(tmp_path / f"walk.{file_type}", rows)
    answer = coalesce(file, "--value", "celsius", "--equivalence", equivalence, out=tmp_path / "runs.csv")
    assert len(answer) == runs
