"""The numbers written into the pictures of the documents are those that the code computes now."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.generate import ROOT
from docs.pictures import Numbers, coalescing, numbers_in, papers, rounded, timing_join, window_join

PICTURES = {
    path: numbers
    for page in (timing_join, window_join, coalescing, papers)
    for path, (_, numbers) in page.PICTURES.items()
}
OF_DATA = {  # checked by test_central_italy, ..._events, ..._episodes and test_window_join_italy
    ROOT / "docs/explanation/earthquake-morning/pairs.svg",
    ROOT / "docs/explanation/earthquake-morning/events.svg",
    ROOT / "docs/explanation/earthquake-morning/episodes.svg",
    ROOT / "docs/explanation/papers/central-italy-work.svg",
}
OF_TIMES = {ROOT / "docs/explanation/benchmarks/coalescing-schemes.svg"}  # measured once; checked by test_benchmarks


@pytest.mark.parametrize(("path", "numbers"), PICTURES.items(), ids=[path.stem for path in PICTURES])
def test_a_picture_shows_what_the_code_gives(path: Path, numbers: Callable[[], Numbers]) -> None:
    shown, now = numbers_in(path), rounded(numbers())
    assert shown.keys() == now.keys()
    for name, values in shown.items():
        assert len(values) > 0
        assert values == pytest.approx(now[name], abs=1e-5), f"{name}: draw {path.name} anew"


def test_every_picture_is_checked() -> None:
    assert {*PICTURES, *OF_DATA, *OF_TIMES} == set(ROOT.glob("docs/**/*.svg"))


def test_the_numbers_need_no_matplotlib() -> None:
    drawing = "from docs.pictures import coalescing, papers, timing_join, window_join"
    script = f"import sys; sys.modules['matplotlib'] = None; {drawing}"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=60)
