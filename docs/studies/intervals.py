"""Figure 1 of the interval paper, bounds of a probability; Figure 3 of the PTJoin paper, an event's partitions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.joins.templates import uneven_template
from coincide import Detections, Histogram, Window, match_probability
from coincide.papers.counted_answer import TimingAnswer
from coincide.papers.interval_timing.regions import region_tables
from coincide.papers.ptjoin.histogram_joins import longest_us
from coincide.papers.ptjoin.partition_bounds import InstalledCondition, Partitions, partitions_for_any_threshold
from coincide.papers.recording import Recording
from docs.pictures import Numbers, figure
from docs.pictures.style import BLUE, PALE_AMBER, PALE_GREEN, RED

PROBED, MATCHES = PALE_AMBER, PALE_GREEN
MAX1_S = 2.0
BASE, SHORTEST, LONGEST = (Histogram.uniform(-length_s, 0) for length_s in (0.4, 0.2, 0.9))
WINDOW, CT = Window(1.0), 0.7
TEMPLATES, WIDER, DELTA, DETECTED_MS = 500, Window(1.5), 0.8, 5000
OFFSETS_S = np.arange(-13, 17) / 5


def shade(ax: Any, ends: Sequence[float], y: float, height: float, names: tuple[str, str, str]) -> None:
    """Draw three ranges: probed, matching for certain, probed."""
    for (start, end), name in zip(pairwise(ends), names, strict=True):
        color = MATCHES if name == names[1] else PROBED
        ax.barh(y, end - start, height, start, color=color, edgecolor="0.4", linewidth=0.6)
        ax.text((start + end) / 2, y, name, ha="center", va="center", fontsize=8)


def draw_bounds() -> Any:
    """Draw both bounds against max(I2), and LH, LL, RL, RH where they cross the threshold."""
    x_s = np.linspace(0.3, 4.2, 781)
    of_both = _probabilities(x_s)
    drawn, ax = figure(8, 4)
    ax.plot(x_s, np.maximum(*of_both), "-", color="black", label="upper bound")
    ax.plot(x_s, np.minimum(*of_both), ":", color="black", label="lower bound")
    ax.axhline(CT, color=RED, linewidth=0.8)
    ax.text(0.32, CT + 0.02, f"ct = {CT:g}", color=RED)
    ends_s = _regions_s()
    for name, end_s in zip(("LH", "LL", "RL", "RH"), ends_s, strict=True):
        ax.plot([end_s, end_s], [-0.1, CT], "--", color="0.4", linewidth=0.8)
        outside = name in {"LH", "RH"}  # outside the upper bound and above the line, or inside the lower and below
        x_shift_s = -0.02 if name in {"LH", "RL"} else 0.02
        ax.text(end_s + x_shift_s, CT + (0.02 if outside else -0.06), name, ha="right" if x_shift_s < 0 else "left")
    shade(ax, ends_s, y=-0.16, height=0.12, names=("probe", "all match", "probe"))
    lengths = (
        f"I1 = ({MAX1_S - BASE.length_s:g}, {MAX1_S:g}), I2 from {SHORTEST.length_s:g} to {LONGEST.length_s:g} long"
    )
    ax.set(xlabel=f"max(I2), seconds   [{lengths}, d = {WINDOW.hi_s:g}]", ylabel="satisfaction probability")
    ax.set_yticks(np.linspace(0, 1, 6))
    ax.legend(loc="center")
    return drawn


def bounds_numbers() -> Numbers:
    """Probabilities at every fifth of a second, and where the regions end."""
    of_shortest, of_longest = _probabilities(np.arange(2, 22) / 5)
    return {"shortest": of_shortest, "longest": of_longest, "LH, LL, RL, RH": _regions_s()}


def _probabilities(x_s: npt.NDArray[np.float64]) -> list[npt.NDArray[np.float64]]:
    return [match_probability(BASE, partner, x_s - MAX1_S, WINDOW) for partner in (SHORTEST, LONGEST)]


def _regions_s() -> tuple[float, float, float, float]:
    arrivals = Recording({"a": Detections([round(MAX1_S * 1e6)], [BASE]), "b": Detections([], [SHORTEST, LONGEST])})
    region = region_tables(TimingAnswer(arrivals, WINDOW, CT))["a"].of(arrivals.events[0])
    return region.lh_us / 1e6, region.ll_us / 1e6, region.rl_us / 1e6, region.rh_us / 1e6


def draw_partitions() -> Any:
    """Draw the probabilities of 500 templates against max(H_j), and both partitions of one event."""
    phi, of_b, tight, loose = _example()
    drawn, ax = figure(9, 4.5)
    _draw_curves(ax, phi, of_b)
    ax.axhline(DELTA, color=RED, linewidth=0.8)
    ax.text(2420, DELTA + 0.02, f"threshold {DELTA:g}", color=RED)
    _draw_partitions(ax, tight, "2367", y=-0.18, title="Theorem 3")
    _draw_partitions(ax, loose, "1458", y=-0.38, title="Equations 4 to 6")
    ax.set(xlabel="max(H_j), ms", ylabel="satisfaction probability", xlim=(2400, 8200), yticks=np.arange(0, 1.1, 0.2))
    ax.legend(loc="center")
    return drawn


def partitions_numbers() -> Numbers:
    """Return the ends of both partitions, and the probabilities of four templates on the way."""
    phi, of_b, tight, loose = _example()
    curves = [x for template in of_b[:4] for x in match_probability(phi, template, OFFSETS_S, WIDER)]
    return {"Theorem 3": _ends_ms(tight), "Equations 4 to 6": _ends_ms(loose), "P": curves}


def _example() -> tuple[Histogram, list[Histogram], Partitions, Partitions]:
    """Draw an event's template and its partners'; return them and the event's partition by either rule."""
    random = np.random.default_rng(2006)
    of_a, of_b = ([_latency(random) for _ in range(TEMPLATES)] for _ in range(2))
    phi = of_a[int(random.integers(TEMPLATES))]
    arrivals = Recording({"a": Detections([DETECTED_MS * 1000], [phi]), "b": Detections([], of_b)})
    tight = InstalledCondition.install([phi], of_b, WIDER, DELTA).partitions(arrivals.events[0])
    loose = partitions_for_any_threshold(arrivals.events[0], WIDER, longest_us(arrivals.parameters["b"]))
    return phi, of_b, tight, loose


