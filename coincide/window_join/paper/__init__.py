"""The window join paper's algorithms, one per file, for exact times; what they rest on, one per file too.

Hammad, Aref, Elmagarmid: *Stream window join: tracking moving objects in sensor-network databases* (SSDBM 2003). BEW is
its backward, FEW its forward evaluation; GCA and LCA are its global and local conservative approaches.
"""

from __future__ import annotations

from coincide.window_join.paper.bew_direct import bew_direct
from coincide.window_join.paper.bew_hash import bew_hash
from coincide.window_join.paper.bew_nested_loop import bew_nested_loop
from coincide.window_join.paper.few_hash import few_hash
from coincide.window_join.paper.few_nested_loop import few_nested_loop
from coincide.window_join.paper.gca_bew import gca_bew
from coincide.window_join.paper.gca_few import gca_few
from coincide.window_join.paper.lca_bew import lca_bew
from coincide.window_join.paper.lca_few import lca_few

__all__ = [
    "bew_direct",
    "bew_hash",
    "bew_nested_loop",
    "few_hash",
    "few_nested_loop",
    "gca_bew",
    "gca_few",
    "lca_bew",
    "lca_few",
]
