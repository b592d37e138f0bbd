"""Is what the evidence says the share that is true? Simulated networks of two to five sensors, in tenths.

Each match, or part of a set, has a posterior. In each tenth with at least 300 of them, the mean posterior stands beside
the share that really is one event. Rates are declared or learnt from a word that is three times too high, with hearing
probabilities of 0.5; a running engine learns them as it goes. The last table is of sensors that share wrong clocks. The
first is for a gentler question: pairs with P between 0.6 and 0.7, by how much else their sensors report. `--picture
FILE.svg` draws what is said against what is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from benchmarks.evidence.as_live import said_live
from benchmarks.harness.declaration import Benchmark, Options, Table
from coincide import Detections, Histogram, Network, Window, timing_join
from coincide.evidence import SetPosteriors, posterior_of
from coincide.queries.joins.event_rule import DAY_S
from docs.pictures import figure, save
from docs.pictures.style import BLUE, RED
from tests.reference.event_networks import Bin, Log, Simulation, tenths

SEED = 35
WORD_FACTOR, WORD_HEARD = 3, 0.5
NETWORKS = [
    Simulation("rare", 2, 0.01, 0.9, 0.002, 200_000),
    Simulation("busy", 2, 0.05, 0.9, 0.1, 200_000),
    Simulation("crowded", 2, 0.2, 0.9, 0.3, 15_000),
    Simulation("rare", 3, 0.01, 0.8, 0.002, 200_000),
    Simulation("busy", 3, 0.02, 0.8, 0.05, 50_000),
    Simulation("crowded", 3, 0.1, 0.8, 0.2, 8_000),
    Simulation("rare", 4, 0.01, 0.8, 0.002, 100_000),
    Simulation("busy", 4, 0.02, 0.8, 0.05, 30_000),
    Simulation("crowded", 4, 0.05, 0.8, 0.1, 10_000),
    Simulation("rare", 5, 0.01, 0.7, 0.002, 50_000),
    Simulation("busy", 5, 0.02, 0.7, 0.03, 25_000),
    Simulation("crowded", 5, 0.04, 0.7, 0.08, 8_000),
]
OWN, OFFSET = Histogram.uniform(-0.2, 0.2), Histogram.uniform(-2, 2)
GATEWAYS = [
    Simulation("rare", 4, 0.01, 0.8, 0.01, 100_000, OWN, gateways=2, offset=OFFSET),
    Simulation("busy", 4, 0.03, 0.7, 0.1, 120_000, OWN, gateways=2, offset=OFFSET),
    Simulation("rare", 6, 0.01, 0.6, 0.01, 40_000, OWN, gateways=2, offset=OFFSET),
]
LEAST_P = 0.002  # of a pair of two gateways, which few windows hold
QUICK = 0.1  # of the time
TRAVEL_S = 0.8


def simulations(options: Options) -> Iterable[Simulation]:
    return lasting(NETWORKS, options)


def lasting(networks: Iterable[Simulation], options: Options) -> Iterable[Simulation]:
    return [replace(each, lasts_s=each.lasts_s * (QUICK if options.quick else 1)) for each in networks]


def one_by_one_and_shared_out(simulation: Simulation) -> tuple[list[Bin], list[Bin], list[Bin], int]:
    """Return what is said and true of matches that are judged alone, and shared out, and of their members."""
    log = simulation.log(np.random.default_rng(SEED))
    found = simulation.judged(log)
    true = log.is_event(found.parts.members)
    alone, shared = tenths(found.evidence.posterior, true), tenths(found.shared.value, true)
    return alone, shared, of_members(found, log), len(true)


def of_members(found: SetPosteriors, log: Log) -> list[Bin]:
    """Return tenths of the posterior that a member is of one event with another.

    Members of one group are right or wrong together, so that groups are counted, not members.
    """
    said, sets, there = found.belongs().mean(axis=0), found.parts.sets, found.parts.sets >= 0
    event = np.where(there, log.event[sets], -1)
    belongs = ((event[:, None] == event[None]) & (event >= 0)).sum(axis=0) > 1
    group = np.broadcast_to(found.shared.group[found.parts.whole], sets.shape)
    return tenths(said[there], belongs[there], of=group[there])


def of_learnt_rates(simulation: Simulation) -> list[Bin]:
    log = simulation.log(np.random.default_rng(SEED))
    word = Network(simulation.names, WORD_FACTOR * simulation.events_hz, WORD_HEARD, None)
    found = simulation.judged(log, simulation.learnt(log, word).network)
    return tenths(found.shared.value, log.is_event(found.parts.members))


def in_words(bins: Iterable[Bin]) -> str:
    return ", ".join(f"{each.said:.2f}/{each.true:.2f}" for each in bins)


def worst(bins: Iterable[Bin]) -> str:
    return f"{max((each.gap for each in bins), default=0.0):.3f}"


def declared(options: Options) -> Iterator[Table]:
    headings = (
        "network",
        "sensors",
        "matches",
        "one by one: worst gap",
        "shared out: worst gap",
        "worst gap, members",
        "said/true, shared out",
    )
    seen: dict[str, list[Bin]] = {"one by one": [], "shared out": []}

    def rows() -> Iterator[tuple[object, ...]]:
        for each in simulations(options):
            alone, shared, members, matches = one_by_one_and_shared_out(each)
            seen["one by one"] += alone
            seen["shared out"] += shared
            yield each.name, each.sensors, matches, worst(alone), worst(shared), worst(members), in_words(shared)

    yield Table(headings, rows(), "Declared rates")
    if options.picture:
        draw(seen, options)


def draw(seen: dict[str, list[Bin]], options: Options) -> None:
    fig, ax = figure(4.2, 4.2)
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
    for (name, bins), colour in zip(seen.items(), (RED, BLUE), strict=True):
        ax.plot([each.said for each in bins], [each.true for each in bins], "o", color=colour, label=name, markersize=4)
    ax.set(xlabel="posterior that is said, on average", ylabel="share that is one event", xlim=(0, 1), ylim=(0, 1))
    ax.legend(loc="upper left")
    numbers = {name: [x for each in bins for x in (each.said, each.true)] for name, bins in seen.items()}
    if options.picture:
        save(fig, options.picture, numbers)


def learnt(options: Options) -> Iterator[Table]:
    def rows() -> Iterator[tuple[object, ...]]:
        for each in simulations(options):
            bins = of_learnt_rates(each)
            yield each.name, each.sensors, worst(bins), in_words(bins)

    headings = ("network", "sensors", "worst gap", "said/true")
    yield Table(headings, rows(), f"Learnt rates, from a word {WORD_FACTOR} times too high")


def learnt_live(options: Options) -> Iterator[Table]:
    """Yield what a running engine says that learns minute by minute, from the first match on."""

    def rows() -> Iterator[tuple[object, ...]]:
        for each in list(simulations(options))[:: 4 if options.quick else 1]:
            log = each.log(np.random.default_rng(SEED))
            per_day = WORD_FACTOR * each.events_hz * DAY_S
            said = said_live(each, log, {"per_day": per_day, "heard_by": WORD_HEARD, "rates": "learnt"})
            matches, members = said.of_matches(log), said.of_members(log)
            yield each.name, each.sensors, len(said.posterior), worst(matches), worst(members), in_words(matches)

    headings = ("network", "sensors", "matches", "worst gap", "worst gap, members", "said/true")
    yield Table(headings, rows(), f"Learnt live, from a word {WORD_FACTOR} times too high")


def travel(options: Options) -> Iterator[Table]:
    """Yield both densities for both truths."""
    busy = replace(list(simulations(options))[1], clock=Histogram.uniform(-0.3, 0.3))  # as sharp as travel is long

    def rows() -> Iterator[tuple[object, ...]]:
        for comes_s, truth in ((0.0, "at one moment"), (TRAVEL_S, "travels")):
            simulation = replace(busy, travel_s=comes_s)
            log = simulation.log(np.random.default_rng(SEED))
            sets = simulation.sets(log, 0.002)
            for taken, density in ((None, "one moment"), (Window(TRAVEL_S), "P / volume")):
                found = simulation.judged(log, travel=taken, sets=sets)
                bins = tenths(found.shared.value, log.is_event(found.parts.members))
                yield truth, density, worst(bins), in_words(bins)

    yield Table(("the event", "density", "worst gap", "said/true"), rows(), "An event that travels")


def gateways(options: Options) -> Iterator[Table]:
    """Yield sensors of two gateways whose clocks are wrong, with and without what they share."""

    def rows() -> Iterator[tuple[object, ...]]:
        for each in lasting(GATEWAYS, options):
            log = each.log(np.random.default_rng(SEED))
            sets = each.sets(log, LEAST_P)
            for shares_clocks, taken in ((False, "independent"), (True, "shared")):
                found = each.judged(log, sets=sets, shares_clocks=shares_clocks)
                bins = tenths(found.shared.value, log.is_event(found.parts.members))
                yield each.name, each.sensors, taken, worst(bins), worst(of_members(found, log)), in_words(bins)

    headings = ("network", "sensors", "errors of clocks", "worst gap", "worst gap, members", "said/true")
    yield Table(headings, rows(), "Two gateways whose clocks are wrong by up to 2 s")


def same_p(options: Options) -> Iterator[Table]:
    """Yield pairs of one P, by how much else the sensors report."""
    lasts_s = 200_000 * (QUICK if options.quick else 1)

    def rows() -> Iterator[tuple[object, ...]]:
        for noise_hz in (0.0, 0.01, 0.1, 0.5):
            simulation = Simulation("pairs", 2, 0.01, 0.999, max(noise_hz, 1e-6), lasts_s)
            log = simulation.log(np.random.default_rng(SEED))
            a, b = (np.flatnonzero(log.sensor == each) for each in (0, 1))
            sides = [Detections(log.at_us[own], [simulation.clock], area=log.stretch[own]) for own in (a, b)]
            pairs = timing_join(sides[0], sides[1], Window(0.8), 0.05)
            sets = np.array([a[pairs.left], b[pairs.right]])
            found = simulation.judged(log, sets=sets)
            true, chosen = log.is_event(sets), (pairs.probability >= 0.6) & (pairs.probability < 0.7)
            said = found.shared.value[found.parts.whole][chosen]
            alone = posterior_of(found.bits)[chosen]
            shares = (float(pairs.probability[chosen].mean()), true[chosen].mean(), alone.mean(), said.mean())
            yield f"{noise_hz:g}/s", int(chosen.sum()), *(f"{share:.3f}" for share in shares)

    headings = ("false reports of each sensor", "pairs", "P", "one event", "posterior, alone", "posterior, shared out")
    yield Table(headings, rows(), "Pairs with P from 0.6 to 0.7; an event every 100 s")


BENCHMARKS = [
    Benchmark(
        "said_and_true",
        "whether the evidence says the share that is true",
        [same_p, declared, learnt, learnt_live, travel, gateways],
    )
]
