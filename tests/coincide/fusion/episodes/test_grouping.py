"""Grouping of matches into episodes: which are new, which are as they were, and which revision they have."""

from coincide.fusion.episodes.episode_records import EpisodeRecordMember, GroupKey, Part
from coincide.fusion.episodes.grouping import GroupChanges, regrouped
from coincide.fusion.episodes.live_episode import LiveEpisode
from coincide.queries import EpisodeRule

GROUP = GroupKey("q", "bay", 0, b"[]")
RULE = EpisodeRule(gap_s=5e-6)


def part(name: str, start_us: int, end_us: int, revision: int) -> Part:
    member = EpisodeRecordMember(start_us, "geo", name, "p")
    return Part(start_us, end_us, start_us, end_us, start_us, 1, 0.5, revision, 1, 0, (member,))


def formed(known: list[LiveEpisode], changes: GroupChanges, settled_before_us: int = -1) -> list[LiveEpisode]:
    kept, new = regrouped(GROUP, known, changes, RULE, settled_before_us)
    return sorted([*kept, *new], key=lambda episode: episode.whole.start_us)


def brief(episodes: list[LiveEpisode]) -> list[tuple[int, int, int, int]]:
    return [(e.whole.start_us, e.whole.end_us, e.whole.count, e.revision) for e in episodes]


def bridged() -> tuple[list[LiveEpisode], LiveEpisode]:
    changes = GroupChanges()
    for name, start_us, end_us in [("a", 0, 10), ("bridge", 12, 20), ("b", 22, 30), ("far", 100, 110)]:
        changes.add(name, part(name, start_us, end_us, revision=1))
    episodes = formed([], changes)
    assert brief(episodes) == [(0, 30, 3, 1), (100, 110, 1, 1)]
    return episodes, episodes[1]


def test_what_goes_splits_an_episode_and_is_a_revision_of_both_parts() -> None:
    known, far = bridged()
    after = formed(known, GroupChanges(removed={"bridge": 9}))
    assert brief(after) == [(0, 10, 1, 9), (22, 30, 1, 9), (100, 110, 1, 1)]
    assert after[2] is far


def test_what_comes_and_goes_in_one_batch_is_a_revision_too_as_it_is_in_two() -> None:
    known, _ = bridged()
    at_once = GroupChanges()
    at_once.add("brief", part("brief", 33, 34, revision=8))
    at_once.remove("brief", revision=9)
    one_by_one: list[LiveEpisode] = []
    for changes in (GroupChanges(added={"brief": part("brief", 33, 34, 8)}), GroupChanges(removed={"brief": 9})):
        one_by_one = formed(one_by_one or known, changes)
    assert brief(formed(known, at_once)) == brief(one_by_one) == [(0, 30, 3, 9), (100, 110, 1, 1)]


def test_what_cannot_be_removed_any_more_is_kept_as_one() -> None:
    known, _ = bridged()
    [first, _] = formed(known, GroupChanges(added={"late": part("late", 31, 32, 2)}), settled_before_us=13)
    assert [(one.start_us, one.end_us, one.count) for one in first.settled] == [(0, 20, 2)]
    assert sorted(first.loose) == ["b", "late"]


def test_a_match_that_is_not_known_is_not_missed() -> None:
    known, _ = bridged()
    assert formed(known, GroupChanges(removed={"never seen": 9})) == known
