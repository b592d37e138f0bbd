"""Which matches tell how slow the clocks of their members were."""

import numpy as np

from coincide.arrays.kinds import BoolArray, Int64Array, PositionArray
from coincide.fusion.matching.advisory_work import OFFSET_OF_A_CLOCK, AdvisoryBudget
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns, VerifiedTemplates
from coincide.joins.tuples.set_order import ABSENT
from coincide.templates.clocked import clock_of

NO_CLOCK = 0


def tell_clocks(
    members: PositionArray,
    rows: EventColumns,
    templates: VerifiedTemplates,
    accepted: AcceptedBatch,
    budget: AdvisoryBudget,
) -> tuple[BoolArray, BoolArray]:
    """Return which matches, (n, roles) in the order of the newest members, tell of clocks, and which might but cannot.

    For the latter it would take too much work.
    """
    clocks = clocks_of(members, rows, templates) if templates.has_clocks else np.zeros(len(members), np.int64)
    tell = clocks > 0
    if not tell.any():
        return tell, tell
    newest = rows.seq[members.max(axis=1)]
    work = OFFSET_OF_A_CLOCK * clocks.astype(np.float64)
    affordable = budget.affords(work, np.arange(len(members)), newest, accepted.frames_of(newest))
    return tell & affordable, tell & ~affordable


def clocks_of(members: PositionArray, rows: EventColumns, templates: VerifiedTemplates) -> Int64Array:
    """Return on how many clocks the members of each match are; 0 if all are on one, as that tells nothing of it."""
    known, index = templates.among(rows.template[members].ravel())
    numbers: dict[str | None, int] = {None: NO_CLOCK}
    number = np.array([numbers.setdefault(clock_of(each), len(numbers)) for each in known])
    of_member = number[index].reshape(members.shape)
    of_newest = np.take_along_axis(of_member, members.argmax(axis=1)[:, None], axis=1)
    in_order = np.sort(np.where(members == ABSENT, of_newest, of_member), axis=1)
    changes = (np.diff(in_order, axis=1) != 0).sum(axis=1)
    return np.where(changes > 0, changes + (in_order[:, 0] != NO_CLOCK), 0)
