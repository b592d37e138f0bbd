"""Evidence: how much more one event explains some reports than chance does, in bits, for many matches or for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, LabelArray
from coincide.arrays.numbers import real_numbers, whole_numbers
from coincide.errors import RateError
from coincide.evidence.network import Network, rates
from coincide.evidence.one_source import Travel, one_source_density
from coincide.evidence.shared_offsets import clocks_of_members
from coincide.probability.joint.shifted_tuple import share_a_clock
from coincide.templates.clocked import are_clocked, whole_of
from coincide.templates.histogram import Histogram

EVENTS_UNKNOWN = "rate_of_events"
UNPAIRED_UNKNOWN = "rate_of_unpaired_detections"


@dataclass(frozen=True, eq=False)
class EvidenceColumns:
    """The evidence of n matches: terms in bits, which add up to `bits`.

    Bits of rates count per second, so a term alone depends on the unit of time; their sum does not.

    Attributes
    ----------
    event_bits : ndarray of float64, shape (n,)
        How often events come.
    member_bits : ndarray of float64, shape (k, n)
        How well each member's sensor hears events, against how often it reports something else; 0: no such member.
    times_bits : ndarray of float64, shape (n,)
        How well the reported times fit one event, were no clock shared; minus infinity if no event explains them.
    clock_bits : ndarray of float64, shape (n,)
        What it adds that members share clocks; 0 where none do.
    silent_bits : ndarray of float64, shape (sensors, n)
        That a live sensor did not hear the event; 0 for those that did, and for those that are not known to live.
    unknown : ndarray of str, shape (n,)
        Why the bits are not known; empty where they are.
    """

    event_bits: FloatArray
    member_bits: FloatArray
    times_bits: FloatArray
    clock_bits: FloatArray
    silent_bits: FloatArray
    unknown: LabelArray

    def __len__(self) -> int:
        return len(self.times_bits)

    def of_one(self, nth: int, rows: IndexArray) -> EvidenceColumns:
        """Return the evidence of one match, with these rows of its members."""
        own = slice(nth, nth + 1)
        members, silent = self.member_bits[rows, own], self.silent_bits[:, own]
        times, clock = self.times_bits[own], self.clock_bits[own]
        return EvidenceColumns(self.event_bits[own], members, times, clock, silent, self.unknown[own])

    @cached_property
    def bits(self) -> FloatArray:
        """Log2 of one event against chance, float64 (n,); NaN where a rate is not known."""
        members, silent = self.member_bits.sum(axis=0), self.silent_bits.sum(axis=0)
        bits: FloatArray = self.event_bits + members + self.times_bits + self.clock_bits + silent
        return bits

    @cached_property
    def posterior(self) -> FloatArray:
        """The probability of one event if no other match has any of the members, float64 (n,)."""
        posterior: FloatArray = posterior_of(self.bits)
        return posterior


def posterior_of(bits: npt.ArrayLike) -> Any:
    """Return the probability of one event, 1 / (1 + 2^-bits): how often events come is a term of the bits.

    Examples
    --------
    >>> posterior_of([0.0, 10.0, -10.0]).round(4).tolist()
    [0.5, 0.999, 0.001]
    """
    with np.errstate(invalid="ignore"):  # what is not known stays so
        return np.exp2(-np.logaddexp2(0.0, -np.asarray(bits, np.float64)))


def evidence_columns(
    network: Network,
    templates: Sequence[Histogram],
    template_index: npt.ArrayLike,
    detected_at_us: npt.ArrayLike,
    sensor: npt.ArrayLike | None = None,
    *,
    travel: Travel | None = None,
    live: npt.ArrayLike | None = None,
    unpaired_hz: npt.ArrayLike | None = None,
) -> EvidenceColumns:
    """Return the evidence of n matches of at most k members each.

    The bits are log2 of

        events_hz * product of heard_by * density of the reported times * product of (1 - heard_by) of silent sensors

    over the product of the members' unpaired_hz: how often one event makes such reports, against how often chance does.

    Parameters
    ----------
    network : Network
        How often events come, how well each sensor hears them, and how often it reports something else.
    templates, template_index, detected_at_us, travel
        As in `one_source_density`.
    sensor : array of integer, shape (k, n), optional
        The position in `network.sensors` of each member's sensor; by default row i is sensor i.
    live : array of bool, shape (sensors,) or (sensors, n), optional
        Which sensors are known to live, so that their silence counts; by default all.
    unpaired_hz : array of float, shape (k, n), optional
        Rates of each member's own time instead of the network's; NaN where one is not known.

    Raises
    ------
    RateError, HistogramError, OffsetError, WindowError, GraphError

    Examples
    --------
    Two exact clocks that report within 0.8 s of each other, first in quiet and then in noise:

    >>> clock, times_us = [Histogram.uniform(-1, 1)], [[0], [300_000]]
    >>> for noise_hz in (0.01, 0.5):
    ...     network = Network.of_noise(["a", "b"], 0.01, 0.9, noise_hz)
    ...     print(evidence_columns(network, clock, [[0], [0]], times_us).posterior.round(2).tolist())
    [0.97]
    [0.01]
    """
    density = one_source_density(templates, template_index, detected_at_us, travel)
    present = np.asarray(template_index) >= 0
    place = _sensors(sensor, present, len(network.sensors))
    alive = _live(live, len(network.sensors), present.shape[1])
    own_hz = _unpaired(unpaired_hz, network, place, present)
    with np.errstate(divide="ignore"):
        member = np.where(present, np.log2(network.heard_by)[place] - np.log2(own_hz), 0.0)
        silent = np.log2(1.0 - network.heard_by)[:, None]
        times = np.log2(density)
    clock = _clock_bits(times, templates, template_index, detected_at_us, travel)
    hears = np.zeros(alive.shape, np.bool_)
    hears[place[present], np.nonzero(present)[1]] = True
    unknown = np.where(np.isnan(member).any(axis=0), UNPAIRED_UNKNOWN, "")
    events = np.full(len(times), np.log2(network.events_hz))
    unknown = np.where(np.isnan(events), EVENTS_UNKNOWN, unknown)
    return EvidenceColumns(events, member, times - clock, clock, np.where(alive & ~hears, silent, 0.0), unknown)


def _clock_bits(
    times_bits: FloatArray,
    templates: Sequence[Histogram],
    template_index: npt.ArrayLike,
    detected_at_us: npt.ArrayLike,
    travel: Travel | None,
) -> FloatArray:
    """Return how much better the times fit than whole errors do that are independent; 0 where no event fits these."""
    bits = np.zeros(len(times_bits))
    if not are_clocked(templates):
        return bits
    index, at_us = np.asarray(template_index), np.asarray(detected_at_us)
    shared = np.flatnonzero(share_a_clock(clocks_of_members(templates, index)).any(axis=0))
    alone = one_source_density([*map(whole_of, templates)], index[:, shared], at_us[:, shared], travel)
    is_both = np.isfinite(times_bits[shared]) & (alone > 0)
    bits[shared[is_both]] = times_bits[shared[is_both]] - np.log2(alone[is_both])
    return bits


def _sensors(sensor: npt.ArrayLike | None, present: BoolArray, sensors: int) -> IndexArray:
    """Return each member's sensor; any where there is no member."""
    if sensor is None:
        sensor = np.broadcast_to(np.arange(len(present))[:, None], present.shape)
    place = np.where(present, whole_numbers("sensor", sensor, present.shape, RateError), 0)
    if place.size and (place.min() < 0 or place.max() >= sensors):
        raise RateError("sensor", f"{place.min()} to {place.max()}", f"positions among {sensors} sensors, from 0 on")
    return place


def _live(live: npt.ArrayLike | None, sensors: int, matches: int) -> BoolArray:
    given = np.asarray(True if live is None else live)
    if given.dtype.kind != "b" or given.shape not in {(), (sensors,), (sensors, matches)}:
        raise RateError("live", f"an array of {given.dtype} with shape {given.shape}", f"bool, for {sensors} sensors")
    return np.broadcast_to(given[:, None] if given.ndim == 1 else given, (sensors, matches)).copy()


def _unpaired(given: npt.ArrayLike | None, network: Network, place: IndexArray, present: BoolArray) -> FloatArray:
    if given is None:
        return network.unpaired_hz[place]
    floats = real_numbers("unpaired_hz", given, "numbers per second", RateError)
    if floats.shape != present.shape:
        raise RateError("unpaired_hz", f"an array of shape {floats.shape}", f"an array of shape {present.shape}")
    return rates("unpaired_hz", np.where(present, floats, 1.0), present.shape)
