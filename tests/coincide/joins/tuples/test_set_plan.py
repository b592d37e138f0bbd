"""How the search for maximal sets goes from a last event to all members, and how long events are kept for it."""

from coincide import AtLeast, ConstraintGraph, Stream, Window
from coincide.joins.retention import set_reaches_us
from coincide.joins.tuples.set_plan import SetPlan

MICS = ("m1", "m2", "m3")
SCENE = ConstraintGraph.graph([("camera", name, Window(lo_s=0, hi_s=3)) for name in MICS])
TWO_MICS = AtLeast(2, of=MICS)


def test_from_a_microphone_to_the_camera_and_on_to_the_others() -> None:
    plan = SetPlan.of(SCENE, TWO_MICS, [(0,), (1,), (2,), (3,)])
    assert (plan.needed, plan.fewest) == ((1, 0, 0, 0), 3)
    assert plan.completing(1) == [(0, 0)]
    assert plan.adding(1) == {1: [1, 2, 3]}  # whoever is in the role of the last event may have been a member before
    assert plan.reaching(0) == [(0, 1), (0, 2), (0, 3)]
    assert plan.free[1].tolist() == [False, False, True, True]


def test_microphones_that_can_be_swapped_are_one_kind() -> None:
    plan = SetPlan.of(SCENE, TWO_MICS, [(0,), (1, 2, 3)])
    assert (plan.completing(1), plan.adding(1)) == ([(0, 0)], {1: [1]})
    assert plan.free.tolist() == [[False, False], [False, True]]


def test_required_roles_are_completed_along_edges() -> None:
    path = ConstraintGraph.path("abcd", Window(1))
    plan = SetPlan.of(path, AtLeast(0, "d"), [(0,), (1,), (2,), (3,)])
    assert plan.completing(3) == [(0, 2), (1, 1), (2, 0)]
    assert plan.completing(1) == [(0, 0), (0, 2)]
    assert plan.adding(1) == {2: [3]}
    shots = ConstraintGraph.graph([("camera", "one", Window(1)), ("camera", "other", Window(1))])
    plan = SetPlan.of(shots, AtLeast(0, ["camera"]), [(0,), (1, 2)])
    assert plan.completing(1) == []  # such a graph is refused: nothing ties the two without the camera


def test_without_required_roles_all_others_are_beside_the_last_event() -> None:
    plan = SetPlan.of(ConstraintGraph.clique("abc", Window(1)), AtLeast(2), [(0,), (1,), (2,)])
    assert (plan.completing(0), plan.adding(0)) == ([], {0: [1, 2]})


def test_events_are_kept_as_long_as_the_search_can_reach_them() -> None:
    """A microphone may be 10 s late, and the flash 3 s before that; another one may have heard it with the flash."""
    streams = {name: Stream(name, max_delay_s=10, longest_template_s=0) for name in SCENE.roles}
    plan = SetPlan.of(SCENE, TWO_MICS, [(0,), (1,), (2,), (3,)])
    assert set_reaches_us(SCENE, streams, plan).tolist() == [-13_000_002, -13_000_004, -13_000_004, -13_000_004]
