"""Query edges: which edges the fields `within` and `form` of a query stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any, Literal

from coincide.errors import QueryError
from coincide.within import Within

Form = Literal["path", "clique", "graph"]
FORMS: tuple[Form, ...] = ("path", "clique", "graph")

Pair = tuple[str, str]


def edges_of(within: object, form: object, roles: Sequence[str]) -> tuple[Within, ...]:
    """Read the edges; one that names no roles stands for all edges of the form.

    Parameters
    ----------
    within : object
        A list of JSON objects.
    form : object
        "path", "clique", "graph" or None.
    roles : sequence of str
        In the order of "from".

    Raises
    ------
    QueryError
        Names the field and what is allowed.

    Examples
    --------
    >>> [(edge.first, edge.second) for edge in edges_of([{"window_s": 2, "threshold": 0.5}], "path", "abc")]
    [('a', 'b'), ('b', 'c')]
    """
    refuse_unless_form(form)
    if not isinstance(within, list) or not within:
        raise QueryError("within", f"is {within!r}: a list of one edge or more")
    if len(within) == 1 and isinstance(within[0], Mapping) and "between" not in within[0] and form is not None:
        return tuple(_edge(0, {**within[0], "between": list(pair)}) for pair in _pairs_of(form, roles))
    return tuple(_edge(number, edge) for number, edge in enumerate(within))


def refuse_unless_of_form(edges: Sequence[Within], form: object, roles: Sequence[str]) -> None:
    """Refuse edges that do not make the form that the query says it has.

    Raises
    ------
    QueryError
        The form does not exist, or edges are missing or too many.
    """
    refuse_unless_form(form)
    if form is None or form == "graph":
        return
    wanted = {frozenset(pair) for pair in _pairs_of(form, roles)}
    given = {frozenset((edge.first, edge.second)) for edge in edges}
    between = "every two roles" if form == "clique" else "each role of from and the next"
    for difference, what in ((wanted - given, "lacks the edge"), (given - wanted, "has the edge")):
        if difference:
            pair = min(sorted(pair, key=list(roles).index) for pair in difference)
            raise QueryError("within", f"{what} {pair[0]!r} - {pair[1]!r}: a {form} has one between {between}")


def refuse_unless_form(form: object) -> None:
    """Refuse a form that does not exist; None is no form.

    Raises
    ------
    QueryError
    """
    if form not in (None, *FORMS):
        raise QueryError("form", f"is {form!r}: one of {', '.join(FORMS)}")


def _pairs_of(form: object, roles: Sequence[str]) -> list[Pair]:
    """Return the pairs that a form has edges between; a graph is what its edges are."""
    if form == "path":
        return list(pairwise(roles))
    if form == "clique":
        return list(combinations(roles, 2))
    raise QueryError("within[0].between", "is missing: one edge may stand for all in a path or a clique only")


def _edge(number: int, edge: Any) -> Within:
    try:
        return Within.from_json(edge)
    except QueryError as error:
        raise QueryError(f"within[{number}].{error.field}".rstrip("."), error.message) from None
