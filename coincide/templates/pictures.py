"""Pictures of templates for notebooks: an inline SVG, which needs no library and no file."""

from __future__ import annotations

import numpy as np

from coincide.templates.distribution import BucketDistribution

WIDTH, HEIGHT = 320, 80


def histogram_html(histogram: BucketDistribution, name: str) -> str:
    """Return a figure of a histogram: its density as bars, its exact times as lines, and its figures below.

    A bar is as high as its density is to the greatest one, a line as high as its mass is to that of all.

    Examples
    --------
    >>> from coincide.templates.histogram import Histogram
    >>> html = histogram_html(Histogram([-1, 0, 0, 4], [0.2, 0.5, 0.3]), "clock")
    >>> html.count("<rect"), html.count("<line"), "-1 to 4 s" in html
    (2, 2, True)
    """
    edges, mass = histogram.edges_s, histogram.mass
    length = np.diff(edges)
    density = np.divide(mass, length, out=np.zeros_like(mass), where=length > 0)
    is_point = histogram.length_s == 0
    x = np.full_like(edges, WIDTH / 2) if is_point else (edges - edges[0]) / histogram.length_s * WIDTH
    height = np.where(length > 0, density / (density.max() or 1.0), mass) * HEIGHT
    shapes = [
        _bar(left, right - left, high) if right > left else _line(left, high)
        for left, right, high in zip(x[:-1].tolist(), x[1:].tolist(), height.tolist(), strict=True)
        if high > 0
    ]
    axis = f'<line x1="0" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}" stroke="currentColor"/>'
    figures = f"{name}: {figures_of(histogram)}"
    return (
        f'<figure style="margin:0"><svg role="img" aria-label="{figures}" width="{WIDTH}" height="{HEIGHT + 1}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT + 1}">{"".join(shapes)}{axis}</svg><figcaption>{figures}</figcaption></figure>'
    )


def figures_of(histogram: BucketDistribution) -> str:
    """Return the figures that sum a histogram up."""
    buckets = "1 bucket" if len(histogram.mass) == 1 else f"{len(histogram.mass)} buckets"
    support = f"{buckets} from {histogram.earliest_s:.6g} to {histogram.latest_s:.6g} s"
    return f"{support}, mean {histogram.mean_s:.6g} s, standard deviation {histogram.std_s:.6g} s"


def _bar(x: float, width: float, height: float) -> str:
    return f'<rect x="{x:.2f}" y="{HEIGHT - height:.2f}" width="{width:.2f}" height="{height:.2f}" fill="#4c78a8"/>'


def _line(x: float, height: float) -> str:
    return f'<line x1="{x:.2f}" x2="{x:.2f}" y1="{HEIGHT - height:.2f}" y2="{HEIGHT}" stroke="#e45756"/>'
