"""The evidence of episodes: that of the matches whose members an episode has.

An episode lists its detections, and evidence lists those of a match. It is an episode's if the episode lists all of
them, and both are of one query, area and time. That of a match that was superseded does not count.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta
from sqlalchemy import Connection, delete, func, select

from coincide.wire.fields import Probability, or_none
from coincide.wire.results.episode_record import EpisodeRecord
from coincide.wire.results.evidence_record import EvidenceRecord, MemberBelongs
from coincide.wire.results.match_record import MatchId
from services.alerting.store.dialect import insert_tuples
from services.alerting.store.evidence_rows import IDS_A_STATEMENT, Sureness, read_sureness
from services.alerting.store.tables import episode_members, episodes, evidence, evidence_members, matches, supersessions


class EpisodeEvidence(msgspec.Struct, frozen=True):
    """How probable it is that the matches of an episode are of one event, as far as that has been told."""

    match: Annotated[
        MatchId, Meta(description="The match of the greatest posterior; all that follows but `members` is its.")
    ]
    posterior: Annotated[Probability, Meta(description="How probable it is that its members are of one event.")]
    posterior_least: Annotated[Probability, Meta(description="It is certainly not less.")]
    posterior_greatest: Annotated[Probability, Meta(description="It is certainly not more.")]
    members: Annotated[
        list[MemberBelongs],
        Meta(
            description="The members of the episode's matches, and of each the greatest posterior that it is of one "
            "event with another member of a match; the surest first."
        ),
    ]


class _Told(NamedTuple):
    """What was told of a match: its posterior, when, and of its members how probably they belong."""

    posterior: float
    received_at_us: int
    belongs: dict[tuple[str, str], float]


class JudgedEpisode(NamedTuple):
    """What is known of an episode: of its surest match, of each member, and which posteriors were told when."""

    match: str
    surest: Sureness
    belongs: dict[tuple[str, str], float]
    told: list[tuple[int, float]]

    def sure_at_us(self, posterior: float) -> int | None:
        """Return when a match was first told to be as sure as that; None where none was."""
        return min((at_us for at_us, told in self.told if told >= posterior), default=None)

    def body(self) -> str:
        """Return the JSON of it."""
        members = [MemberBelongs(*member, belongs) for member, belongs in self.belongs.items()]
        members.sort(key=lambda member: (-member.belongs, member.sensor, member.id))
        surest = self.surest
        shown = EpisodeEvidence(self.match, surest.posterior, surest.least, surest.greatest, members)
        return msgspec.json.encode(shown).decode()


def link_evidence(connection: Connection, records: Iterable[EvidenceRecord]) -> None:
    """Keep which detections evidence is about."""
    rows = [(each.id, member.sensor, member.id, member.belongs) for each in records for member in each.members]
    insert_tuples(connection, evidence_members, rows)


def link_episodes(connection: Connection, records: Iterable[EpisodeRecord]) -> None:
    """Keep which detections episodes list, of each its last record; those that it listed before are forgotten."""
    last = {each.id: each for each in records}
    ids = list(last)
    for first in range(0, len(ids), IDS_A_STATEMENT):
        some = episode_members.c.id.in_(ids[first : first + IDS_A_STATEMENT])
        connection.execute(delete(episode_members).where(some))
    rows = [(each.id, member.sensor, member.id) for each in last.values() for member in or_none(each.members) or ()]
    insert_tuples(connection, episode_members, rows)


def episodes_with(connection: Connection, ids: Collection[str]) -> set[str]:
    """Return the episodes that list some detection of the evidence of these matches, of its query and area."""
    of_episode, of_evidence, e, episode = episode_members.c, evidence_members.c, evidence.c, episodes.c
    is_same = (of_episode.sensor == of_evidence.sensor) & (of_episode.detection == of_evidence.detection)
    joined = evidence_members.join(episode_members, is_same).join(evidence, e.id == of_evidence.id)
    joined = joined.join(
        episodes, (episode.id == of_episode.id) & (episode.query == e.query) & (episode.area == e.area)
    )
    found, id_list = set[str](), list(ids)
    for first in range(0, len(id_list), IDS_A_STATEMENT):
        some = of_evidence.id.in_(id_list[first : first + IDS_A_STATEMENT])
        found |= set(connection.execute(select(of_episode.id).select_from(joined).where(some).distinct()).scalars())
    return found


def read_judged(connection: Connection, ids: Collection[str]) -> dict[str, JudgedEpisode]:
    """Return what is known of those of the episodes `ids` of which anything is."""
    told: dict[str, dict[str, _Told]] = {}
    id_list = list(ids)
    for first in range(0, len(id_list), IDS_A_STATEMENT):
        told |= _told(connection, id_list[first : first + IDS_A_STATEMENT])
    surest = {id_: max(of, key=lambda match: (of[match].posterior, match)) for id_, of in told.items()}
    sureness = read_sureness(connection, set(surest.values()))
    return {id_: _judged(match, sureness[match], told[id_]) for id_, match in surest.items()}


def _told(connection: Connection, ids: list[str]) -> dict[str, dict[str, _Told]]:
    """Return, by episode and match, what was told of matches whose members the episode has, all of them."""
    of_episode, of_evidence, e, m, episode = episode_members.c, evidence_members.c, evidence.c, matches.c, episodes.c
    by, of_match = supersessions.c, evidence_members.alias()
    size = select(func.count()).where(of_match.c.id == e.id).scalar_subquery()
    is_same = (of_episode.sensor == of_evidence.sensor) & (of_episode.detection == of_evidence.detection)
    joined = episode_members.join(evidence_members, is_same).join(evidence, e.id == of_evidence.id)
    joined = joined.join(episodes, episode.id == of_episode.id).join(matches, m.id == e.id)
    joined = joined.outerjoin(supersessions, by.superseded == e.id)
    member = of_evidence.sensor, of_evidence.detection, of_evidence.belongs
    columns = of_episode.id, e.id.label("match"), e.posterior, e.received_at_us, size.label("size"), *member
    is_its = episode.query == e.query, episode.area == e.area, by.superseded.is_(None)
    is_then = m.latest_us >= episode.start_us, m.earliest_us <= episode.end_us
    statement = select(*columns).select_from(joined).where(of_episode.id.in_(ids), *is_its, *is_then)
    found: dict[str, dict[str, _Told]] = defaultdict(dict)
    sizes: dict[str, int] = {}
    for row in connection.execute(statement):
        of = found[row.id].setdefault(row.match, _Told(row.posterior, row.received_at_us, {}))
        of.belongs[row.sensor, row.detection] = row.belongs
        sizes[row.match] = row.size
    whole = {
        id_: {match: of for match, of in each.items() if len(of.belongs) == sizes[match]} for id_, each in found.items()
    }
    return {id_: each for id_, each in whole.items() if each}


def _judged(match: str, surest: Sureness, told: dict[str, _Told]) -> JudgedEpisode:
    belongs: dict[tuple[str, str], float] = {}
    for each in told.values():
        for member, posterior in each.belongs.items():
            belongs[member] = max(posterior, belongs.get(member, 0.0))
    return JudgedEpisode(match, surest, belongs, [(each.received_at_us, each.posterior) for each in told.values()])


def read_bodies(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    """Return the JSON of what is known of those of the episodes `ids` of which anything is."""
    return {id_: judged.body() for id_, judged in read_judged(connection, ids).items()}
