"""What the fields of a join may be: roles, edges, how many members. A refusal names the field and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from coincide.constraints.at_least import AtLeast, checked_at_least
from coincide.constraints.graph import ConstraintGraph
from coincide.errors import GraphError, QueryError
from coincide.probability.joint.member_links import Links
from coincide.queries.fields.checks import refuse_unless_name
from coincide.queries.joins.edges import Within
from coincide.stream import LONGEST_NAME

ROLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
MOST_ROLES = 16
MOST_ROLES_WITH_CYCLES = 6  # a ring of them: 0.07 s a match at 8 buckets, of eight 0.3 s, of ten 3 s
MOST_ON_MANY_CYCLES = 4  # a clique of four with six windows: 0.4 ms a match among many, of five 20 ms


def refuse_unless_roles(roles: Sequence[tuple[str, str]]) -> None:
    """Refuse too few or too many roles, and names that are none."""
    if not 2 <= len(roles) <= MOST_ROLES:
        raise QueryError("from", f"has {len(roles)} roles: 2 to {MOST_ROLES}")
    for role, stream in roles:
        if len(role) > LONGEST_NAME or not ROLE.fullmatch(role):
            raise QueryError("from", f"has the role {role!r}: letters, digits and '_', starting with a letter")
        refuse_unless_name(f"from.{role}", stream)


def refuse_unless_between_roles(within: Sequence[Within], roles: Sequence[str]) -> None:
    """Refuse an edge whose end is no role."""
    for number, edge in enumerate(within):
        for end in (edge.first, edge.second):
            if end not in roles:
                raise QueryError(f"within[{number}].between", f"names {end!r}, which is no role of from")


def refuse_unless_thresholds(within: Sequence[Within], joint_threshold: float | None) -> None:
    """Refuse an edge without a threshold where no joint one stands in for it."""
    for number, edge in enumerate(within):
        if edge.threshold is None and joint_threshold is None:
            allowed = "above 0 and at most 1, or give a joint_threshold"
            raise QueryError(f"within[{number}].threshold", f"is missing: {allowed}")


def refuse_unless_at_least(at_least: AtLeast, graph: ConstraintGraph) -> None:
    """Refuse a number of members that makes no sense, and roles that do not leave the others connected."""
    try:
        checked_at_least(at_least, graph, all_may_be_needed=False)
    except GraphError as error:
        raise QueryError(error.field, error.message) from None


def has_affordable_joint(graph: ConstraintGraph) -> bool:
    """Whether the joint probability of one match takes less than seconds: see `joint_probabilities`.

    That of a path, or any tree, and of a clique of one symmetric window takes milliseconds at most, whatever their
    size.
    """
    if graph.is_tree or graph.uniform_window is not None:
        return True
    if len(graph.roles) > MOST_ROLES_WITH_CYCLES:
        return False
    links = Links.of(graph)
    on_cycles = links.on_cycles
    return len(on_cycles) <= MOST_ON_MANY_CYCLES or any(links.without(member).is_forest for member in on_cycles)


def refuse_unless_affordable(graph: ConstraintGraph) -> None:
    """Refuse cycles for which the joint probability of one match would take seconds."""
    if not has_affordable_joint(graph):
        raise QueryError(
            "within",
            "has cycles whose joint probability takes too long: with cycles there may be "
            f"{MOST_ROLES_WITH_CYCLES} roles, one of them on every cycle or {MOST_ON_MANY_CYCLES} at most on any; "
            "a path, a clique of one symmetric window, and a query with source and neither joint_threshold nor event, "
            "may have more",
        )
