"""Which pairs of P picks are of one earthquake? The evidence on a real morning, beside P, constants and a plain window.

All pairs of P picks of different stations within 12 s are ranked, best first, by each way. A pair is right if the
catalogue associates both picks with one event. The first half of the morning teaches: templates (how late a station
picks after an earthquake begins), rates, how well stations hear, and over how many minutes rates are measured. The
second half judges. Three picks in four are of no event of the catalogue, but some are of earthquakes too small for it,
so every precision is a lower bound, and the same one for all ways.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

import numpy as np

from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import Detections, Histogram, Network, Window, timing_join
from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray
from coincide.evidence import evidence_columns, posterior_with_others, recent_rates
from coincide.probability.difference import match_probabilities
from docs.studies.picks import HALF_S, Half, delays_of_first_half, learnt, load_picks
from tests.reference.central_italy import MIDNIGHT_US, why_absent
from tests.reference.event_networks import tenths

WITHIN_S, P_WINDOW_S = 12.0, 0.25  # of P the window that `central_italy_precision` likes best
RECALLS = (0.2, 0.5, 0.8)
LASTS_S = ((60.0, 30.0), (120.0, 60.0), (300.0, 120.0))  # minutes before a pick, and as how much the first half counts
QUICK_S = HALF_S + 1_800
LEAST_HEARD = 0.01
FEWEST = 0.5  # picks of a station that made none in the first half

BEST = "evidence with other stations, rates of the last minutes"

Scores = Mapping[str, FloatArray]


@dataclass(frozen=True)
class Morning:
    """P picks up to some time, and pairs of them by position."""

    half: Half
    templates: list[Histogram]
    sensor: IndexArray
    stations: list[str]

    @classmethod
    def until(cls, end_s: float) -> Morning:
        """Read the picks; templates are those of the first half."""
        half = Half.of(pick for pick in load_picks() if pick.source[1] == "P" and pick.second < end_s)
        stations = sorted({pick.source[0] for pick in half.picks})
        by_source = learnt(delays_of_first_half(), [(station, "P") for station in stations])
        sensor = np.array([stations.index(pick.source[0]) for pick in half.picks])
        return cls(half, list(by_source.values()), sensor, stations)

    @cached_property
    def at_us(self) -> IndexArray:
        return np.array([MIDNIGHT_US + round(pick.second * 1e6) for pick in self.half.picks])

    @cached_property
    def pairs(self) -> IndexArray:
        """Positions of the earlier and of the later pick of each pair, shape (2, pairs)."""
        detections = Detections(self.at_us, [Histogram.point()], sensor=[self.stations[each] for each in self.sensor])
        found = timing_join(detections, None, Window(WITHIN_S), 1.0)
        return np.sort([found.left, found.right], axis=0)

    @cached_property
    def is_right(self) -> BoolArray:
        number = self.pairs[0] * len(self.half.picks) + self.pairs[1]
        is_right: BoolArray = np.isin(number, self.half.right_pairs).astype(np.bool_)
        return is_right

    @cached_property
    def is_late(self) -> BoolArray:
        is_late: BoolArray = self.at_us[self.pairs[0]] >= MIDNIGHT_US + round(HALF_S * 1e6)
        return is_late

    @cached_property
    def usual_hz(self) -> FloatArray:
        """Picks of each station in the first half, per second."""
        early = self.sensor[self.at_us < MIDNIGHT_US + HALF_S * 1e6]
        return np.asarray((np.bincount(early, minlength=len(self.stations)) + FEWEST) / HALF_S, np.float64)

    @cached_property
    def network(self) -> Network:
        """What the first half's catalogue says: events that two stations picked, and which of them each picked."""
        stations_of: dict[str, set[str]] = {}
        for pick in self.half.picks:
            for event in pick.events if pick.second < HALF_S else ():
                stations_of.setdefault(event, set()).add(pick.source[0])
        heard = [each for each in stations_of.values() if len(each) >= 2]
        shares = [max(sum(name in each for each in heard) / len(heard), LEAST_HEARD) for name in self.stations]
        return Network(self.stations, len(heard) / HALF_S, shares, self.usual_hz)

    def recent_hz(self, lasts_s: float, usual_lasts_s: float) -> FloatArray:
        return recent_rates(self.at_us, self.sensor, self.usual_hz, lasts_s=lasts_s, usual_lasts_s=usual_lasts_s)

    def bits(self, unpaired_hz: FloatArray | None = None) -> FloatArray:
        """Return the evidence of each pair; whether others are silent does not matter to it."""
        nobody = np.zeros(len(self.stations), np.bool_)
        own_hz = None if unpaired_hz is None else unpaired_hz[self.pairs]
        sensor = self.sensor[self.pairs]
        return evidence_columns(
            self.network, self.templates, sensor, self.at_us[self.pairs], sensor, live=nobody, unpaired_hz=own_hz
        ).bits

    def posterior(self, unpaired_hz: FloatArray | None = None) -> FloatArray:
        """Return the posterior of each pair, with what all other stations picked."""
        arguments = self.templates, self.sensor, self.at_us, self.sensor, self.pairs
        return posterior_with_others(self.network, *arguments, unpaired_hz=unpaired_hz)

    def precisions(self, score: FloatArray, *, late: bool = True) -> Iterator[float]:
        """Yield the precision at each recall, among the pairs of a half; NaN where no ranking of them gets there."""
        own = self.is_late == late
        right = self.is_right[own][np.argsort(-score[own], kind="stable")]
        found = np.cumsum(right)
        for recall in RECALLS:
            at = int(np.searchsorted(found, recall * found[-1]))
            yield float(found[at] / (at + 1))


