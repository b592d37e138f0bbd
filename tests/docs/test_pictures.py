"""The numbers written into the pictures of the documents are those that the code computes now."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import figures
from docs import coalescing_pictures, timing_join_pictures, window_join_pictures
from docs.generate import ROOT
from docs.pictures import Numbers, numbers_in, rounded

PICTURES = {
    path: numbers
    for module in (timing_join_pictures, window_join_pictures, coalescing_pictures, figures)
    for path, (_, numbers) in module.PICTURES.items()
}
OF_DATA = {  # held by test_central_italy, ..._events, ..._episodes and test_window_join_italy
    ROOT / "docs/benchmarks/central-italy-episodes.svg",
    ROOT / "docs/timing-join/central-italy.svg",
    ROOT / "docs/window-join/central-italy-work.svg",
    ROOT / "docs/window-join/central-italy-events.svg",
}
OF_TIMES = {ROOT / "docs/benchmarks/coalescing-schemes.svg"}  # as seen once; held by test_benchmarks


@pytest.mark.parametrize(("path", "numbers"), PICTURES.items(), ids=[path.stem for path in PICTURES])
def test_a_picture_shows_what_the_code_gives(path: Path, numbers: Callable[[], Numbers]) -> None:
    shown, now = numbers_in(path), rounded(numbers())
    assert shown.keys() == now.keys()
    for name, values in shown.items():
        assert len(values) > 0
        assert values == pytest.approx(now[name], abs=1e-5), f"{name}: draw {path.name} anew"


def test_every_picture_is_held() -> None:
    assert {*PICTURES, *OF_DATA, *OF_TIMES} == set(ROOT.glob("docs/**/*.svg"))


def test_the_numbers_need_no_matplotlib() -> None:
    drawing = "benchmarks.figures, docs.coalescing_pictures, docs.timing_join_pictures, docs.window_join_pictures"
    script = f"import sys; sys.modules['matplotlib'] = None; import {drawing}"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=60)
