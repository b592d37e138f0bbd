"""AtLeast: how many members of a window join are enough, and which of them no set goes without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from coincide.arrays.numbers import is_whole
from coincide.constraints.graph import ConstraintGraph, roles_apart
from coincide.errors import GraphError


@dataclass(frozen=True)
class AtLeast:
    """So many members of some roles are enough; all other roles are required.

    Parameters
    ----------
    count : int
        How many of the optional roles have a member at least. A set has two members or more.
    of : iterable of str, optional
        The optional roles; by default every role is one.

    Examples
    --------
    Two of three microphones and the camera:

    >>> heard = AtLeast(2, of=["m1", "m2", "m3"])
    >>> heard.required(["camera", "m1", "m2", "m3"]), heard.fewest(["camera", "m1", "m2", "m3"])
    (('camera',), 3)
    """

    count: int
    of: tuple[str, ...] | None = None

    def __init__(self, count: int, of: Iterable[str] | None = None) -> None:
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "of", None if of is None else tuple(of))

    def optional(self, roles: Sequence[str]) -> tuple[str, ...]:
        """Return the roles that may be absent, in their order."""
        return tuple(role for role in roles if self.of is None or role in self.of)

    def required(self, roles: Sequence[str]) -> tuple[str, ...]:
        """Return the roles that no set goes without, in their order."""
        return tuple(role for role in roles if self.of is not None and role not in self.of)

    def fewest(self, roles: Sequence[str]) -> int:
        """Return how many members the smallest sets have."""
        return len(self.required(roles)) + self.count


def checked_at_least(at_least: int | AtLeast, graph: ConstraintGraph, *, all_may_be_needed: bool = True) -> AtLeast:
    """Return how many members of the graph are enough, else raise GraphError.

    What is present must always be connected, whichever members are absent. So required roles are connected by edges
    among themselves, and each optional role has an edge to one of them. Without required roles it takes a clique.
    """
    given = at_least if isinstance(at_least, AtLeast) else AtLeast(at_least)
    _refuse_bad_names(given, graph)
    _refuse_bad_count(given, graph, all_may_be_needed=all_may_be_needed)
    _refuse_unless_connected(given, graph)
    return given


def _refuse_bad_names(given: AtLeast, graph: ConstraintGraph) -> None:
    if given.of is None:
        return
    allowed = f"some of the roles {list(graph.roles)}, each once"
    if not given.of or len(set(given.of)) < len(given.of) or not set(given.of) <= set(graph.roles):
        raise GraphError("at_least.of", list(given.of), allowed)


def _refuse_bad_count(given: AtLeast, graph: ConstraintGraph, *, all_may_be_needed: bool) -> None:
    optional = len(given.optional(graph.roles))
    least = max(0, 2 - len(given.required(graph.roles)))
    if is_whole(given.count) and least <= given.count <= optional - (not all_may_be_needed):
        return
    all_of = f"the {optional} roles" if optional > 1 else "the one role"
    most = f"{optional}" if all_may_be_needed else f"less than {all_of}"
    field = "at_least" if given.of is None else "at_least.count"
    raise GraphError(field, given.count, f"a whole number from {least} to {most}")


def _refuse_unless_connected(given: AtLeast, graph: ConstraintGraph) -> None:
    required = given.required(graph.roles)
    if not required:
        if not graph.is_clique:
            allowed = f"only for a clique, or of some roles: in a {graph.form} members left out hold others together"
            raise GraphError("at_least", given.count, allowed)
        return
    apart = roles_apart(graph, required)
    if apart:
        allowed = f"roles that do not hold the others together: without, {required[0]!r} and {sorted(apart)} are apart"
        raise GraphError("at_least.of", list(given.of or ()), allowed)
    for role in given.optional(graph.roles):
        if not set(graph.neighbours(role)) & set(required):
            allowed = f"roles with an edge to one of the others {list(required)}, which are required: {role!r} has none"
            raise GraphError("at_least.of", list(given.of or ()), allowed)
