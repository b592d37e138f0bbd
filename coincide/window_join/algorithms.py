"""All algorithms of the window join paper, by name; at exact times every one gives the results of `window_join`."""

from __future__ import annotations

from dataclasses import dataclass

from coincide.window_join import paper
from coincide.window_join.paper.answer import Algorithm


@dataclass(frozen=True)
class PaperAlgorithm:
    """An algorithm of the window join paper.

    Attributes
    ----------
    name : str
    run : Algorithm
    uniform_cliques_only : bool
        Refuses every other graph.
    """

    name: str
    run: Algorithm
    uniform_cliques_only: bool = False


ALGORITHMS = (
    PaperAlgorithm("bew-nested-loop", paper.bew_nested_loop, uniform_cliques_only=True),
    PaperAlgorithm("bew-hash", paper.bew_hash, uniform_cliques_only=True),
    PaperAlgorithm("few-nested-loop", paper.few_nested_loop, uniform_cliques_only=True),
    PaperAlgorithm("few-hash", paper.few_hash, uniform_cliques_only=True),
    PaperAlgorithm("bew-direct", paper.bew_direct),
    PaperAlgorithm("gca-bew", paper.gca_bew),
    PaperAlgorithm("gca-few", paper.gca_few),
    PaperAlgorithm("lca-bew", paper.lca_bew),
    PaperAlgorithm("lca-few", paper.lca_few),
)
