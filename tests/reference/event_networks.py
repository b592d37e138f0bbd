"""Simulated networks: events that some sensors hear, what else they report, and which reports are of one event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide import ConstraintGraph, Detections, Histogram, Network, Window, window_join
from coincide.clocks import Clock
from coincide.evidence import Hearings, Learnt, SetPosteriors, evidence_of_sets, fixed_point
from coincide.templates.clocked import whole_of

Ints = npt.NDArray[np.int64]
STRETCH_S = 1_000  # nothing hangs together beyond it
CLOCK = Histogram.uniform(-1, 1)
OFFSET = Histogram.uniform(-2, 2)


@dataclass(frozen=True)
class Log:
    """Detections in the order of time: when, by whom, in which stretch, and of which event (-1: they are false)."""

    at_us: Ints
    sensor: Ints
    stretch: Ints
    event: Ints

    def is_event(self, members: Ints) -> npt.NDArray[np.bool_]:
        """Whether each set, given by rows of positions, is all that sensors heard of one event, shape (n,)."""
        there = members >= 0
        of = np.where(there, self.event[members], -2)
        first = of.max(axis=0)
        reports = np.bincount(self.event[self.event >= 0], minlength=int(self.event.max(initial=0)) + 1)
        one = (of.min(axis=0, where=there, initial=2**62) == first) & (first >= 0)
        all_of_it: npt.NDArray[np.bool_] = one & (reports[np.maximum(first, 0)] == there.sum(axis=0))
        return all_of_it


@dataclass(frozen=True)
class Simulation:
    """A network whose rates are declared, and how it is simulated.

    `travel_s`: the event comes to the sensors at different times, at most so far apart; all such times are as likely.
    `gateways`: the sensors are on so many, in their order; each has a clock that is wrong by `offset`, anew in each
    stretch, and `clock` is what is a sensor's own.
    """

    name: str
    sensors: int
    events_hz: float
    heard_by: float
    noise_hz: float
    lasts_s: float
    clock: Histogram = CLOCK
    travel_s: float = 0.0
    gateways: int = 0
    offset: Histogram = OFFSET

    @property
    def templates(self) -> list[Histogram]:
        """Of each sensor."""
        if not self.gateways:
            return [self.clock] * self.sensors
        return [Clock(f"gw-{each}", self.offset).template(self.clock) for each in self._gateway]

    @property
    def _gateway(self) -> Ints:
        return np.arange(self.sensors) * max(self.gateways, 1) // self.sensors

    @property
    def names(self) -> list[str]:
        return list("abcdefgh"[: self.sensors])

    @property
    def network(self) -> Network:
        return Network.of_noise(self.names, self.events_hz, self.heard_by, self.noise_hz)

    def log(self, rng: np.random.Generator) -> Log:
        count = rng.poisson(self.events_hz * self.lasts_s)
        happened_s = rng.uniform(0, self.lasts_s, count)
        comes_s = happened_s[:, None] + self._travel(rng, count)
        event, hears = np.nonzero(rng.random((count, self.sensors)) < self.heard_by)
        false = rng.poisson(self.noise_hz * self.lasts_s, self.sensors)
        moment_s = np.concatenate((comes_s[event, hears], rng.uniform(0, self.lasts_s, false.sum())))
        error_s = np.asarray(self.clock.quantile(rng.random(len(moment_s))))
        sensor = np.concatenate((hears, np.repeat(np.arange(self.sensors), false)))
        of_event = np.concatenate((event, np.full(false.sum(), -1)))
        stretch = np.floor(np.concatenate((happened_s[event], moment_s[len(event) :])) / STRETCH_S).astype(np.int64)
        if self.gateways:
            shares = rng.random((int(stretch.max(initial=0)) + 1, self.gateways))
            error_s = error_s + np.asarray(self.offset.quantile(shares))[stretch, self._gateway[sensor]]
        at_us = np.round((moment_s - error_s) * 1e6).astype(np.int64)
        order = np.lexsort((at_us, stretch))
        return Log(at_us[order], sensor[order], stretch[order], of_event[order])

    def _travel(self, rng: np.random.Generator, count: int) -> npt.NDArray[np.float64]:
        """Times at which events come to the sensors, no two further apart than `travel_s`."""
        if not self.travel_s:
            return np.zeros((count, self.sensors))
        first = rng.integers(0, self.sensors, count)
        later_s = rng.uniform(0, self.travel_s, (count, self.sensors))
        later_s[np.arange(count), first] = 0.0
        return later_s

    def sets(self, log: Log, threshold: float = 0.01) -> Ints:
        """Return the sets that the library's join finds, as rows of positions in the log."""
        rows = {name: np.flatnonzero(log.sensor == nth) for nth, name in enumerate(self.names)}
        batches = {
            name: Detections(log.at_us[own], [template], area=log.stretch[own], sensor=log.sensor[own])
            for (name, own), template in zip(rows.items(), self.templates, strict=True)
        }
        graph = ConstraintGraph.clique(self.names, Window(0.8), threshold)
        found = window_join(batches, graph, at_least=2 if self.sensors > 2 else None, max_candidates=10**7)
        columns = []
        for name, own in zip(self.names, found.members.T, strict=True):
            columns.append(np.where(own >= 0, rows[name][np.maximum(own, 0)], -1))
        return np.array(columns)

    def judged(
        self,
        log: Log,
        network: Network | None = None,
        travel: Window | None = None,
        sets: Ints | None = None,
        *,
        shares_clocks: bool = True,
    ) -> SetPosteriors:
        """Return what the library says of the sets; if not `shares_clocks`, as if each sensor had its own clock."""
        sets = self.sets(log) if sets is None else sets
        return evidence_of_sets(
            network or self.network,
            self.templates if shares_clocks else [*map(whole_of, self.templates)],
            log.sensor,
            log.at_us,
            log.sensor,
            sets,
            travel=travel,
            most_work=10**8,
        )

    def learnt(self, log: Log, word: Network) -> Learnt:
        """Return the rates that the library learns from the log, from a word."""
        sets, reported = self.sets(log), np.bincount(log.sensor, minlength=self.sensors)

        def heard(network: Network) -> Hearings:
            found = self.judged(log, network, sets=sets)
            members = found.parts.members
            sensor = np.where(members >= 0, log.sensor[members], -1)
            return Hearings.of(sensor, found.shared.value, reported, self.lasts_s)

        return fixed_point(word, heard, reported, self.lasts_s)


@dataclass(frozen=True)
class Bin:
    """A tenth of the posterior: how many cases, what is said on average, and the share of true ones."""

    cases: int
    said: float
    true: float

    @property
    def gap(self) -> float:
        return abs(self.said - self.true)


def tenths(
    said: npt.NDArray[Any], true: npt.NDArray[np.bool_], least: int = 300, of: npt.NDArray[Any] | None = None
) -> list[Bin]:
    """Return the tenths that have cases enough; where `of` says to what each belongs, cases of so many of them."""
    tenth = np.minimum((said * 10).astype(int), 9)
    found = [tenth == each for each in range(10)]
    enough = [own for own in found if (own.sum() if of is None else len(np.unique(of[own]))) >= least]
    return [Bin(int(own.sum()), float(said[own].mean()), float(true[own].mean())) for own in enough]
