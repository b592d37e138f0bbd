"""The posterior with other sensors: by sums over a fine grid, written anew, and by the evidence of two alone."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from coincide import CoincideError, Histogram, Network, evidence_of
from coincide.evidence import posterior_with_others

TEMPLATES = [Histogram.uniform(-1, 1), Histogram([-2, -1, 0.5], [0.75, 0.25])]
STEP_S = 1 / 8  # edges and times below are whole multiples of it


def density(template: Histogram, at_s: float) -> float:
    for (lo, hi), mass in zip(pairwise(template.edges_s), template.mass, strict=True):
        if lo <= at_s < hi:
            return float(mass / (hi - lo))
    return 0.0


def on_grid(
    network: Network, index: list[int], times_s: list[float], sensor: list[int], hz: list[float], pair: list[int]
) -> float:
    """Sum over moments: what an event then makes of each sensor, with and without both of the pair."""
    ours = every = 0.0
    for moment in np.arange(-8, 14, STEP_S) + STEP_S / 2:
        of = [density(TEMPLATES[i], moment - at) / rate for i, at, rate in zip(index, times_s, hz, strict=True)]
        silent = (1 - network.heard_by).tolist()
        heard = [
            float(network.heard_by[k]) * sum(each for each, own in zip(of, sensor, strict=True) if own == k)
            for k in range(len(silent))
        ]
        nobody = float(np.prod(silent))
        alone = sum(heard[k] * nobody / silent[k] for k in range(len(silent)))
        both = np.prod([float(network.heard_by[sensor[i]]) * of[i] for i in pair])
        others = [k for k in range(len(silent)) if k not in {sensor[i] for i in pair}]
        ours += float(both * np.prod([silent[k] + heard[k] for k in others])) * network.events_hz * STEP_S
        if any(of[i] > 0 for i in pair):
            all_of_it = float(np.prod([s + h for s, h in zip(silent, heard, strict=True)]))
            every += (all_of_it - nobody - alone) * network.events_hz * STEP_S
    return ours / (1 + every)


def test_it_is_the_sum_over_a_grid() -> None:
    network = Network(["a", "b", "c", "d"], 0.02, [0.5, 0.8, 0.6, 0.3], 0.1)
    index, sensor = [0, 1, 0, 1, 0, 1], [0, 1, 2, 0, 1, 2]
    times_s, hz = [0.0, 0.25, 0.5, 1.25, 6.0, 1.5], [0.1, 0.2, 0.05, 0.3, 0.1, 0.4]
    pairs = [[0, 1], [0, 2], [3, 1], [5, 3], [4, 0]]
    times_us = [1_700_000_000_000_000 + round(each * 1e6) for each in times_s]
    found = posterior_with_others(
        network, TEMPLATES, index, times_us, sensor, np.transpose(pairs), unpaired_hz=hz
    ).tolist()
    expected = [on_grid(network, index, times_s, sensor, hz, pair) for pair in pairs]
    assert found == pytest.approx(expected, rel=1e-9)
    assert found[-1] == 0  # no moment made both
    assert min(found[:-1]) > 0


@pytest.mark.parametrize("apart_us", [0, 300_000, 1_900_000])
@pytest.mark.parametrize(
    "templates",
    [TEMPLATES, [Histogram.point(), Histogram.uniform(-2, 2)], [Histogram.normal(0.3), Histogram.uniform(-4, 1)]],
)
def test_of_two_alone_it_is_the_evidence(templates: list[Histogram], apart_us: int) -> None:
    network = Network(["a", "b"], 0.01, [0.9, 0.7], [0.1, 0.3])
    since_us = 1_700_000_000_000_000
    found = posterior_with_others(network, templates, [0, 1], [since_us, since_us + apart_us], [0, 1], [[0], [1]])
    assert found[0] == pytest.approx(evidence_of(network, templates, [0, apart_us]).posterior, rel=1e-6)


def test_another_sensor_speaks_for_it_or_against_it() -> None:
    network = Network(["a", "b", "c"], 0.001, 0.8, 0.05)
    arguments = [TEMPLATES[0]], [0, 0, 0], [0, 100_000, 200_000], [0, 1, 2], [[0], [1]]
    with_third = posterior_with_others(network, *arguments)
    silent = posterior_with_others(network, [TEMPLATES[0]], [0, 0], [0, 100_000], [0, 1], [[0], [1]])
    two = evidence_of(network, [TEMPLATES[0]] * 2, [0, 100_000], ["a", "b"]).posterior
    assert two is not None
    assert with_third[0] > two
    assert silent[0] == pytest.approx(two)  # the silence of c is a term of both


def test_many_sensors_that_agree_leave_numbers_that_can_be_told() -> None:
    names = [f"s{each}" for each in range(200)]
    network = Network(names, 1e-6, 0.999, 1e-6)
    times_us = np.arange(200)
    found = posterior_with_others(network, [Histogram.uniform(-0.01, 0.01)], [0] * 200, times_us, times_us, [[0], [1]])
    assert found[0] == pytest.approx(1.0)


def test_nothing_gives_nothing() -> None:
    network = Network(["a", "b"], 0.01, 0.5, 0.1)
    assert posterior_with_others(network, TEMPLATES, [], [], [], np.empty((2, 0), np.int64)).tolist() == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sensor": [0, 2]}, "sensor"),
        ({"members": [[0], [2]]}, "members"),
        ({"members": [[0], [0]]}, "members"),
        ({"members": [[0, 1]]}, "members"),
        ({"template_index": [0, 2]}, "template_index"),
        ({"detected_at_us": [0, 31 * 86_400_000_000]}, "detected_at_us"),
        ({"unpaired_hz": [0.1, None]}, "network"),
        ({"network": Network(["a", "b"], None, 0.5, 0.1)}, "network"),
    ],
)
def test_it_says_what_it_cannot_take(changed: dict[str, Any], said: str) -> None:
    network = Network(["a", "b"], 0.01, 0.5, 0.1)
    usual = {"template_index": [0, 1], "detected_at_us": [0, 0], "sensor": [0, 1], "members": [[0], [1]]}
    arguments: dict[str, Any] = {"network": network, "templates": TEMPLATES, **usual, **changed}
    with pytest.raises(CoincideError, match=said):
        posterior_with_others(**arguments)