def by_timing(morning: Morning) -> Iterator[tuple[str, FloatArray]]:
    """Yield what knows no rates."""
    apart_us = np.subtract(*morning.at_us[morning.pairs][::-1])
    mean_us = np.round([each.mean_s * 1e6 for each in morning.templates]).astype(np.int64)
    corrected_us = apart_us + np.subtract(*mean_us[morning.sensor[morning.pairs]][::-1])
    index = morning.sensor[morning.pairs]
    p = match_probabilities(morning.templates, morning.templates, index[0], index[1], apart_us, Window(P_WINDOW_S))
    yield "plain window", -apart_us.astype(np.float64)
    yield "plain window, a constant for each station", -np.abs(corrected_us).astype(np.float64)
    yield f"P (±{P_WINDOW_S:g} s)", p


def best_lasts_s(morning: Morning) -> tuple[float, float]:
    """Return over how many minutes the first half would measure rates, for pairs that know no others."""

    def worth(lasts_s: tuple[float, float]) -> float:
        return fmean(morning.precisions(morning.bits(morning.recent_hz(*lasts_s)), late=False))

    return max(LASTS_S, key=worth)


def ways(morning: Morning) -> tuple[Scores, str]:
    """Return the score of each pair by each way, and what rates of the last minutes are."""
    lasts_s, usual_lasts_s = best_lasts_s(morning)
    recent_hz = morning.recent_hz(lasts_s, usual_lasts_s)
    scores = {
        **dict(by_timing(morning)),
        "evidence, constant rates": morning.bits(),
        "evidence, rates of the last minutes": morning.bits(recent_hz),
        "evidence with other stations, constant rates": morning.posterior(),
        BEST: morning.posterior(recent_hz),
    }
    return scores, f"Rates of the last {lasts_s:g} s; those of the first half count as {usual_lasts_s:g} s more."


def tables(options: Options) -> Iterator[Table]:
    """Yield precision by recall, and what is said beside what is true."""
    morning = Morning.until(QUICK_S if options.quick else 2 * HALF_S)
    scores, rates = ways(morning)
    late, right = morning.is_late, morning.is_right & morning.is_late
    title = f"Second half: {late.sum():,} pairs within {WITHIN_S:g} s, {right.sum():,} of them right. {rates}"
    rows = [(name, *(f"{each:.2f}" for each in morning.precisions(score))) for name, score in scores.items()]
    yield Table(("pairs ranked by", *(f"precision at recall {each:g}" for each in RECALLS)), rows, title)
    said = tenths(scores[BEST][late], morning.is_right[late])
    shown = [(each.cases, f"{each.said:.2f}", f"{each.true:.2f}") for each in said]
    yield Table(("pairs", "posterior that is said", "right"), shown, f"Second half, {BEST}")


BENCHMARKS = [
    Benchmark("central_italy_evidence", "which pairs of P picks are of one earthquake", [tables], why_not=why_absent)
]
