"""The picture and the figures of docs/explanation/papers.md about the Central Italy morning say what comes out."""

from __future__ import annotations

import pytest

from docs.generate import ROOT
from docs.pictures import numbers_in
from docs.studies.window_join_work import UNIFORM
from docs.studies.work import HOURS, STATIONS, curves
from tests.reference import central_italy

pytestmark = pytest.mark.skipif(central_italy.why_absent() is not None, reason=str(central_italy.why_absent()))
PICTURE = ROOT / "docs/explanation/papers/central-italy-work.svg"
PAGE = (ROOT / "docs/explanation/papers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("stations", STATIONS)
def test_the_whole_morning_is_as_shown(stations: int) -> None:
    shown, now = numbers_in(PICTURE), curves(stations, hours=[HOURS])
    assert now.keys() == {"results", *UNIFORM, "longest wait of FEW, s"}
    for name, [last] in now.items():
        assert shown[f"{stations} stations: {name}"][-1] == pytest.approx(last, rel=1e-5), name
    counts = [f"{now[name][0]:,.0f}" for name in ("results", *UNIFORM, "longest wait of FEW, s")]
    assert f"| {stations} | {' | '.join(counts)} |" in PAGE
