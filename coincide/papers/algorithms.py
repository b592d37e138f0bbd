"""The list of all join algorithms of the papers: what each is called, and what it assumes.

A timing join runs as ``run(recording, window, threshold)`` and gives the pairs of `timing_join` with sensors "any". A
window join runs as ``run(recording, graph, predicate)`` and gives the results of `window_join` at exact times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from coincide.papers.counted_answer import PaperResult
from coincide.papers.interval_timing.correlation import eager, simple, simple_sort
from coincide.papers.interval_timing.lazy_correlation import lazy, lazy_lookup
from coincide.papers.ptjoin import histogram_joins
from coincide.papers.window_join import variants


@dataclass(frozen=True)
class PaperAlgorithm:
    """An algorithm of a paper: its name, the paper's title and the number there, and what it assumes."""

    name: str
    paper: str
    run: Callable[..., PaperResult]
    uniform_templates_only: bool = False  # refuses templates of more than one bucket
    long_windows_only: bool = False  # refuses hi - lo shorter than the longest templates of both streams together
    uniform_cliques_only: bool = False  # refuses every graph but a clique of one symmetric window


INTERVAL = "interval timing correlation"
PTJOIN = "PTJoin"
WINDOW_JOIN = "window join"

TIMING_JOINS = (
    PaperAlgorithm("simple", f"{INTERVAL}, Algorithm 1", simple),
    PaperAlgorithm("simple-sort", f"{INTERVAL}, section 4.2", simple_sort),
    PaperAlgorithm("eager", f"{INTERVAL}, Algorithms 2 and 3", eager, uniform_templates_only=True),
    PaperAlgorithm("lazy", f"{INTERVAL}, Algorithms 4 and 5", lazy, uniform_templates_only=True),
    PaperAlgorithm("lazy-lookup", f"{INTERVAL}, Algorithms 6 and 7", lazy_lookup, True, True),
    PaperAlgorithm("histogram-simple", f"{PTJOIN}, section 3", histogram_joins.simple),
    PaperAlgorithm("histogram-eager", f"{PTJOIN}, Equations 4 to 6", histogram_joins.eager, long_windows_only=True),
    PaperAlgorithm("ptjoin", f"{PTJOIN}, Theorems 2 to 4", histogram_joins.ptjoin, long_windows_only=True),
)

WINDOW_JOINS = (
    PaperAlgorithm("bew-nested-loop", f"{WINDOW_JOIN}, BEW", variants.bew_nested_loop, uniform_cliques_only=True),
    PaperAlgorithm("bew-hash", f"{WINDOW_JOIN}, BEW", variants.bew_hash, uniform_cliques_only=True),
    PaperAlgorithm("few-nested-loop", f"{WINDOW_JOIN}, FEW", variants.few_nested_loop, uniform_cliques_only=True),
    PaperAlgorithm("few-hash", f"{WINDOW_JOIN}, FEW", variants.few_hash, uniform_cliques_only=True),
    PaperAlgorithm("bew-direct", f"{WINDOW_JOIN}, paths and graphs", variants.bew_direct),
    PaperAlgorithm("gca-bew", f"{WINDOW_JOIN}, GCA over BEW", variants.gca_bew),
    PaperAlgorithm("gca-few", f"{WINDOW_JOIN}, GCA over FEW", variants.gca_few),
    PaperAlgorithm("lca-bew", f"{WINDOW_JOIN}, LCA over BEW", variants.lca_bew),
    PaperAlgorithm("lca-few", f"{WINDOW_JOIN}, LCA over FEW", variants.lca_few),
)

ALGORITHMS = TIMING_JOINS + WINDOW_JOINS
