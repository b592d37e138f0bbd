"""Rival offsets: how many seconds of offsets are at least as probable as a match, remembered for the next like it."""

from __future__ import annotations

import numpy as np

from coincide.arrays import FloatArray
from coincide.chance_rate import offset_lengths_s
from coincide.pair_work import offsets_work
from coincide.template_pairs import TemplatePairs
from coincide.window import Window

LEVELS = 100  # probabilities are rounded down to a whole percent, so that few lengths are ever asked for
AS_PROBABLE = 1e-12  # probabilities closer than this are equal
MOST_KNOWN = 65_536
MOST_WORK = 50_000  # bucket pairs for one length: about 1 ms; beyond it none is given


class RivalOffsets:
    """Lengths of the offset sets of template pairs at whole percents of probability, computed when first asked for.

    A length depends on nothing but the templates, the window and the level: what is remembered changes no answer.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Window, str, str, float], float] = {}

    def lengths_s(self, pairs: TemplatePairs, window: Window, probability: FloatArray, threshold: float) -> FloatArray:
        """Return the length in seconds for each match, shape (n,); NaN where it would take too much work.

        That is judged from the templates and the window alone: two templates with a product of 2,000 buckets in a
        window shorter than both together, of 12,000 in a longer one (ingest lets 64 of each in).

        Parameters
        ----------
        pairs : TemplatePairs of length n
            Templates of the two members.
        window : Window
        probability : ndarray of float64, shape (n,)
            Of each match.
        threshold : float
            The query's: less probable pairs are no matches.
        """
        level = np.maximum(np.floor((probability + AS_PROBABLE) * LEVELS) / LEVELS, threshold)
        distinct, row, nth = np.unique(
            np.stack((pairs.u_index, pairs.v_index, level)), axis=1, return_index=True, return_inverse=True
        )
        keys = [(window, pairs.us[int(u)].id, pairs.vs[int(v)].id, at_least) for u, v, at_least in distinct.T.tolist()]
        self._learn(keys, pairs.take(row), level[row], window)
        return np.array([self._known[key] for key in keys])[nth.ravel()]

    def _learn(
        self, keys: list[tuple[Window, str, str, float]], pairs: TemplatePairs, level: FloatArray, window: Window
    ) -> None:
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        new = np.array([nth for nth, key in enumerate(keys) if key not in self._known], dtype=np.int64)
        if len(new) == 0:
            return
        lengths_s = _lengths_s(pairs.take(new), window, np.maximum(level[new] - AS_PROBABLE, level[new] / 2))
        self._known |= {keys[nth]: length_s for nth, length_s in zip(new.tolist(), lengths_s.tolist(), strict=True)}


def _lengths_s(pairs: TemplatePairs, window: Window, at_least: FloatArray) -> FloatArray:
    lengths_s = np.full(len(pairs), np.nan)
    affordable = np.flatnonzero(offsets_work(pairs, window) <= MOST_WORK)
    lengths_s[affordable] = offset_lengths_s(pairs.take(affordable), window, at_least[affordable])
    return lengths_s
