"""The table of timing joins on docs/explanation/papers.md says what the algorithms count."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from coincide import timing_join
from coincide.arrays import range_expansion as expansion
from coincide.joins.probe_bounds import ProbeBounds
from coincide.papers.algorithms import TIMING_JOINS, PaperAlgorithm
from docs.generate import ROOT
from tests.reference.recorded_streams import long_recording

PAGE = (ROOT / "docs/explanation/papers.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## Timing joins\n")[1].split("\n## ")[0]


def test_the_example_runs_as_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    [block] = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    pairs = len(timing_join(names["a"], names["b"], names["window"], names["threshold"], sensors="any"))
    assert [name for name, *_ in lines] == [each.name for each in TIMING_JOINS if not each.uniform_templates_only]
    assert {int(count) for _, count, _ in lines} == {pairs}
    assert pairs > 0


@pytest.mark.parametrize("algorithm", TIMING_JOINS, ids=lambda algorithm: algorithm.name)
def test_counts_are_those_of_the_recording(algorithm: PaperAlgorithm) -> None:
    streams = long_recording()
    result = algorithm.run(*streams.question)
    work = result.work
    counts = [f"{count:,}" for count in (work.scanned, work.probabilities, work.lookups, work.buffered)]
    row = re.search(rf"^\| `{algorithm.name}` \|.*$", SECTION, re.MULTILINE)
    assert row is not None, f"{algorithm.name} has no row"
    assert row[0].rsplit(" | ", 4)[1:] == [*counts[:3], f"{counts[3]} |"]
    assert f"{len(result.members):,} pairs" in SECTION


def test_our_own_counts_are_those_of_the_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    streams, scanned, looked_up = long_recording(), [], []
    monkeypatch.setattr(expansion, "expanded", counted(expansion.expanded, lambda rows: scanned.append(len(rows[0]))))
    monkeypatch.setattr(ProbeBounds, "qualify", counted(ProbeBounds.qualify, lambda rows: looked_up.append(len(rows))))
    timing_join(streams.a, streams.b, streams.window, streams.threshold, sensors="any")
    row = re.search(r"^\| `timing_join` \|.*$", SECTION, re.MULTILINE)
    assert row is not None
    counts = (sum(scanned), 0, sum(looked_up), len(streams.a) + len(streams.b))
    assert row[0].rsplit(" | ", 4)[1:] == [*(f"{count:,}" for count in counts[:3]), f"{counts[3]} |"]


def counted(function: Callable[..., Any], note: Callable[[Any], None]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        result = function(*args)
        note(result)
        return result

    return call