def _latency(random: np.random.Generator) -> Histogram:
    """Draw a template of 4 to 8 buckets that ends at the time of detection, at most 1000 ms long."""
    drawn = uneven_template(random)  # up to 40 s
    return Histogram((drawn.edges_s - drawn.latest_s) / 40, drawn.mass)


def _draw_curves(ax: Any, phi: Histogram, of_b: list[Histogram]) -> None:
    max_ms = np.linspace(2400, 8200, 581)
    curves = np.array([match_probability(phi, template, (max_ms - DETECTED_MS) / 1e3, WIDER) for template in of_b])
    least, greatest = curves.min(axis=0), curves.max(axis=0)
    ax.fill_between(max_ms, least, greatest, color=BLUE, alpha=0.25, linewidth=0, label=f"{TEMPLATES} templates")
    ax.plot(max_ms, curves[:4].T, color=BLUE, linewidth=0.7, label=["four of them", None, None, None])


def _draw_partitions(ax: Any, partitions: Partitions, numbers: str, y: float, title: str) -> None:
    ends_ms = _ends_ms(partitions)
    for number, end_ms in zip(numbers, ends_ms, strict=True):
        ax.plot([end_ms, end_ms], [y, DELTA], ":", color="0.4", linewidth=0.8)
        ax.text(end_ms, 1.06, f"({number})", ha="center", fontsize=8)
    shade(ax, ends_ms, y, height=0.13, names=("LPR", f"SR by {title}", "RPR"))


def _ends_ms(partitions: Partitions) -> list[float]:
    bounds_us = (partitions.least_us, partitions.sure_first_us, partitions.sure_last_us, partitions.greatest_us)
    return [bound_us / 1e3 for bound_us in bounds_us]
