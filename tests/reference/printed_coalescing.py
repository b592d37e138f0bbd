"""Algorithms 1 and 2 of the coalescing paper and its Functions 1 to 3, line by line as printed: all of them fail.

What print leaves open is filled in the mildest way: an empty extent takes its first tuple as it is, and `full_at` lets
a tuple scope fill before its oldest goes (as printed, `full_at` None, it goes with every arrival).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from tests.reference.coalescing import Reading

MANY_TURNS = 100


class NeverEndsError(Exception):
    """The loop that discards expired tuples comes to no end."""


class UndefinedError(Exception):
    """There is no tuple such as the algorithm says to find."""


@dataclass(eq=False)
class TemporalTuple:
    group: int
    value: Any
    t_s: int
    t_e: int
    v: list[int] = field(default_factory=list)

    @property
    def interval(self) -> tuple[int, int, int, Any]:
        return self.group, self.t_s, self.t_e, self.value


class PrintedExtent:
    """What both algorithms share; `extent` is one list for all groups, as next() and prev() have it."""

    def __init__(self, full_at: int | None = None, duration_us: int | None = None) -> None:
        self.extent: list[TemporalTuple] = []
        self.full_at = full_at
        self.duration_us = duration_us
        self.s_latest: TemporalTuple | None = None

    @property
    def intervals(self) -> list[tuple[int, int, int, Any]]:
        return [each.interval for each in self.extent]

    def push(self, *arrivals: Reading) -> None:
        for s_new in arrivals:
            self._push(s_new)

    def _push(self, s_new: Reading) -> None:
        if self.duration_us is not None:
            self._discard_expired(s_new.ts_us - self.duration_us)
        elif self.extent and (self.full_at is None or self._held() >= self.full_at):
            self._discard_oldest()
        if not self.extent or self.s_latest is None:
            self.s_latest = TemporalTuple(s_new.group, s_new.value, s_new.ts_us, s_new.ts_us)
            self.extent.append(self.s_latest)
        elif s_new.ts_us < self.s_latest.t_s:
            too_late_from = self.extent[0].t_s if self.duration_us is None else s_new.ts_us - self.duration_us
            if not s_new.ts_us < too_late_from:
                self._add_out_of_order(s_new)
        else:
            self._add_in_order(s_new, self.s_latest)

    def _held(self) -> int:
        return sum(1 + len(each.v) for each in self.extent)

    def _discard_oldest(self) -> None:
        raise NotImplementedError

    def _discard_expired(self, since_us: int) -> None:
        raise NotImplementedError

    def _add_out_of_order(self, s_new: Reading) -> None:
        raise NotImplementedError

    def _add_in_order(self, s_new: Reading, s_latest: TemporalTuple) -> None:
        raise NotImplementedError

    def _add_tuple(self, s_new: Reading, s_prev: TemporalTuple) -> TemporalTuple:
        """Function 1."""
        place = self.extent.index(s_prev) + 1
        s_prev.t_e = s_new.ts_us
        t_e = s_new.ts_us if place == len(self.extent) else self.extent[place].t_s
        added = TemporalTuple(s_new.group, s_new.value, s_new.ts_us, t_e)
        self.extent.insert(place, added)
        return added


class PrintedLazy(PrintedExtent):
    """Algorithm 1 and its time-based form."""

    def _discard_oldest(self) -> None:
        del self.extent[0]

    def _discard_expired(self, since_us: int) -> None:
        while self.extent and self.extent[0].t_s < since_us:
            del self.extent[0]

    def _add_out_of_order(self, s_new: Reading) -> None:
        for s_prev, following in zip(self.extent, self.extent[1:], strict=False):
            if s_prev.t_s < s_new.ts_us < following.t_e:  # line 9
                self._add_tuple(s_new, s_prev)
                return
        raise UndefinedError

    def _add_in_order(self, s_new: Reading, s_latest: TemporalTuple) -> None:
        self.s_latest = self._add_tuple(s_new, s_latest)


class PrintedEager(PrintedExtent):
    """Algorithm 2 and its time-based form."""

    def _discard_oldest(self) -> None:
        s_oldest = self.extent[0]
        if s_oldest.v:
            s_oldest.t_s = s_oldest.v.pop(0)
        else:
            del self.extent[0]

    def _discard_expired(self, since_us: int) -> None:
        for _ in range(MANY_TURNS):
            if not self.extent or not self.extent[0].t_s < since_us:
                return
            s_oldest = self.extent[0]
            if s_oldest.v and s_oldest.t_e > since_us:
                self._split_tuple(s_oldest, since_us)
            del self.extent[0]
        raise NeverEndsError

    def _add_out_of_order(self, s_new: Reading) -> None:
        mine = [each for each in self.extent if each.group == s_new.group]
        s_target = next((each for each in mine if each.t_s < s_new.ts_us < each.t_e), None)  # line 14
        if s_target is None:
            raise UndefinedError
        if s_target.value == s_new.value:
            self._merge_tuples(s_new, s_target)
        else:
            self._add_tuple(s_new, self._split_tuple(s_target, s_new.ts_us))

    def _add_in_order(self, s_new: Reading, s_latest: TemporalTuple) -> None:
        mine = [each for each in self.extent if each.group == s_new.group]
        if not mine:  # the group's first tuple: not in the text
            self.s_latest = self._add_tuple_of_new_group(s_new)
            return
        self.s_latest = mine[-1]  # line 24: the global variable
        if self.s_latest.value == s_new.value:
            self._merge_tuples(s_new, self.s_latest)
        else:
            self.s_latest = self._add_tuple(s_new, self.s_latest)

    def _add_tuple_of_new_group(self, s_new: Reading) -> TemporalTuple:
        added = TemporalTuple(s_new.group, s_new.value, s_new.ts_us, s_new.ts_us)
        self.extent.append(added)
        return added

    def _merge_tuples(self, s_new: Reading, s: TemporalTuple) -> None:
        """Function 2."""
        s.v = sorted([*s.v, s_new.ts_us])
        s.t_e = max(s.t_e, s.v[-1])

    def _split_tuple(self, s: TemporalTuple, ts_us: int) -> TemporalTuple:
        """Function 3."""
        s2 = replace(s)
        s.v = [ts for ts in s.v if not ts > ts_us]
        s2.v = [ts for ts in s2.v if not ts < ts_us]
        self.extent.insert(self.extent.index(s) + 1, s2)
        return s
