"""Histogram: the distribution of an occurrence time around the time its sensor reports; the forms to write it in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from coincide.arrays.kinds import FloatArray, read_only
from coincide.arrays.numbers import is_number
from coincide.errors import HistogramError
from coincide.templates.buckets import checked_edges, checked_mass, latency_buckets, normal_buckets, normalised, trimmed
from coincide.templates.distribution import BucketDistribution, figures_of, histogram_html
from coincide.templates.learning import bayesian_blocks

MOST_SHOWN_BUCKETS = 12


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Histogram(BucketDistribution):
    """A template: the distribution of (occurrence - reported time), uniform inside each bucket.

    A bucket of zero length (two equal edges) is an atom: an exact time that carries mass. Inner buckets of
    zero mass are gaps; those at the ends are trimmed. This is Definition 1 of Mok, Woo, Lee: Probabilistic Timing Join
    over Uncertain Event Streams (2006).

    Parameters
    ----------
    edges_s : sequence of float, shape (k + 1,)
        Bucket bounds in seconds, not decreasing. Consecutive edges are equal (an atom) or at least 1 us apart.
    mass : sequence of float, shape (k,)
        Probability of each bucket, at least 0. The sum may be off 1 by up to 1e-6 (decimals rounded by whoever
        wrote them) and is then normalised; a sum that is further off is refused as a mistake.

    Raises
    ------
    HistogramError
        Names the field, the value and what is allowed.

    Examples
    --------
    >>> u = Histogram(edges_s=[-40, -20, -10, 0], mass=[0.1, 0.3, 0.6])
    >>> u.earliest_s, u.latest_s
    (-40.0, 0.0)
    """

    def __init__(self, edges_s: Sequence[float] | FloatArray, mass: Sequence[float] | FloatArray) -> None:
        edges, masses = trimmed(checked_edges(edges_s), checked_mass(mass, len(edges_s) - 1))
        # + 0.0 turns -0.0 into 0.0: equal content, equal bytes
        object.__setattr__(self, "edges_s", read_only(edges + 0.0))
        object.__setattr__(self, "mass", read_only(normalised(masses + 0.0)))

    @classmethod
    def uniform(cls, earliest_s: float, latest_s: float) -> Histogram:
        """Return a template that makes every time from `earliest_s` to `latest_s` equally likely."""
        return cls([earliest_s, latest_s], [1.0])

    @classmethod
    def point(cls) -> Histogram:
        """Return an exact time: the sensor reports when it happened."""
        return cls([0.0, 0.0], [1.0])

    @classmethod
    def normal(cls, sigma_s: float, buckets: int = 8) -> Histogram:
        """Gaussian error of standard deviation `sigma_s`, as `buckets` equally long buckets over +-4 sigma.

        Each has the Gaussian's mass, evenly spread: the standard deviation of 8 is 1.080 sigma, of 16 1.020, of 64
        1.001; a match probability with an exact partner is off by up to 0.048, 0.014, 0.0009.
        """
        return cls(*normal_buckets(sigma_s, buckets))

    @classmethod
    def from_latency(cls, buckets: Iterable[tuple[float, float, float]]) -> Histogram:
        """Template of a sensor that reports late, from adjacent buckets (shortest_s, longest_s, mass) of its latency.

        Examples
        --------
        >>> Histogram.from_latency([(0, 10, 0.6), (10, 20, 0.3), (20, 40, 0.1)])
        Histogram(edges_s=[-40.0, -20.0, -10.0, 0.0], mass=[0.1, 0.3, 0.6])
        """
        return cls(*latency_buckets(buckets))

    @classmethod
    def from_samples(cls, samples_s: Sequence[float] | FloatArray, buckets: int = 8) -> Histogram:
        """Template learnt from observed errors, with edges at the best places (Bayesian blocks).

        Of all histograms with at most `buckets` buckets, 1 to 1000, it is the most likely one, less a cost for each
        bucket, so few samples give few buckets. An outlier gets a long, thin bucket of its own and stretches no other;
        so does a gap between clusters, with the samples beside it: 2 of n, or 1 in 256.

        A value that many samples have becomes an atom if it stands out or the values are few (see `SampleCells`).

        The support is the samples' range: of n the next one falls outside with probability 2 / (n + 1).
        `goodness_of_fit` says how well other samples agree.

        Parameters
        ----------
        samples_s : sequence of float, shape (n,)
            Occurrence minus reported time in seconds, in any order; at least 30, at most 1e9 either way. Samples within
            2 us of an atom count as the atom.

        Raises
        ------
        HistogramError

        References
        ----------
        Scargle, Norris, Jackson, Chiang: Studies in Astronomical Time Series Analysis VI (2013).

        Examples
        --------
        >>> learnt = Histogram.from_samples([-8.0, *(n / 50 for n in range(-100, 101)), 30.0])
        >>> learnt.earliest_s, learnt.latest_s, learnt.cdf([-2.1, 2.1]).round(2).tolist()
        (-8.0, 30.0, [0.01, 0.99])
        """
        return cls(*bayesian_blocks(samples_s, buckets))

    @classmethod
    def from_json(cls, obj: Mapping[str, Any]) -> Histogram:
        """Read what `to_json` wrote, also that of a template on a clock."""
        if isinstance(obj, Mapping) and "clock" in obj:
            from coincide.templates.clocked import ClockedHistogram  # noqa: PLC0415 - which is one of these

            return ClockedHistogram.from_json(obj)
        if not isinstance(obj, Mapping) or set(obj) != {"edges_s", "mass"}:
            raise HistogramError("template", obj, "an object with exactly edges_s and mass")
        return cls(obj["edges_s"], obj["mass"])

    def to_json(self) -> dict[str, Any]:
        """Return edges and masses as plain lists; `from_json` gives back an equal histogram with the same id."""
        return {"edges_s": self.edges_s.tolist(), "mass": self.mass.tolist()}

    @cached_property
    def id(self) -> str:
        """Return "t-" and 16 hex digits: the start of SHA-256 over the little-endian float64 edges, then the masses."""
        content = self.edges_s.astype("<f8").tobytes() + self.mass.astype("<f8").tobytes()
        return "t-" + hashlib.sha256(content).hexdigest()[:16]

    def shift(self, by_s: float) -> Histogram:
        """Return the same distribution, `by_s` seconds later."""
        if not is_number(by_s):
            raise HistogramError("by_s", by_s, "a finite number of seconds")
        return Histogram(self.edges_s + by_s, self.mass)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return np.array_equal(self.edges_s, other.edges_s) and np.array_equal(self.mass, other.mass)

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        if len(self.mass) <= MOST_SHOWN_BUCKETS:
            return f"Histogram(edges_s={self.edges_s.tolist()}, mass={self.mass.tolist()})"
        return f"<Histogram {self.id}: {figures_of(self)}>"

    def _repr_html_(self) -> str:
        """Return a picture for notebooks."""
        return histogram_html(self, self.id)


def histogram_of_form(form: object) -> Histogram:
    """Return the template that `form`, read from JSON or YAML, describes; raise HistogramError if it describes none.

    It has `edges_s` and `mass`, or one of `uniform`, `normal`, `latency` and `point` with its parameters.
    """
    if isinstance(form, dict) and form.keys() == {"edges_s", "mass"}:
        return Histogram(form["edges_s"], form["mass"])
    if not isinstance(form, dict) or len(form) != 1 or not form.keys() <= _FORMS.keys():
        raise HistogramError("form", form, f"one of {', '.join(_FORMS)}, or edges_s with mass")
    [(kind, parameters)] = form.items()
    make, takes = _FORMS[kind]
    try:
        return make(parameters)
    except HistogramError:
        raise
    except (TypeError, ValueError):  # of another shape: too few bounds, an unknown parameter
        raise HistogramError(kind, parameters, f"{kind} takes {takes}") from None


def _point(parameter: object) -> Histogram:
    if parameter is not True:
        raise TypeError
    return Histogram.point()


_FORMS: dict[str, tuple[Callable[[Any], Histogram], str]] = {
    "uniform": (lambda bounds: Histogram.uniform(*bounds), "[earliest, latest] in seconds"),
    "normal": (
        lambda parameters: Histogram.normal(**parameters),
        '{"sigma_s": seconds}, and "buckets" if there are to be more than 8',
    ),
    "latency": (Histogram.from_latency, "[[shortest, longest, probability], ...] in seconds"),
    "point": (_point, "true"),
}
