"""Which roles of a graph may be absent, and what is said of those that may not."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import AtLeast, ConstraintGraph, Window
from coincide.constraints.at_least import checked_at_least
from coincide.errors import GraphError
from tests.reference.constraint_graphs import constraint_graphs
from tests.reference.window_join_cases import is_connected

NEAR = Window(5)
MICS = ("m1", "m2", "m3")
SCENE = ConstraintGraph.graph([("camera", name, NEAR) for name in MICS])
PATH = ConstraintGraph.path("abc", NEAR)
CLIQUE = ConstraintGraph.clique("abc", NEAR)


def test_two_of_three_microphones_and_the_camera() -> None:
    heard = checked_at_least(AtLeast(2, of=list(MICS)), SCENE)
    assert (heard.required(SCENE.roles), heard.optional(SCENE.roles), heard.fewest(SCENE.roles)) == (
        ("camera",),
        MICS,
        3,
    )
    assert checked_at_least(2, CLIQUE) == AtLeast(2)


@given(data=st.data(), graph=constraint_graphs(fewest=3, most=5))
def test_whoever_is_absent_the_others_are_connected(data: st.DataObject, graph: ConstraintGraph) -> None:
    of = data.draw(st.lists(st.sampled_from(graph.roles), min_size=1, unique=True))
    count = data.draw(st.integers(0, len(of)))
    required = set(graph.roles) - set(of)
    try:
        checked_at_least(AtLeast(count, of), graph)
    except GraphError:
        assert (
            len(required) + count < 2
            or not all(is_connected(graph, required | set(some)) for size in (0, 1) for some in combinations(of, size))
            or not required
        )
    else:
        for size in range(count, len(of) + 1):
            assert all(is_connected(graph, required | set(some)) for some in combinations(of, size))


@pytest.mark.parametrize(
    ("graph", "given", "field", "says"),
    [
        (PATH, 2, "at_least", "in a path members left out hold others together"),
        (PATH, AtLeast(2, "abc"), "at_least", "in a path"),
        (CLIQUE, 1, "at_least", "from 2 to 3"),
        (CLIQUE, 4, "at_least", "from 2 to 3"),
        (CLIQUE, True, "at_least", "a whole number"),
        (CLIQUE, AtLeast(0, "bc"), "at_least.count", "from 1 to 2"),
        (CLIQUE, AtLeast(3, "bc"), "at_least.count", "from 1 to 2"),
        (CLIQUE, AtLeast(1.5, "bc"), "at_least.count", "a whole number"),  # type: ignore[arg-type]
        (CLIQUE, AtLeast(1, "bd"), "at_least.of", "some of the roles ['a', 'b', 'c']"),
        (CLIQUE, AtLeast(1, "bb"), "at_least.of", "each once"),
        (CLIQUE, AtLeast(1, ""), "at_least.of", "some of the roles"),
        (PATH, AtLeast(0, "b"), "at_least.of", "without, 'a' and ['c'] are apart"),
        (PATH, AtLeast(1, "bc"), "at_least.of", "'c' has none"),
    ],
)
def test_what_is_refused(graph: ConstraintGraph, given: int | AtLeast, field: str, says: str) -> None:
    with pytest.raises(GraphError) as refusal:
        checked_at_least(given, graph)
    assert refusal.value.field == field
    assert says in refusal.value.allowed
