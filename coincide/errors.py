"""The one tree of errors that the library raises when it cannot use its input; each is a ValueError."""

from __future__ import annotations


class CoincideError(ValueError):
    """A value that the library cannot use.

    Its `field` is the argument, or the path of a query's field such as ``within[0].threshold``. Its `value` is what was
    given, `allowed` what is allowed instead.
    """

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(f"{field} is {value!r}: {allowed}")
        self.field = field
        self.value = value
        self.allowed = allowed

    def __reduce__(self) -> tuple[type[CoincideError], tuple[object, ...]]:
        return type(self), (self.field, self.value, self.allowed)

    @property
    def message(self) -> str:
        """What is wrong with the field and what is allowed, without the field's name."""
        return f"is {self.value!r}: {self.allowed}"


class HistogramError(CoincideError):
    """Edges, masses, samples or parameters that make no probability distribution."""


class WindowError(CoincideError):
    """Window bounds that are not finite or not in order."""


class ThresholdError(CoincideError):
    """A confidence threshold outside (0, 1]."""


class OffsetError(CoincideError):
    """Offsets between reported times that are not finite numbers, or at which no match is possible."""


class RateError(CoincideError):
    """Rates of detections that are not finite numbers, or below 0."""


class DetectionsError(CoincideError):
    """A column of detections that cannot be used."""


class PlaceError(CoincideError):
    """A place, a distance, a speed or a table of travel times that cannot be used."""


class StreamError(CoincideError):
    """A stream's name, delay, longest template or bound on its buffer that cannot be used."""


class GraphError(CoincideError):
    """Roles and constraints that make no graph a window join can follow."""


class SensorRuleError(CoincideError):
    """A rule other than different, same and any, or one that cannot be applied."""


class SlidesError(CoincideError):
    """Time slides that cannot be made, or would be too much work."""


class CostError(CoincideError):
    """A cost, a probability, a weight or a window of the cost model that cannot be used."""


class IntervalError(CoincideError):
    """An interval, a window, a duration or a fact that cannot be used."""


class CoalescingError(CoincideError):
    """A time, group, value, equivalence or window extent that cannot be used."""


class QueryError(CoincideError):
    """A field of a continuous query that cannot be used.

    A query may also lack a field or name one twice. So `message` says in words what is wrong, `allowed` repeats it,
    and `value` is None.
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, None, message)
        self.args = (f"{field} {message}",)

    def __reduce__(self) -> tuple[type[CoincideError], tuple[object, ...]]:
        return type(self), (self.field, self.allowed)

    @property
    def message(self) -> str:
        """What is wrong with the field and what is allowed, without the field's name."""
        return self.allowed


class QueryTextError(QueryError):
    """A place in the text of a query that cannot be used, by its line and its column, both from 1."""

    def __init__(self, at: tuple[int, int], field: str, message: str) -> None:
        super().__init__(field, message)
        self.at = at
        self.line, self.column = at

    def __reduce__(self) -> tuple[type[QueryTextError], tuple[object, ...]]:
        return type(self), (self.at, self.field, self.allowed)


class CandidateLimitError(CoincideError):
    """One row of a join has more candidate sets of events than the join may look at.

    Its `row` is the row's number: of all rows pushed so far, or of all batches one behind the other.
    """

    def __init__(self, max_candidates: int, row: int) -> None:
        super().__init__("max_candidates", max_candidates, f"row {row} has more than {max_candidates} candidate sets")
        self.row = row

    def __reduce__(self) -> tuple[type[CandidateLimitError], tuple[object, ...]]:
        return type(self), (self.value, self.row)
