"""Stretches: readings in columns, or what neighbouring readings have become; and the spells that they make.

A reading holds until the next one of its group, and for no longer than `hold_us` if none comes. Neighbours with which a
run may last, and of which the second goes on from the first, are a chain. Its run begins with its first reading that is
within the limits, and those before it are in none. The reading that ends a run is the next one of its group, if the
last one still holds when it comes. If none comes in time, silence ends the run at its last reading: silence proves
nothing.

A run is a spell if it is probable enough that it lasted long enough. Every reading of the run but the first is evidence
of that, and so is the one that ends it: P(X - X_first >= lasting), where X is when the one was so and X_first when the
first was, each by its template, independent of each other. The best evidence counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, CodeArray, FloatArray, Int64Array, PositionArray
from coincide.arrays.order import group_starts
from coincide.probability.difference import match_probabilities
from coincide.sliding.readings import counted_rows
from coincide.sliding.value_limits import begun
from coincide.spells.spell_rule import SpellRule
from coincide.templates.codes import TemplatesInOrder

ACCURACY = 1e-12
DECIMALS = 12  # the accuracy promised; beyond it a digit could depend on what else is computed together

Reading = tuple[str | bytes, ...]
"""Sensor and id, and what is wanted back with them; of readings of a group at one instant the smallest counts."""


@dataclass(frozen=True)
class SpellReadings:
    """Readings in columns of length n, in any order."""

    group: Int64Array
    begins: BoolArray  # whether a run may begin with it, by the limits in force when it came
    goes_on: BoolArray  # whether a run that has begun may last with it; so where it may begin with it
    ts_us: Int64Array  # instant from which it was certainly so: the latest by its template
    detected_at_us: Int64Array  # reported time
    template: CodeArray
    value: FloatArray  # numbers; texts, true and false as codes
    reading: npt.NDArray[Any]  # each a `Reading`
    revision: Int64Array  # offset of the frame that brought it
    received_at_us: Int64Array


@dataclass(frozen=True)
class Stretches:
    """Columns of length n, by (group, instant). Of a single reading, first and last are that reading."""

    group: Int64Array
    begins: BoolArray  # of several readings: that their run has begun
    goes_on: BoolArray
    first_us: Int64Array  # instants, microseconds since the epoch
    last_us: Int64Array
    first_detected_us: Int64Array  # reported times
    last_detected_us: Int64Array
    first_template: CodeArray
    last_template: CodeArray
    first_value: FloatArray
    last_value: FloatArray
    first: npt.NDArray[Any]  # each a `Reading`
    last: npt.NDArray[Any]
    last_revision: Int64Array  # offset of the frame that brought the last reading
    count: Int64Array
    revision: Int64Array  # greatest offset among the readings of its chain and the one before that, if it still held
    received_at_us: Int64Array  # the latest
    probability: FloatArray  # that it lasted long enough, by its own readings

    def __len__(self) -> int:
        return len(self.group)

    @classmethod
    def of(cls, one: SpellReadings) -> Stretches:
        """Return single readings, in any order, by (group, instant); of those at one instant the smallest counts."""
        return cls(
            group=one.group,
            begins=one.begins,
            goes_on=one.goes_on,
            first_us=one.ts_us,
            last_us=one.ts_us,
            first_detected_us=one.detected_at_us,
            last_detected_us=one.detected_at_us,
            first_template=one.template,
            last_template=one.template,
            first_value=one.value,
            last_value=one.value,
            first=one.reading,
            last=one.reading,
            last_revision=one.revision,
            count=np.ones(len(one.group), np.int64),
            revision=one.revision,
            received_at_us=one.received_at_us,
            probability=np.zeros(len(one.group)),
        ).counted()

    @classmethod
    def empty(cls) -> Stretches:
        """Return no stretches."""
        whole, codes, reals = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)
        flags, names = np.empty(0, np.bool_), np.empty(0, object)
        return cls.of(SpellReadings(whole, flags, flags, whole, whole, codes, reals, names, whole, whole))

    @classmethod
    def joined(cls, parts: Sequence[Stretches]) -> Stretches:
        """Return all of several parts."""
        columns = zip(*(part.columns() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns)).counted()

    def with_new(self, new: Stretches) -> Stretches:
        """Return these and new ones."""
        at = self._place_of(new) if len(new) == 1 else None
        if at is None:
            return Stretches.joined([self, new])
        pairs = zip(self.columns(), new.columns(), strict=True)
        return Stretches(*(np.concatenate((column[:at], one, column[at:])) for column, one in pairs))

    def of_groups(self, groups: Int64Array) -> Stretches:
        """Return those of some groups."""
        if len(groups) > 1:
            return self.take(np.isin(self.group, groups))
        return self.take(self._rows_of(int(groups[0])) if len(groups) else slice(0))

    def _place_of(self, one: Stretches) -> int | None:
        """Return where a single one comes in; None if there is one at that instant of its group."""
        rows, us = self._rows_of(int(one.group[0])), int(one.first_us[0])
        at = int(rows.start + self.first_us[rows].searchsorted(us))
        return None if at < rows.stop and self.first_us[at] == us else at

    def _rows_of(self, group: int) -> slice:
        return slice(int(self.group.searchsorted(group, "left")), int(self.group.searchsorted(group, "right")))

    def columns(self) -> list[npt.NDArray[Any]]:
        """Return the columns, in the order of the fields."""
        return [getattr(self, name) for name in _COLUMNS]

    def take(self, rows: npt.NDArray[Any] | slice) -> Stretches:
        """Return some of them: positions, a mask, or a slice."""
        return Stretches(*(column[rows] for column in self.columns()))

    def with_templates(self, first: CodeArray, last: CodeArray) -> Stretches:
        """Return them under new codes of their templates."""
        return replace(self, first_template=first, last_template=last)

    def counted(self) -> Stretches:
        """Return those that count at their instant, by (group, instant)."""
        if len(self) == 1:
            return self
        return self.take(counted_rows(self.first_us, self.group, self.first))

    def runs(self, rule: SpellRule, templates: TemplatesInOrder) -> Spells:
        """Put neighbours together; those that are in no run stay single."""
        if len(self) == 0:
            return Spells(self, self.first_us, self.begins)
        holds, chained = self._holds(rule), self._chained(rule)
        linked = chained & begun(self.begins, chained)[:-1]
        first, after = np.append(0, np.flatnonzero(~linked) + 1), np.flatnonzero(np.append(~linked, True)) + 1
        last = after - 1
        is_ended = np.append(holds, False)[last]
        ender = np.minimum(after, len(self) - 1)
        runs = self._united(first, last, self._revisions(holds, chained)[first])
        evidence = [self._best_of_readings(runs, first, last), self._enders(runs, is_ended, ender)]
        ends = np.flatnonzero(is_ended)
        np.maximum.at(runs.revision, ends, self.last_revision[ender[ends]])
        np.maximum.at(runs.received_at_us, ends, self.received_at_us[ender[ends]])
        for run, row in evidence:
            np.maximum.at(runs.probability, run, self._probability(runs, run, row, rule, templates))
        return Spells(runs, np.where(is_ended, self.first_us[ender], runs.last_us), is_ended)

    def settled(
        self, before_us: Int64Array, now_us: Int64Array, rule: SpellRule, templates: TemplatesInOrder
    ) -> Stretches:
        """Put together all that lies before `before_us`, if nothing that comes can change it any more.

        Of each group only the newest run is kept, if it may go on: no reading before `now_us` comes any more. Both are
        given for each row, and are alike for all of a group.
        """
        is_settled = self.last_us < before_us
        old = self.take(is_settled)
        if len(old) == 0:
            return self
        runs = old.runs(rule, templates)
        newest = np.append(group_starts(runs.runs.group)[1:], len(runs.runs.group)) - 1
        row = np.append(group_starts(old.group)[1:], len(old)) - 1  # of the newest reading of each group
        may_go_on = now_us[is_settled][row] - old.last_us[row] <= rule.run.hold_us
        return Stretches.joined([runs.runs.take(newest[may_go_on]), self.take(~is_settled)])

    def _holds(self, rule: SpellRule) -> BoolArray:
        """Whether each but the last still holds when the next one of its group comes, bool (n - 1,)."""
        in_time = self.first_us[1:] - self.last_us[:-1] <= rule.run.hold_us
        holds: BoolArray = (self.group[1:] == self.group[:-1]) & in_time
        return holds

    def _chained(self, rule: SpellRule) -> BoolArray:
        """Whether a run that had begun would go on from each to the next, bool (n - 1,)."""
        chained = self._holds(rule) & self.goes_on[1:] & self.goes_on[:-1]
        equivalence, at = rule.run.equivalence, np.flatnonzero(chained)
        if equivalence is not None:
            chained[at] = equivalence.link(self.last_value[at], self.first_value[at + 1])
        return chained

    def _revisions(self, holds: BoolArray, chained: BoolArray) -> Int64Array:
        """Return, for each row, the greatest offset that tells where its chain begins, and so where its run does."""
        is_first = np.append(True, ~chained)
        first = np.flatnonzero(is_first)
        own = np.maximum.reduceat(self.revision, first)
        before = self.last_revision[np.maximum(first - 1, 0)]
        of_chain = np.where(np.append(False, holds)[first], np.maximum(own, before), own)
        revisions: Int64Array = of_chain[np.cumsum(is_first) - 1]
        return revisions

    def _united(self, first: PositionArray, last: PositionArray, revision: Int64Array) -> Stretches:
        """Return each run as a single row, its probability that of its parts."""
        ends = {
            name: getattr(self, name)[first if name.startswith("first") else last]
            for name in _COLUMNS
            if name.startswith(("first", "last"))
        }
        return Stretches(
            group=self.group[first],
            begins=self.begins[first],
            goes_on=self.goes_on[first],
            count=np.add.reduceat(self.count, first),
            revision=revision,
            received_at_us=np.maximum.reduceat(self.received_at_us, first),
            probability=np.maximum.reduceat(self.probability, first),
            **ends,
        )

    def _best_of_readings(
        self, runs: Stretches, first: PositionArray, last: PositionArray
    ) -> tuple[PositionArray, PositionArray]:
        """Return the rows that may be the best evidence for a run: of each template the one reported last."""
        run_of = np.repeat(np.arange(len(first)), last - first + 1)
        rows = np.flatnonzero(runs.begins[run_of] & (np.arange(len(self)) > first[run_of]))
        rows = rows[np.lexsort((self.last_detected_us[rows], self.last_template[rows], run_of[rows]))]
        run, template = run_of[rows], self.last_template[rows]
        is_last = np.append((np.diff(run) != 0) | (np.diff(template) != 0), True)[: len(rows)]
        return run[is_last], rows[is_last]

    def _enders(
        self, runs: Stretches, is_ended: BoolArray, ender: PositionArray
    ) -> tuple[PositionArray, PositionArray]:
        """Return the rows that end a run that had begun: until then it was so."""
        run = np.flatnonzero(is_ended & runs.begins)
        return run, ender[run]

    def _probability(
        self, runs: Stretches, run: PositionArray, row: PositionArray, rule: SpellRule, templates: TemplatesInOrder
    ) -> FloatArray:
        """Return how probably each row was so long enough after the first reading of its run."""
        us, u_index = templates.among(runs.first_template[run])
        vs, v_index = templates.among(self.last_template[row])
        offset_us = self.last_detected_us[row] - runs.first_detected_us[run]
        return match_probabilities(us, vs, u_index, v_index, offset_us, rule.window).round(DECIMALS)


@dataclass(frozen=True)
class Spells:
    """Runs in columns of length n, by (group, start); those that count are spells."""

    runs: Stretches  # revision, received_at_us and probability are those with what ended them
    end_us: Int64Array  # of the reading that ends it, or its last one
    is_ended: BoolArray  # whether a reading ended it

    def counts(self, rule: SpellRule) -> BoolArray:
        """Whether each has begun and probably lasted long enough."""
        counts: BoolArray = self.runs.begins & (self.runs.probability >= rule.threshold - ACCURACY)
        return counts


_COLUMNS = [column.name for column in fields(Stretches)]
