"""Equivalences: which value goes on from the one before it, so that both belong to one run.

All of them look at two neighbours in time alone, so that a reading that comes or goes, in any order, changes only the
runs beside it. "Within epsilon of the run's first value" is no such rule: to drop one reading would regroup all that
follow. It is left out for that reason.

Numbers are compared as the decimals that they were written as; `coincide.arrays.decimals` has the rule.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from coincide.arrays.decimals import is_within, lower_end, step_of, steps_of, within
from coincide.arrays.kinds import BoolArray
from coincide.arrays.numbers import is_number
from coincide.errors import CoalescingError


class Equivalence(ABC):
    """Whether a value goes on from the one before it, for two values or for two columns of them."""

    needs_numbers = True

    @abstractmethod
    def holds(self, previous: Any, following: Any) -> Any:
        """Whether `following` goes on from `previous`: two values."""

    def link(self, previous: npt.NDArray[Any], following: npt.NDArray[Any]) -> BoolArray:
        """Return `holds` row by row, bool (n,)."""
        pairs = zip(previous.tolist(), following.tolist(), strict=True)
        return np.fromiter((self.holds(one, other) for one, other in pairs), np.bool_, len(previous))


class _Comparison(Equivalence):
    """An equivalence whose `holds` compares two columns as it does two values."""

    def link(self, previous: npt.NDArray[Any], following: npt.NDArray[Any]) -> BoolArray:
        """Return `holds` row by row, bool (n,)."""
        return np.asarray(self.holds(previous, following), np.bool_)


@dataclass(frozen=True)
class Equal(_Comparison):
    """The same value (the paper's value equivalence). NaN equals nothing, itself included.

    Examples
    --------
    >>> Equal().link(np.array([81, 81]), np.array([81, 79])).tolist()
    [True, False]
    """

    needs_numbers = False

    def holds(self, previous: Any, following: Any) -> Any:
        """Whether both are equal."""
        return previous == following


@dataclass(frozen=True)
class Bounded(Equivalence):
    """Within `epsilon` of the value before, epsilon included (Appendix B, "bounded").

    If it is `relative`, within that share of the value before: ``Bounded(0.05, relative=True)`` is within 5 % of it.

    Examples
    --------
    >>> Bounded(0.1).link(np.array([0.2, 0.2]), np.array([0.3, 0.31])).tolist()
    [True, False]
    >>> Bounded(0.05, relative=True).link(np.array([20, -20]), np.array([21, -22])).tolist()
    [True, False]
    """

    epsilon: float
    relative: bool = False

    def __post_init__(self) -> None:
        if not is_number(self.epsilon) or self.epsilon < 0:
            raise CoalescingError("epsilon", self.epsilon, "a finite number, 0 or more")
        if not isinstance(self.relative, bool):
            raise CoalescingError("relative", self.relative, "True or False")

    def holds(self, previous: Any, following: Any) -> bool:
        """Whether the difference is at most epsilon, or that share of the value before."""
        return is_within(previous, following, self.epsilon, relative=self.relative)

    def link(self, previous: npt.NDArray[Any], following: npt.NDArray[Any]) -> BoolArray:
        """Return `holds` row by row, bool (n,)."""
        if previous.dtype.kind == "O" or following.dtype.kind == "O":
            return super().link(previous, following)
        return within(previous, following, self.epsilon, relative=self.relative)


@dataclass(frozen=True)
class Increasing(_Comparison):
    """Larger than the value before (Appendix B, "increasing"); an equal value begins a new run.

    Examples
    --------
    >>> Increasing().link(np.array([20, 20]), np.array([21, 20])).tolist()
    [True, False]
    """

    def holds(self, previous: Any, following: Any) -> Any:
        """Whether the following value is larger."""
        return following > previous


@dataclass(frozen=True)
class Decreasing(_Comparison):
    """Smaller than the value before; an equal value begins a new run.

    Examples
    --------
    >>> Decreasing().link(np.array([20, 20]), np.array([19, 20])).tolist()
    [True, False]
    """

    def holds(self, previous: Any, following: Any) -> Any:
        """Whether the following value is smaller."""
        return following < previous


@dataclass(frozen=True)
class Quantised(Equivalence):
    """In the same step [k * step, (k + 1) * step) as the value before, for a whole number k.

    Examples
    --------
    >>> Quantised(0.1).link(np.array([0.3, 0.39]), np.array([0.39, 0.4])).tolist()
    [True, False]
    """

    step: float

    def __post_init__(self) -> None:
        if not is_number(self.step) or self.step <= 0:
            raise CoalescingError("step", self.step, "a finite number above 0")

    def holds(self, previous: Any, following: Any) -> bool:
        """Whether both lie in one step."""
        return bool(previous == following or step_of(previous, self.step) == step_of(following, self.step))

    def link(self, previous: npt.NDArray[Any], following: npt.NDArray[Any]) -> BoolArray:
        """Return `holds` row by row, bool (n,)."""
        if previous.dtype.kind == "O" or following.dtype.kind == "O":
            return super().link(previous, following)
        return np.asarray(steps_of(previous, self.step) == steps_of(following, self.step))

    def lower_end(self, value: Any) -> Any:
        """Return where the step of a number, or of each in a column, begins."""
        steps = steps_of(value, self.step) if isinstance(value, np.ndarray) else step_of(value, self.step)
        return lower_end(steps, self.step)


@dataclass(frozen=True)
class Predicate(Equivalence):
    """Any function of two values: true where `following` goes on from `previous`.

    It must depend on its two arguments alone; called once for each pair of neighbours.

    Examples
    --------
    >>> both_loud = Predicate(lambda previous, following: min(len(previous), len(following)) > 3)
    >>> both_loud.link(np.array(["boom", "crash"]), np.array(["crash", "tap"])).tolist()
    [True, False]
    """

    function: Callable[[Any, Any], bool]
    needs_numbers = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise CoalescingError("function", self.function, "a function of two values")

    def holds(self, previous: Any, following: Any) -> bool:
        """Whether the function says so."""
        return bool(self.function(previous, following))


# the names by which queries and the command call equivalences; "any": any value goes on from any other
PLAIN_EQUIVALENCES: dict[str, Equivalence | None] = {
    "equal": Equal(),
    "any": None,
    "increasing": Increasing(),
    "decreasing": Decreasing(),
}
NUMBERED_EQUIVALENCES: dict[str, Callable[[float], Equivalence]] = {
    "bounded": Bounded,
    "relative": partial(Bounded, relative=True),
    "quantised": Quantised,
}


def checked_equivalence(equivalence: object) -> Equivalence:
    """Return it if it is an Equivalence, else raise CoalescingError."""
    if not isinstance(equivalence, Equivalence):
        raise CoalescingError("equivalence", equivalence, "an Equivalence, such as Equal() or Bounded(0.5)")
    return equivalence
