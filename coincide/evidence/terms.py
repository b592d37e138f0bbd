"""MatchEvidence: the evidence of one match, each of its terms with a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Literal

import numpy as np

from coincide.arrays.numbers import is_whole
from coincide.arrays.spoken import about_s, spoken
from coincide.errors import HistogramError, OffsetError, RateError
from coincide.evidence.bits import EvidenceColumns, evidence_columns
from coincide.evidence.network import Network
from coincide.evidence.one_source import Travel
from coincide.probability.joint.shifted_tuple import members_by_clock
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import checked_templates

Kind = Literal["events", "member", "times", "clock", "silent"]
UNITS = (
    (1.0, "second"),
    (60.0, "minute"),
    (3_600.0, "hour"),
    (86_400.0, "day"),
    (31_557_600.0, "year"),
    (3_155_760_000.0, "century"),
)
POWERS = {2: "per second", 3: "per second squared"}  # by members


@dataclass(frozen=True)
class EvidenceTerm:
    """A part of the evidence in bits, above 0 if it speaks for one event, and what it says. `sensor`: whose it is."""

    kind: Kind
    bits: float
    sentence: str
    sensor: str | None = None


@dataclass(frozen=True)
class MatchEvidence:
    """How much more one event explains a match than chance does.

    Attributes
    ----------
    bits : float or None
        Log2 of one event against chance. None: a rate is not known.
    posterior : float or None
        The probability of one event if no other match has any of the members.
    terms : tuple of EvidenceTerm
        They add up to `bits`; none if those are not known.
    unknown : str or None
        Which rate is not known.
    """

    bits: float | None
    posterior: float | None
    terms: tuple[EvidenceTerm, ...]
    unknown: str | None = None


def evidence_of(
    network: Network,
    templates: Sequence[Histogram],
    detected_at_us: Sequence[int],
    sensors: Sequence[str] | None = None,
    *,
    travel: Travel | None = None,
    live: Sequence[str] | None = None,
) -> MatchEvidence:
    """Return the evidence that the reports of some sensors are of one event.

    `evidence_columns` has the formula, and the arguments for many matches.

    Parameters
    ----------
    network : Network
    templates : sequence of Histogram
        Of each member.
    detected_at_us : sequence of int
        Reported time of each member, in microseconds from any origin.
    sensors : sequence of str, optional
        The sensor of each member, none twice; by default the network's, in their order.
    travel : Window or ConstraintGraph, optional
        How far apart in time one event may come to two sensors.
    live : sequence of str, optional
        The sensors that are known to live; by default all. The silence of others says nothing.

    Raises
    ------
    RateError, HistogramError, OffsetError, WindowError, GraphError

    Examples
    --------
    >>> clock = Histogram.uniform(-1, 1)
    >>> network = Network.of_noise(["a", "b", "c"], 2 / 86_400, 0.8, 1 / 3_600)
    >>> found = evidence_of(network, [clock, clock], [0, 300_000], ["a", "b"])
    >>> round(found.bits, 2), round(found.posterior, 2)
    (4.02, 0.94)
    >>> for term in found.terms:
    ...     print(f"{term.bits:+.2f} {term.sentence}")
    -15.40 An event comes 2 times a day.
    +11.49 a hears 80 % of the events, and makes 1 other report an hour.
    +11.49 b hears 80 % of the events, and makes 1 other report an hour.
    -1.23 Reports of one event come at these distances with a density of 0.425 per second.
    -2.32 c is alive and silent, and misses 20 % of the events.
    """
    known = checked_templates("templates", templates)
    names = list(network.sensors[: len(known)] if sensors is None else sensors)
    if len(known) < 2 or len(known) != len(names):
        raise HistogramError("templates", len(known), f"one for each of {len(names)} sensors, two or more")
    times = list(detected_at_us)
    if len(times) != len(known) or not all(is_whole(each) and abs(each) < 2**62 for each in times):
        raise OffsetError("detected_at_us", times, f"whole microseconds for each of {len(known)} members")
    place = _positions("sensors", names, network)
    alive = np.isin(np.arange(len(network.sensors)), _positions("live", live or [], network)) | (live is None)
    columns = evidence_columns(
        network,
        known,
        np.arange(len(known))[:, None],
        np.array(times, dtype=np.int64)[:, None],
        np.array(place)[:, None],
        travel=travel,
        live=alive,
    )
    if columns.unknown[0]:
        return MatchEvidence(None, None, (), str(columns.unknown[0]))
    terms = tuple(evidence_terms(columns, network, place, network.unpaired_hz[place].tolist(), known))
    return MatchEvidence(float(columns.bits[0]), float(columns.posterior[0]), terms)


def _positions(field: str, names: Sequence[str], network: Network) -> list[int]:
    if len(set(names)) < len(names) or not set(names) <= set(network.sensors):
        raise RateError(field, list(names), f"some of {list(network.sensors)}, each once")
    return [network.sensors.index(name) for name in names]


def evidence_terms(
    columns: EvidenceColumns,
    network: Network,
    place: Sequence[int],
    unpaired_hz: Sequence[float],
    templates: Sequence[Histogram],
) -> Iterator[EvidenceTerm]:
    """Yield the terms of one match.

    Parameters
    ----------
    columns : EvidenceColumns
        Of this match alone, with a row for each member.
    network : Network
    place : sequence of int
        The position in `network.sensors` of each member's sensor.
    unpaired_hz : sequence of float
        The rate of unpaired detections that each member was judged by.
    templates : sequence of Histogram
        Of each member: they say who shares a clock.
    """
    yield EvidenceTerm("events", float(columns.event_bits[0]), f"An event comes {how_often(network.events_hz)}.")
    for member, at in enumerate(place):
        name, share = network.sensors[at], _percent(network.heard_by[at])
        others = how_often(unpaired_hz[member], "other report")
        sentence = f"{name} hears {share} of the events, and makes {others}."
        yield EvidenceTerm("member", float(columns.member_bits[member, 0]), sentence, name)
    yield EvidenceTerm("times", float(columns.times_bits[0]), _times_sentence(columns, len(place)))
    if columns.clock_bits[0] != 0:
        sentence = _clocks_sentence([network.sensors[at] for at in place], templates)
        yield EvidenceTerm("clock", float(columns.clock_bits[0]), sentence)
    for at in np.flatnonzero(columns.silent_bits[:, 0]).tolist():
        name, bits = network.sensors[at], float(columns.silent_bits[at, 0])
        sentence = f"{name} is alive and silent, and misses {_percent(1 - network.heard_by[at])} of the events."
        yield EvidenceTerm("silent", bits, sentence, name)


def _times_sentence(columns: EvidenceColumns, members: int) -> str:
    density = float(np.exp2(columns.times_bits[0]))
    if density == 0:
        return "No one event makes reports at these distances."
    unit = POWERS.get(members, f"per second to the power of {members - 1}")
    unless = ", were no clock shared" if columns.clock_bits[0] != 0 else ""
    return f"Reports of one event come at these distances with a density of {spoken(density)} {unit}{unless}."


def _clocks_sentence(names: Sequence[str], templates: Sequence[Histogram]) -> str:
    shared = [
        f"{_listed([names[each] for each in group])} share the clock {template.clock}, "
        f"which may be off by {about_s(max(abs(template.error.earliest_s), abs(template.error.latest_s)))}"
        for group, template in members_by_clock(templates).items()
        if len(group) > 1
    ]
    return f"{'; '.join(shared)}."


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def how_often(rate_hz: float, what: str = "") -> str:
    """Return a rate as people say it, in the shortest unit of time in which it is 1 or more.

    Examples
    --------
    >>> how_often(2 / 86_400), how_often(1 / 3_600), how_often(0.25, "false report"), how_often(1e-9)
    ('2 times a day', 'once an hour', '15 false reports a minute', '3.16 times a century')
    """
    if isnan(rate_hz):
        return "at an unknown rate"
    unit_s, unit = next((each for each in UNITS if rate_hz * each[0] >= 1 - 1e-9), UNITS[-1])
    count, article = spoken(rate_hz * unit_s), "an" if unit == "hour" else "a"
    if not what:
        return f"once {article} {unit}" if count == "1" else f"{count} times {article} {unit}"
    return f"{count} {what}{'' if count == '1' else 's'} {article} {unit}"


def _percent(share: float) -> str:
    return f"{spoken(100 * share)} %"
