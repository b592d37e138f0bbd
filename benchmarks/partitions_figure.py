"""Figure 3 of the PTJoin paper: partitions by Theorem 3, and by Equations 4 to 6."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.satisfaction_table import random_template
from benchmarks.shading import shade
from coincide import Detections, Histogram, Window, match_probability
from coincide.papers.ptjoin.histogram_joins import longest_us
from coincide.papers.ptjoin.partition_bounds import InstalledCondition, Partitions, partitions_for_any_threshold
from coincide.papers.timing_events import Arrivals
from docs.pictures import Numbers, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEMPLATES, WINDOW, DELTA, DETECTED_MS = 500, Window(1.5), 0.8, 5000


def draw_partitions() -> Figure:
    """Draw the probabilities of 500 templates against max(H_j), and both partitions of one event."""
    phi, of_b, tight, loose = _example()
    drawn: Figure
    drawn, ax = figure(9, 4.5)
    _draw_probabilities(ax, phi, of_b)
    ax.axhline(DELTA, color="#d62728", linewidth=0.8)
    ax.text(2420, DELTA + 0.02, f"threshold {DELTA:g}", color="#d62728")
    _draw_partitions(ax, tight, "2367", y=-0.18, title="Theorem 3")
    _draw_partitions(ax, loose, "1458", y=-0.38, title="Equations 4 to 6")
    ax.set(xlabel="max(H_j), ms", ylabel="satisfaction probability", xlim=(2400, 8200), yticks=np.arange(0, 1.1, 0.2))
    ax.legend(loc="center")
    return drawn


def numbers() -> Numbers:
    """Return the ends of both partitions, and the probabilities of four templates on the way."""
    phi, of_b, tight, loose = _example()
    offsets_s = np.arange(-13, 17) / 5
    curves = [x for template in of_b[:4] for x in match_probability(phi, template, offsets_s, WINDOW)]
    return {"Theorem 3": _ends_ms(tight), "Equations 4 to 6": _ends_ms(loose), "P": curves}


def _example() -> tuple[Histogram, list[Histogram], Partitions, Partitions]:
    """Draw an event's template and its partners'; return them and the event's partition by either rule."""
    random = np.random.default_rng(2006)
    of_a, of_b = ([_latency(random) for _ in range(TEMPLATES)] for _ in range(2))
    phi = of_a[int(random.integers(TEMPLATES))]
    arrivals = Arrivals(Detections([DETECTED_MS * 1000], [phi]), Detections([], of_b))
    tight = InstalledCondition.install([phi], of_b, WINDOW, DELTA).partitions(arrivals.events[0])
    loose = partitions_for_any_threshold(arrivals.events[0], WINDOW, longest_us(arrivals.parameters["b"]))
    return phi, of_b, tight, loose


def _latency(random: np.random.Generator) -> Histogram:
    """Draw a template of 4 to 8 buckets that ends at the time of detection, at most 1000 ms long."""
    drawn = random_template(random)  # up to 40 s
    return Histogram((drawn.edges_s - drawn.latest_s) / 40, drawn.mass)


def _draw_probabilities(ax: Axes, phi: Histogram, of_b: list[Histogram]) -> None:
    max_ms = np.linspace(2400, 8200, 581)
    curves = np.array([match_probability(phi, template, (max_ms - DETECTED_MS) / 1e3, WINDOW) for template in of_b])
    least, greatest = curves.min(axis=0), curves.max(axis=0)
    ax.fill_between(max_ms, least, greatest, color="#1f77b4", alpha=0.25, linewidth=0, label=f"{TEMPLATES} templates")
    ax.plot(max_ms, curves[:4].T, color="#1f77b4", linewidth=0.7, label=["four of them", None, None, None])


def _draw_partitions(ax: Axes, partitions: Partitions, numbers: str, y: float, title: str) -> None:
    ends_ms = _ends_ms(partitions)
    for number, end_ms in zip(numbers, ends_ms, strict=True):
        ax.plot([end_ms, end_ms], [y, DELTA], ":", color="0.4", linewidth=0.8)
        ax.text(end_ms, 1.06, f"({number})", ha="center", fontsize=8)
    shade(ax, ends_ms, y, height=0.13, names=("LPR", f"SR by {title}", "RPR"))


def _ends_ms(partitions: Partitions) -> list[float]:
    bounds_us = (partitions.least_us, partitions.sure_first_us, partitions.sure_last_us, partitions.greatest_us)
    return [bound_us / 1e3 for bound_us in bounds_us]
