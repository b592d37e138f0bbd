import hashlib
import json
import math
import pickle
import re
import struct
from statistics import NormalDist
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Histogram, Window, match_probability
from coincide.errors import HistogramError
from docs.generate import ROOT
from tests.reference.templates import templates


def test_a_latency_becomes_a_template_that_looks_back() -> None:
    # Example 3 of the paper: reported at 60, occurred 0 to 40 earlier
    u = Histogram.from_latency([(0, 10, 0.6), (10, 20, 0.3), (20, 40, 0.1)])
    assert u == Histogram(edges_s=[-40, -20, -10, 0], mass=[0.1, 0.3, 0.6])


@pytest.mark.parametrize(
    ("buckets", "std_and_errors"),
    [
        (8, ["1.0796", "0.0479", "0.0460"]),
        (16, ["1.0201", "0.0141", "0.0119"]),
        (32, ["1.0047", "0.0037", "0.0025"]),
        (64, ["1.0008", "0.0009", "0.0006"]),
    ],
)
def test_how_far_a_gaussian_in_buckets_is_from_a_gaussian(buckets: int, std_and_errors: list[str]) -> None:
    u = Histogram.normal(1.0, buckets)
    likes = [(Histogram.normal(sigma, buckets), sigma) for sigma in (0.1, 0.25, 0.5, 0.8, 1, 1.25, 2, 4, 10)]
    worst = [_twice_the_distance(u, partners) for partners in ([(Histogram.point(), 0.0)], likes)]
    figures = [f"{each:.4f}" for each in (u.std_s, *worst)]
    assert figures == std_and_errors
    page = (ROOT / "docs/explanation/semantics.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| {buckets}[^|]* \|{'[|]'.join(f' {each} ' for each in figures)}\|$", page, re.MULTILINE)


def _twice_the_distance(u: Histogram, partners: list[tuple[Histogram, float]]) -> float:
    """Greatest error of a match probability: a window has two ends, and the error is odd."""
    worst = 0.0
    for partner, sigma in partners:
        normal = NormalDist(sigma=math.hypot(1.0, sigma))
        apart_s = np.linspace(0, 4 * normal.stdev, 401)
        probability = match_probability(u, partner, -apart_s, Window.deadline(0.0))
        worst = max(worst, float(np.abs(probability - [normal.cdf(each) for each in apart_s.tolist()]).max()))
    return 2 * worst


def test_masses_are_normalised_empty_ends_trimmed_and_inner_gaps_kept() -> None:
    thirds = Histogram([0, 1, 2, 3], [0.3333333, 0.3333333, 0.3333333])
    assert math.fsum(thirds.mass) == pytest.approx(1.0, abs=1e-15)
    u = Histogram([0, 1, 2, 3, 4, 5], [0, 0.5, 0, 0.5, 0])
    assert u.to_json() == {"edges_s": [1.0, 2.0, 3.0, 4.0], "mass": [0.5, 0.0, 0.5]}


def test_an_atom_has_its_mass_at_one_time_and_a_point_is_one() -> None:
    u = Histogram([0, 1, 1, 2], [0.25, 0.5, 0.25])
    assert u.cdf([0.999999999, 1.0, 1.5]).tolist() == pytest.approx([0.25, 0.75, 0.875], abs=1e-9)
    assert u.quantile([0.25, 0.5, 0.75]).tolist() == [1.0, 1.0, 1.0]
    assert u.mean_s == 1.0
    point = Histogram.point()
    assert (point.earliest_s, point.latest_s, point.length_s, point.std_s) == (0.0, 0.0, 0.0, 0.0)
    assert point.cdf([-1e-9, 0.0]).tolist() == [0.0, 1.0]


def test_a_uniform_and_a_normal_have_their_mean_deviation_and_masses() -> None:
    u = Histogram.uniform(-54, 2)
    assert u.mean_s == -26.0
    assert u.std_s == pytest.approx(56 / math.sqrt(12), rel=1e-15)
    u = Histogram.normal(sigma_s=1.5, buckets=8)
    assert np.diff(u.edges_s).tolist() == pytest.approx([1.5] * 8)
    assert u.mass[4] == pytest.approx(0.3413447 / 0.9999367, abs=1e-6)  # from the mean to one sigma
    assert u.mean_s == pytest.approx(0.0, abs=1e-15)


def test_microseconds_are_rounded_outwards() -> None:
    u = Histogram([-1.0000004, 2.0000003], [1])
    assert (u.earliest_us, u.latest_us) == (-1_000_001, 2_000_001)


def test_the_id_is_stable_across_releases() -> None:
    content = struct.pack("<3d", 0.0, 0.0, 1.0)
    assert Histogram.point().id == "t-" + hashlib.sha256(content).hexdigest()[:16] == "t-04ae04134c831857"
    assert Histogram([-0.0, -0.0], [1]).id == Histogram.point().id


