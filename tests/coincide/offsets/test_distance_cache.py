"""Verdicts in windows by distance, and how far sensors reach: as for few codes, so for many."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram, Window, match_probability
from coincide.offsets import distance_cache
from coincide.offsets.distance_cache import DistanceCache
from coincide.places import DistanceWindow, EarthPlace, FramePlace
from coincide.places.place import Place
from coincide.places.templates_at_places import TemplatesAtPlaces
from tests.examples import examples

SOUND = DistanceWindow(343, 0.1, up_to_m=2000)
TEMPLATES = [Histogram.point(), Histogram.uniform(-1, 0.5), Histogram([-2, -1.5, 0.5, 1], [0.4, 0.2, 0.4])]
HALL: list[Place] = [FramePlace(0, 0), FramePlace(343, 0), FramePlace(0, 1029), FramePlace(9000, 0)]
TOWN: list[Place] = [EarthPlace(54, 8), EarthPlace(54.003, 8, 20), EarthPlace(54, 8.015), EarthPlace(55, 9)]


def known_at(named: list[tuple[int, int]], places: list[Place]) -> TemplatesAtPlaces:
    known = TemplatesAtPlaces()
    known.codes([TEMPLATES[template] for template, _ in named], [places[place] for _, place in named])
    return known


sides = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=8, unique=True)


@settings(max_examples=examples(20), deadline=None)
@given(sides, sides, st.sampled_from([HALL, TOWN]), st.sampled_from([0.2, 0.7, 1.0]), st.integers(0, 99))
def test_many_codes_are_judged_as_few(
    one: list[tuple[int, int]], other: list[tuple[int, int]], places: list[Place], threshold: float, seed: int
) -> None:
    us, vs = known_at(one, places), known_at(other, places)
    few, many = (DistanceCache(SOUND, threshold, us, vs) for _ in range(2))
    rng = np.random.default_rng(seed)
    u, v = (rng.integers(len(side), size=40, dtype=np.int32) for side in (us, vs))
    offset_us = rng.integers(-8_000_000, 8_000_000, 40)
    verdicts = few.contain(u, v, offset_us).tolist()
    with patch.object(distance_cache, "DENSE_CODES", 0):
        assert many.contain(u, v, offset_us).tolist() == verdicts
        bounds = many.reaches_us()
    for reach_us, bound_us in zip(few.reaches_us(), bounds, strict=True):
        assert (reach_us <= bound_us).all()
        assert (bound_us <= SOUND.widest.hi_us).all()
    widths_ms = us.half_width_ms(np.arange(len(us))[:, None], np.arange(len(vs)), vs, SOUND)
    for side, axis in zip(few.reaches_us(), (1, 0), strict=True):
        assert side.tolist() == (np.maximum(widths_ms, 0) * 1000).max(axis=axis).tolist()
    for nth, verdict in enumerate(verdicts):
        ends, width_ms = (us.templates[u[nth]], vs.templates[v[nth]]), int(widths_ms[u[nth], v[nth]])
        held = match_probability(*ends, offset_us[nth] / 1e6, Window(width_ms / 1000)) if width_ms >= 0 else 0.0
        assert verdict == (held >= threshold) or held == pytest.approx(threshold, abs=1e-9)
