"""LearntRates: how often events come in an area, and who hears them, by the matches of one query so far.

The law: what a minute of an area's event time teaches counts from the next minute on, and a minute is weighed as a
whole. So batches and restarts change nothing. See ADR 80 for what keeps the rates from feeding on themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct, msgpack, structs

from coincide.evidence import Hearings, Network, learnt_rates
from coincide.fusion.rows.rates import MINUTE_US
from coincide.fusion.saving.slot_store import SlotStore
from coincide.fusion.saving.state_format import FORMAT, decode_state
from coincide.queries.joins.event_rule import EventRule

FIRST_NUMBER = -(7 * 2**28)  # slots of matches without evidence are numbered from -3 * 2**29 down
NUMBERS = 2**28
LEAST_HALF, MOST_HALF = 10.0, 500.0  # events after which what was heard counts half: at first, and in the end
SHARE_OF_SEEN = 0.125  # of all events seen, in between: the first ones were judged by the word, and are soon forgotten
MOST_SENSORS = 256  # of which it is remembered who hears events
DIGITS = 9

AreaKey = tuple[str, int]
"""Name of an area, and the sequence number from which on it is known: one that came back is another."""


class Heard(Struct, array_like=True, frozen=True):
    """What is known of one sensor: in groups of matches, and in events, weighted by how probable each is."""

    alive: float = 0.0  # groups at which it lived
    came: float = 0.0  # events that came while it lived, and two sensors or more heard
    heard: float = 0.0  # of those
    reported_hz: float = 0.0  # when it was last alive

    def faded(self, kept: float) -> Heard:
        """Return what is left of it."""
        return Heard(self.alive * kept, self.came * kept, self.heard * kept, self.reported_hz)

    def and_then(self, later: Heard) -> Heard:
        """Return both."""
        sums = self.alive + later.alive, self.came + later.came, self.heard + later.heard
        return Heard(*sums, later.reported_hz)


class MinuteHeard(Struct, frozen=True):
    """What the groups of one minute tell."""

    groups: float
    events: float
    sensors: Mapping[str, Heard]

    @classmethod
    def joined(cls, parts: Sequence[MinuteHeard]) -> MinuteHeard:
        """Return what several blocks of one minute tell."""
        sensors: dict[str, Heard] = {}
        for part in parts:
            for name, heard in part.sensors.items():
                sensors[name] = sensors.get(name, Heard()).and_then(heard)
        return cls(sum(each.groups for each in parts), sum(each.events for each in parts), sensors)


class LearntRates(Struct, array_like=True, frozen=True):
    """What is known of one query and area, in a slot of its own."""

    format: int
    number: int
    query: str
    area: str
    since: int
    until: int  # the minute of the area's event time from which on time has not been counted
    lasts_s: float
    groups: float
    events: float
    seen: float  # events, none of which has faded
    sensors: dict[str, Heard]

    @classmethod
    def begun(cls, query: str, area: AreaKey, minute: int) -> LearntRates:
        """Return what is known after the first minute with a match: it says when watching began, and does not count."""
        return cls(FORMAT, 0, query, *area, minute + 1, 0.0, 0.0, 0.0, 0.0, {})

    def lasting_s(self, minute: int) -> float:
        """Return how much time is counted before a minute."""
        return self.lasts_s + max(minute - self.until, 0) * MINUTE_US / 1e6

    def after(self, minute: int, told: MinuteHeard) -> LearntRates:
        """Return what is known after a minute; what was before fades by the events that came in it."""
        half = min(max(self.seen * SHARE_OF_SEEN, LEAST_HALF), MOST_HALF)
        kept = 2 ** (-told.events / half)
        sensors = {name: heard.faded(kept) for name, heard in self.sensors.items()}
        for name, heard in told.sensors.items():
            sensors[name] = sensors.get(name, Heard()).and_then(heard)
        ranked = sorted(sensors, key=lambda name: (-sensors[name].alive, name))[:MOST_SENSORS]
        return structs.replace(
            self,
            until=max(minute + 1, self.until),
            lasts_s=self.lasting_s(minute) * kept + max(minute + 1 - max(self.until, minute), 0) * MINUTE_US / 1e6,
            groups=self.groups * kept + told.groups,
            events=self.events * kept + told.events,
            seen=self.seen + told.events,
            sensors={name: sensors[name] for name in sorted(ranked)},
        )

    def rates(self, rule: EventRule, minute: int) -> tuple[float, dict[str, float]] | None:
        """Return the rate of events, and by sensor who hears them, as known when a minute begins; None: nothing yet."""
        lasts_s, names = self.lasting_s(minute), list(self.sensors)
        if not lasts_s or len(names) < 2 or not self.groups:
            return None
        of = [self.sensors[name] for name in names]
        whole = self.seen / self.events if self.events > 0 else 1.0  # as if nothing had faded: the word does not either
        hearings = Hearings(
            lasts_s * whole,
            self.events * whole,
            np.array([each.heard for each in of]) * whole,
            np.array([each.reported_hz for each in of]) * lasts_s * whole,
            np.array([each.alive for each in of]) / self.groups,
            np.array([each.came for each in of]) * whole,
        )
        learnt = learnt_rates(Network(names, rule.events_hz, rule.heard_by, None), hearings)
        heard_by = [round(each, DIGITS) for each in learnt.heard_by.tolist()]
        return float(f"{learnt.events_hz:.{DIGITS}g}"), dict(zip(names, heard_by, strict=True))

    @classmethod
    def decode(cls, slot: bytes) -> LearntRates:
        """Read what `LearntSlots` wrote; StateError if it is no slot of this format."""
        return decode_state(slot, _decoder, "a slot of learnt rates")


_decoder = msgpack.Decoder(LearntRates)


class LearntSlots(SlotStore):
    """The rates of each query and area have a slot, another one after each minute that taught something."""

    def __init__(self) -> None:
        super().__init__(first=0)
        self._of: dict[tuple[str, AreaKey], LearntRates] = {}

    def of(self, query: str, area: AreaKey) -> LearntRates | None:
        """Return what is known; None if that is nothing yet."""
        return self._of.get((query, area))

    def put(self, rates: LearntRates) -> None:
        """Take what is known now in place of what was."""
        key = rates.query, (rates.area, rates.since)
        self._drop(key)
        made = structs.replace(rates, number=FIRST_NUMBER - self.next % NUMBERS)
        self.next += 1
        self.live.add(made.number)
        self.written[made.number] = msgpack.encode(made)
        self._of[key] = made

    def forget(self, is_gone: Callable[[str, AreaKey], bool]) -> None:
        """Forget what was learnt for the queries, by id, and areas of which that is true."""
        for key in [key for key in self._of if is_gone(*key)]:
            self._drop(key)

    def restore(self, order: int, slots: Iterable[bytes]) -> None:
        """Take what was saved."""
        self.next = order
        for rates in map(LearntRates.decode, slots):
            self.live.add(rates.number)
            self._of[rates.query, (rates.area, rates.since)] = rates

    def _drop(self, key: tuple[str, AreaKey]) -> None:
        known = self._of.pop(key, None)
        if known is not None:
            self.remove(known.number)
