"""Of the words in a picture of roles none covers another."""

from collections.abc import Callable
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.queries.joins.join_checks import MOST_ROLES
from services.console.drawing.role_graph import LONGEST_STREAM, WIDE, DrawnEdge, GraphLayout, WordPlace, layout_of

WORDS = "within 2 s, at least 35 %"
Pairs = list[tuple[str, str]]
SHAPES: dict[str, Callable[[list[str]], Pairs]] = {
    "path": lambda roles: list(pairwise(roles)),
    "star": lambda roles: [(roles[0], each) for each in roles[1:]],
    "cycle": lambda roles: [*pairwise(roles), (roles[-1], roles[0])],
    "clique": lambda roles: list(combinations(roles, 2)),
}


def roles_named(count: int, stream: str = "noise") -> list[tuple[str, str]]:
    return [(f"r{nth}", stream) for nth in range(count)]


def in_a_clique(count: int) -> list[DrawnEdge]:
    return [DrawnEdge(pair, WORDS) for pair in SHAPES["clique"]([role for role, _ in roles_named(count)])]


def boxes(layout: GraphLayout) -> list[WordPlace]:
    return [*layout.circles, *layout.streams, *layout.edges]


@given(
    shape=st.sampled_from(sorted(SHAPES)),
    streams=st.lists(st.integers(1, LONGEST_STREAM + 9), min_size=2, max_size=MOST_ROLES),
    kinds=st.integers(1, 20),
    letters=st.integers(1, 60),
)
def test_no_words_cover_others_or_leave_the_picture(shape: str, streams: list[int], kinds: int, letters: int) -> None:
    roles = [(f"role_{nth}", f"{nth % 3}" * wide) for nth, wide in enumerate(streams)]
    pairs = SHAPES[shape]([role for role, _ in roles])
    edges = [DrawnEdge(pair, f"{nth % kinds:02}".ljust(letters, "w")) for nth, pair in enumerate(pairs)]
    layout = layout_of(roles, edges)
    assert not [two for two in combinations(boxes(layout), 2) if two[0].overlaps(two[1])]
    assert all(each.x - each.wide / 2 >= 0 and each.x + each.wide / 2 <= WIDE for each in boxes(layout))
    assert all(each.tall <= each.y <= layout.tall for each in boxes(layout))
    shown = {each.words for each in boxes(layout)}
    for words in {stream for _, stream in roles} | {each.words for each in edges}:
        assert words[:LONGEST_STREAM] in shown or words in shown or any(words in line for line in layout.below)


@pytest.mark.parametrize(("shape", "count"), [("clique", 2), ("clique", 3), ("path", 4), ("star", 5)])
def test_words_of_few_roles_stand_in_the_picture(shape: str, count: int) -> None:
    roles = roles_named(count)
    edges = [DrawnEdge(pair, WORDS) for pair in SHAPES[shape]([role for role, _ in roles])]
    layout = layout_of(roles, edges)
    assert [each.words for each in layout.streams] == ["noise"] * count
    assert [each.words for each in layout.edges] == [WORDS] * len(edges)
    assert layout.below == []


@pytest.mark.parametrize(("shape", "count"), [("path", 6), ("cycle", 6), ("clique", 6), ("path", 16), ("star", 16)])
def test_different_words_of_many_roles_are_numbers_on_the_lines(shape: str, count: int) -> None:
    roles = roles_named(count)
    pairs = SHAPES[shape]([role for role, _ in roles])
    edges = [DrawnEdge(pair, f"within {nth} s, at least 35 %, and so on") for nth, pair in enumerate(pairs, 1)]
    layout = layout_of(roles, edges)
    assert [each.words for each in layout.edges] == [f"{nth}" for nth in range(1, len(edges) + 1)]
    assert layout.below == [f"{nth}: {each.words}" for nth, each in enumerate(edges, 1)]


def test_what_is_said_of_each_line_is_said_once() -> None:
    layout = layout_of(roles_named(MOST_ROLES), in_a_clique(MOST_ROLES))
    assert layout.edges == ()
    assert layout.below[-1] == f"each line: {WORDS}"


def test_of_two_roles_below_each_other_the_upper_ones_stream_is_above_it() -> None:
    layout = layout_of(roles_named(3), [DrawnEdge(("r1", "r2"), WORDS)])
    [words] = layout.edges
    above, below = layout.streams[1], layout.streams[2]
    assert above.x == pytest.approx(below.x)
    assert above.y < words.y < below.y
