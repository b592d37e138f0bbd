"""The oracle is checked too, by numbers worked out by hand; test_counted_cells checks its probabilities."""

from fractions import Fraction

import pytest

from tests.reference.oracle import Detection, Expected, Key, QueryVersion, expected_matches
from tests.reference.pair_probability import Template, in_us, pair_probability

EXACT = Template((0.0, 0.0), (1.0,))
KAMIOKANDE = Template((-60.0, 60.0), (1.0,))
IMB = Template((-0.05, 0.05), (1.0,))
BAKSAN = Template((-54.0, 2.0), (1.0,))
ROLES = (("a", "alpha"), ("b", "beta"))


def probability(u: Template, v: Template, offset_us: int, lo_s: float, hi_s: float) -> Fraction:
    return Fraction(pair_probability(u.exact, v.exact, offset_us, in_us(lo_s), in_us(hi_s)))


def test_the_supernova_by_hand() -> None:
    # IMB 07:35:41.374, Baksan 07:36:11.818: Baksan's true time is uniform over 56 s, 20 s of which agree.
    assert probability(IMB, BAKSAN, 30_444_000, -10, 10) == Fraction(20, 56)
    assert probability(KAMIOKANDE, IMB, 6_374_000, -10, 10) == Fraction(20, 120)


def test_two_buckets_by_hand() -> None:
    # u uniform on [0, 2], v on [0, 1] and [1, 3] with mass 1/4 and 3/4, P(v >= u) = 1/4 * 1/4 + 3/4 * 7/8.
    u, v = Template((0, 2), (1,)), Template((0, 1, 3), (0.25, 0.75))
    assert probability(u, v, 0, 0, 10) == Fraction(1, 16) + Fraction(3, 4) * Fraction(7, 8)


def test_closed_window_for_exact_times_in_decimals() -> None:
    assert probability(EXACT, EXACT, 300_000, 0.1, 0.3) == 1
    assert probability(EXACT, EXACT, 300_001, 0.1, 0.3) == 0
    assert probability(EXACT, EXACT, 100_000, 0.1, 0.3) == 1


def test_an_atom_and_a_gap() -> None:
    half_exact = Template((0.0, 0.0, 1.0, 2.0), (0.5, 0.0, 0.5))
    assert probability(half_exact, EXACT, 0, -0.5, 0.5) == Fraction(1, 2)
    assert probability(half_exact, EXACT, 0, -1.5, 0.5) == Fraction(3, 4)


def detection(stream: str, at_s: float, sensor: str = "", phase: int = 0, area: str = "bay") -> Detection:
    return Detection(area, sensor or stream, f"{stream}@{at_s}", stream, round(at_s * 1e6), EXACT, phase)


def ids(matches: dict[Key, Expected]) -> list[tuple[str, ...]]:
    return sorted(tuple(identity for _, _, identity in members) for _, members in matches)


def test_areas_never_meet() -> None:
    query = QueryVersion("q", 1, ROLES, -1, 1, 0.5)
    assert expected_matches([detection("alpha", 0), detection("beta", 0, area="hill")], [query]) == {}
    assert len(expected_matches([detection("alpha", 0), detection("beta", 0)], [query])) == 1


@pytest.mark.parametrize(("sensors", "count"), [("different", 1), ("same", 1), ("any", 2)])
def test_sensors(sensors: str, count: int) -> None:
    rows = [detection("alpha", 0, "x"), detection("beta", 0, "x"), detection("beta", 0.5, "y")]
    assert len(expected_matches(rows, [QueryVersion("q", 1, ROLES, -1, 1, 0.5, sensors)])) == count  # type: ignore[arg-type]


def test_self_join_unordered_when_the_window_is_symmetric() -> None:
    rows = [detection("alpha", 1, "y"), detection("alpha", 0, "x"), detection("alpha", 5, "z")]
    both = (("first", "alpha"), ("second", "alpha"))
    assert ids(expected_matches(rows, [QueryVersion("q", 1, both, -2, 2, 0.5)])) == [("alpha@0", "alpha@1")]
    ordered = ids(expected_matches(rows, [QueryVersion("q", 1, both, -4, 0, 0.5)]))
    assert ordered == [("alpha@1", "alpha@0"), ("alpha@5", "alpha@1")]


def test_versions_pause_and_activation() -> None:
    rows = [detection(stream, at_s, phase=phase) for phase, at_s in enumerate([0, 10, 20, 30]) for stream in "ab"]

    def version(number: int, since: int, hi_s: float = 10, *, paused: bool = False) -> QueryVersion:
        return QueryVersion("q", number, (("a", "a"), ("b", "b")), 0, hi_s, 0.5, paused=paused, since=since)

    matches = expected_matches(rows, [version(1, 1), version(2, 2, paused=True), version(3, 3)])
    # phase 0 came before creation; a@10,b@20 was completed during the pause; a@20,b@30 after it.
    assert ids(matches) == [("a@10", "b@10"), ("a@20", "b@30"), ("a@30", "b@30")]
    assert sorted(match.version for match in matches.values()) == [1, 3, 3]

    wider = expected_matches(rows, [version(1, 0), version(2, 2, hi_s=20)])
    assert ("a@10", "b@20") not in ids(wider), "a new window starts afresh: nothing from before it is joined"
    assert ("a@20", "b@30") in ids(wider)
