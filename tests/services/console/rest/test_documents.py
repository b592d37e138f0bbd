"""The console reads what the services answer: each field that it reads is one of the declared record."""

import msgspec
import pytest

from coincide.wire.results.dead_letter import DeadLetter
from coincide.wire.results.episode_record import EpisodeMember, QueriedWindow
from coincide.wire.results.match_record import (
    ClockRecord,
    EdgeRecord,
    JointRecord,
    MatchMember,
    MatchRecord,
    OccurrenceRecord,
)
from services.alerting.api.result_models import Episode, Match, Transition
from services.alerting.records.alert import Acknowledgement, Alert
from services.alerting.store.episode_evidence import EpisodeEvidence
from services.console.rest import documents

READ = [
    (documents.MatchAnswer, Match),
    (documents.SupersededAnswer, Match),
    (documents.MemberAnswer, MatchMember),
    (documents.OccurredAnswer, OccurrenceRecord),
    (documents.ClockAnswer, ClockRecord),
    (documents.EdgeAnswer, EdgeRecord),
    (documents.JointAnswer, JointRecord),
    (documents.EpisodeAnswer, Episode),
    (documents.EpisodeEvidenceAnswer, EpisodeEvidence),
    (documents.WindowAnswer, QueriedWindow),
    (documents.AlertAnswer, Alert),
    (documents.AcknowledgedAnswer, Acknowledgement),
    (documents.TransitionAnswer, Transition),
    (documents.DeadLetterAnswer, DeadLetter),
]


def names(of: type[msgspec.Struct]) -> set[str]:
    return {each.encode_name for each in msgspec.structs.fields(of)}


@pytest.mark.parametrize(("answer", "record"), READ, ids=lambda each: each.__name__)
def test_what_is_read_of_an_answer_is_declared(answer: type[msgspec.Struct], record: type[msgspec.Struct]) -> None:
    assert names(answer) <= names(record)


def test_all_that_an_episode_says_is_read() -> None:
    bookkeeping = {"v", "query_version", "revision", "replaced_by", "received_at_us", "members_truncated"}
    assert names(Episode) - names(documents.EpisodeAnswer) == bookkeeping
    assert names(EpisodeMember) <= names(documents.MemberAnswer)
    assert names(MatchRecord) - names(documents.MatchAnswer) == {"v", "supersedes"}


@pytest.mark.parametrize(
    ("way", "told_by"),
    [
        ("webhook", "webhook https://example.org/"),
        ("alertmanager", "Alertmanager https://example.org/"),
        ("people", "people, through Apprise"),
        ("pigeon", "a way that this console does not know"),
    ],
)
def test_a_receiver_says_how_it_is_told(way: str, told_by: str) -> None:
    fields = {"urls": ["mailto://***"]} if way == "people" else {"url": "https://example.org/"}
    receiver = msgspec.convert({"id": "ops", "version": 1, "waiting": 0, way: fields}, documents.ReceiverAnswer)
    assert receiver.told_by == told_by
    assert receiver.way == ("" if way == "pigeon" else way)
