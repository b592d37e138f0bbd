"""All algorithms of the timing papers, by name; every one gives the pairs of `timing_join`."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.papers.interval_timing.correlation import eager, simple, simple_sort
from coincide.papers.interval_timing.lazy_correlation import lazy, lazy_lookup
from coincide.papers.ptjoin import histogram_joins
from coincide.papers.timing_replay import Algorithm


@dataclass(frozen=True)
class PaperAlgorithm:
    """An algorithm of a paper.

    Attributes
    ----------
    name : str
    paper : str
        Authors' short title and the number of the algorithm there.
    run : Algorithm
    uniform_templates_only : bool
        Refuses templates of more than one bucket.
    long_windows_only : bool
        Refuses a window with hi - lo shorter than the longest templates of both streams together.
    """

    name: str
    paper: str
    run: Algorithm
    uniform_templates_only: bool = False
    long_windows_only: bool = False


INTERVAL = "interval timing correlation"
PTJOIN = "PTJoin"

ALGORITHMS = (
    PaperAlgorithm("simple", f"{INTERVAL}, Algorithm 1", simple),
    PaperAlgorithm("simple-sort", f"{INTERVAL}, section 4.2", simple_sort),
    PaperAlgorithm("eager", f"{INTERVAL}, Algorithms 2 and 3", eager, uniform_templates_only=True),
    PaperAlgorithm("lazy", f"{INTERVAL}, Algorithms 4 and 5", lazy, uniform_templates_only=True),
    PaperAlgorithm(
        "lazy-lookup",
        f"{INTERVAL}, Algorithms 6 and 7",
        lazy_lookup,
        uniform_templates_only=True,
        long_windows_only=True,
    ),
    PaperAlgorithm("histogram-simple", f"{PTJOIN}, section 3", histogram_joins.simple),
    PaperAlgorithm("histogram-eager", f"{PTJOIN}, Equations 4 to 6", histogram_joins.eager, long_windows_only=True),
    PaperAlgorithm("ptjoin", f"{PTJOIN}, Theorems 2 to 4", histogram_joins.ptjoin, long_windows_only=True),
)
