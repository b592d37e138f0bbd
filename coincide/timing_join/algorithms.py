"""All algorithms of the papers, by name; every one gives the pairs of `timing_join`."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.timing_join.answer import Algorithm
from coincide.timing_join.interval.simple import simple


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

ALGORITHMS = (PaperAlgorithm("simple", f"{INTERVAL}, Algorithm 1", simple),)
