"""Pictures of templates and pairs, where matplotlib is there, and what is said where it is not."""

import sys
from typing import Any

import numpy as np
import pytest

from coincide import Histogram, Pairs


def axes() -> Any:
    pytest.importorskip("matplotlib")
    figure = __import__("matplotlib.figure", fromlist=["Figure"])
    return figure.Figure().subplots()


def pairs(*probabilities: float) -> Pairs:
    positions = np.arange(len(probabilities))
    return Pairs(positions, positions, lambda: np.array(probabilities))


def test_a_template_is_drawn_as_its_density() -> None:
    drawn: Any = Histogram([-40, -20, -20, 0], [0.5, 0.3, 0.2]).plot(axes())
    bars = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in drawn.patches]
    assert bars == [(-40, 20, 0.025), (-20, 20, pytest.approx(0.01))]
    [of_atoms] = [each for each in drawn.figure.axes if each is not drawn]
    [lines] = of_atoms.collections
    assert lines.get_segments()[0].tolist() == [[-20, 0], [-20, 0.3]]
    assert "occurred - reported" in drawn.get_xlabel()


def test_an_exact_time_is_a_line_alone() -> None:
    drawn: Any = Histogram.point().plot(axes())
    assert (len(drawn.patches), len(drawn.collections), len(drawn.figure.axes)) == (0, 1, 1)


def test_pairs_are_counted_by_threshold() -> None:
    drawn: Any = pairs(0.9, 0.2, 0.2).plot(axes())
    [line] = drawn.lines
    thresholds, counts = line.get_data()
    for threshold, expected in ((0.0, 3), (0.1, 3), (0.2, 3), (0.21, 1), (0.9, 1), (0.95, 0), (1.0, 0)):
        at = int(np.searchsorted(thresholds, threshold, side="left"))  # a step holds up to and with its right end
        assert counts[at] == expected, threshold
    nothing: Any = pairs().plot(axes())
    assert nothing.lines[0].get_data()[1].tolist() == [0, 0]


def test_without_matplotlib_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (Histogram.point().plot, pairs(0.5).plot):
        with pytest.raises(ImportError, match=r"coincide\[plot\]"):
            draw()


def test_without_axes_pyplots_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    pyplot = __import__("matplotlib.pyplot", fromlist=["gca"])
    assert Histogram.point().plot() is pyplot.gca()
    pyplot.close("all")