@given(templates())
def test_json_keeps_every_bit(u: Histogram) -> None:
    again = Histogram.from_json(json.loads(json.dumps(u.to_json())))
    assert (again, again.id, hash(again)) == (u, u.id, hash(u))


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=30))
def test_normalising_twice_changes_nothing(weights: list[float]) -> None:
    mass = np.array(weights) / sum(weights)
    u = Histogram(range(len(weights) + 1), mass)
    assert Histogram(u.edges_s, u.mass).id == u.id


@given(templates(), st.floats(0.0, 1.0))
def test_quantile_is_the_least_time_with_that_probability(u: Histogram, p: float) -> None:
    x = u.quantile(p)
    assert u.earliest_s <= x <= u.latest_s
    assert u.cdf(x) >= p - 1e-12
    if x > u.earliest_s:
        assert u.cdf(np.nextafter(x, -np.inf)) <= p + 1e-12


@given(templates(), st.integers(-1000, 1000))
def test_shifting_moves_everything_and_changes_nothing_else(u: Histogram, by: int) -> None:
    moved = u.shift(by)
    assert (moved.earliest_s, moved.shift(-by)) == (u.earliest_s + by, u)
    assert (moved.mean_s, moved.std_s) == pytest.approx((u.mean_s + by, u.std_s), abs=1e-9)


def test_it_cannot_be_changed_survives_pickling_and_does_not_follow_its_callers_array() -> None:
    u = Histogram.uniform(0, 1)
    with pytest.raises(ValueError, match="read-only"):
        u.mass[0] = 2.0
    with pytest.raises(AttributeError):
        u.mass = np.ones(1)  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(u)) == u
    edges = np.array([0.0, 1.0])
    follower = Histogram(edges, [1.0])
    edges[1] = 5.0
    assert follower == u


@pytest.mark.parametrize(
    ("field", "edges", "mass"),
    [
        *(("edges_s", [0, last], [1]) for last in (math.nan, math.inf, -1, 1e10, 1e-7)),
        *(("edges_s", edges, []) for edges in ([0], [])),
        *(("edges_s", edges, [1]) for edges in (["0", "1"], [[0, 1]], [[0], [0, 1]], [False, True], 7, None)),
        *(("mass", [0, 1, 2], mass) for mass in ([1.5, -0.5], [1])),
        *(("mass", [0, 1], mass) for mass in ([0.9], [0], [math.nan], None)),
        ("mass", [0, 1, 2], [1e308, 1e308]),  # whose sum no float holds
    ],
)
def test_what_is_no_distribution_is_refused(field: str, edges: Any, mass: Any) -> None:
    with pytest.raises(HistogramError, match=f"^{field} is ") as refusal:
        Histogram(edges, mass)
    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: Histogram.normal(0.0), "sigma_s"),
        (lambda: Histogram.normal(math.nan), "sigma_s"),
        (lambda: Histogram.normal(1.0, buckets=0), "buckets"),
        (lambda: Histogram.normal(1.0, buckets=True), "buckets"),
        (lambda: Histogram.uniform(2, 1), "edges_s"),
        (lambda: Histogram.from_latency([(0, 10, 0.5), (11, 20, 0.5)]), "latency"),
        (lambda: Histogram.from_latency([(0, 10)]), "latency"),  # type: ignore[list-item]
        (lambda: Histogram.from_latency([]), "latency"),
        (lambda: Histogram.from_json({"edges_s": [0, 1]}), "template"),
        (lambda: Histogram.from_json({"edges_s": [0, 1], "mass": [1], "sigma_s": 1}), "template"),
        (lambda: Histogram.point().shift(math.inf), "by_s"),
        (lambda: Histogram.point().quantile(1.1), "p"),
        (lambda: Histogram.point().quantile(math.nan), "p"),
    ],
)
def test_bad_parameters_are_refused_by_name(call: Any, field: str) -> None:
    with pytest.raises(HistogramError) as refusal:
        call()
    assert refusal.value.field == field


@given(templates())
def test_a_notebook_shows_a_picture_with_a_shape_for_each_occupied_bucket(template: Histogram) -> None:
    figure = ElementTree.fromstring(template._repr_html_())
    shapes = [shape for kind in ("rect", "line") for shape in figure.iter(kind)]
    assert len(shapes) == np.count_nonzero(template.mass) + 1  # and the axis
    assert all(0 <= float(shape.get("y", 0)) <= 80 for shape in shapes)
    assert template.id in "".join(figure.itertext())


def test_a_short_template_reads_as_code_and_a_long_one_as_figures() -> None:
    short = Histogram([0, 1, 3], [0.25, 0.75])
    assert eval(repr(short), {"Histogram": Histogram}) == short
    long = Histogram.normal(1.0, 64)
    assert repr(long).startswith(f"<Histogram {long.id}: 64 buckets from -4 to 4 s, mean ")
