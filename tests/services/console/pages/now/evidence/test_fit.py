"""Each probability of a match, beside what its query asks for and what its sensors could attain."""

from typing import Any

import msgspec

from services.console.pages.now.change import TimelineChange
from services.console.pages.now.evidence.fit import Judged, judged_of
from services.console.pages.now.evidence.of_episode import said_of_readings
from services.console.pages.time_words import TimeWords
from services.console.rest.documents import (
    EdgeAnswer,
    EpisodeAnswer,
    JointAnswer,
    MatchAnswer,
    SupersededAnswer,
    WindowAnswer,
)
from services.console.rest.evidence_answers import EvidenceAnswer
from services.console.rest.live_feed import LiveEvent
from tests.services.console.pages.now.test_moments import episode, match


def with_roles(of: MatchAnswer, **others: Any) -> MatchAnswer:
    members = [msgspec.structs.replace(each, role=role) for each, role in zip(of.members, "xy", strict=True)]
    return msgspec.structs.replace(of, members=members, **others)


def test_a_pair_has_one_probability() -> None:
    query = {"within": [{"between": ["y", "x"], "threshold": 0.3}]}
    explanation = {"edges": [{"between": ["x", "y"], "greatest": 0.9}]}
    assert judged_of(with_roles(match()), query, explanation) == [Judged("a and b", 0.5, 0.3, 0.9)]


def test_more_roles_have_their_edges_and_the_joint_probability() -> None:
    of = with_roles(match(), edges=[EdgeAnswer(["x", "y"], 0.7)], joint=JointAnswer(0.5, 0.5, 0.5, certain=True))
    query = {"within": [{"window_s": 2}], "joint_threshold": 0.4}
    assert judged_of(of, query, {"joint": {"at_most": 0.8}}) == [
        Judged("a and b", 0.7, None, None),
        Judged("all at once", 0.5, 0.4, 0.8),
    ]


def test_a_query_that_is_no_more_leaves_the_probability() -> None:
    assert judged_of(with_roles(match()), {}, {}) == [Judged("a and b", 0.5, None, None)]


def test_of_many_events_only_what_stands_is_drawn() -> None:
    gone = EpisodeAnswer(id="e1", query="q", area="bay", retracted=True)
    events = [
        LiveEvent("match", match("m1")),
        LiveEvent("match", match("m2")),
        LiveEvent("evidence", EvidenceAnswer(id="m1", posterior=0.5)),
        LiveEvent("evidence", EvidenceAnswer(id="m0", posterior=0.75)),
        LiveEvent("superseded", SupersededAnswer("m1", "m2")),
        LiveEvent("episode", episode("e1")),
        LiveEvent("episode", episode("e2", count=1)),
        LiveEvent("episode", episode("e2", count=2)),
        LiveEvent("episode_retracted", gone),
    ]
    change = TimelineChange.of_events(events, left_out=3)
    assert [each.id for each in change.matches] == ["m2"]
    assert [(each.id, each.count) for each in change.episodes] == [("e2", 2)]
    drawn = change.drawn()
    assert drawn["posteriors"] == [["m0", 0.75]]
    assert (drawn["goneMatches"], drawn["goneEpisodes"], drawn["leftOut"]) == (["m1"], ["e1"], 3)
    assert drawn["episodes"][0]["count"] == 2
    assert "detections" not in drawn


def test_an_episode_of_readings_tells_what_was_read_and_in_which_window() -> None:
    spell = EpisodeAnswer(id="e1", query="q", area="bay", value=101.5)
    assert said_of_readings(spell, TimeWords()) == "It read 101.5 at its start."
    of_join = msgspec.structs.replace(spell, value={"a": True, "b": "shut"}, window=WindowAnswer(0, 60_000_000))
    assert said_of_readings(of_join, TimeWords()) == (
        "It read a: true, b: shut at its start. "
        "The window is 1970-01-01 00:00:00.000000 UTC to 1970-01-01 00:01:00.000000 UTC."
    )
