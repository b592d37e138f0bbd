"""Guesses of quantiles: close where they can be, harmless where not."""

from __future__ import annotations

import numpy as np
import pytest

from coincide import Histogram, Window, match_probability
from coincide.offsets.long_windows import closer_quantiles
from coincide.templates.template_columns import TemplateColumns


@pytest.mark.parametrize("probability", [0.01, 0.5, 0.97])
def test_guesses_settle_on_the_quantile(probability: float) -> None:
    rng = np.random.default_rng(5)
    us, vs = ([Histogram(np.sort(rng.uniform(-9, 9, 7)), rng.dirichlet(np.ones(6))) for _ in range(40)] for _ in "uv")

    wanted = np.full(40, probability)
    guess_s = closer_quantiles(TemplateColumns.of(us, 6), TemplateColumns.of(vs, 6), wanted, np.zeros(40))

    below = [
        match_probability(u, v, 0.0, Window(lo_s=-99.0, hi_s=guess))
        for u, v, guess in zip(us, vs, guess_s.tolist(), strict=True)
    ]
    assert np.allclose(below, probability, rtol=0, atol=1e-4)


def test_templates_with_atoms_keep_their_guess() -> None:
    point, spread = Histogram.point(), Histogram.uniform(0, 4)

    guess_s = closer_quantiles(
        TemplateColumns.of([point, spread], 1),
        TemplateColumns.of([spread, spread], 1),
        np.full(2, 0.5),
        np.array([7.0, 7.0]),
    )

    assert guess_s[0] == 7.0
    assert guess_s[1] == pytest.approx(0.0, abs=1e-6)
