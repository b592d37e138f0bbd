"""The tables of the alerting database; `migrations/` holds the steps that lead to them.

All times are microseconds since the epoch, UTC. `body` columns hold the Kafka record's JSON, unchanged but for
white space. `received_at_us`, by which retention counts, is the same after a rebuild: of a match, when ingest had its
last member in hand; of an episode, when it had the newest detection that changed it; of a dead letter and of an
episode's retraction and of evidence, Kafka's record time, when it entered its topic.

`sequence` columns of matches, evidence and revisions of episodes are one order, that of insertion, in which no number
comes back: where a reader of the live stream stands is one number.
"""

from typing import Any

from sqlalchemy import BigInteger, Boolean, Column, Double, Index, Integer, MetaData, Table, Text

# SQLite gives row numbers only to a column declared INTEGER, which is 64 bits wide there.
Sequence64 = BigInteger().with_variant(Integer(), "sqlite")

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

matches = Table(
    "matches",
    metadata,
    Column("sequence", Sequence64, primary_key=True),  # order of insertion; never reused
    Column("id", Text, nullable=False, unique=True),
    Column("query", Text, nullable=False),
    Column("query_version", BigInteger, nullable=False),
    Column("area", Text, nullable=False),
    Column("probability", Double, nullable=False),
    Column("earliest_us", BigInteger, nullable=False),
    Column("latest_us", BigInteger, nullable=False),
    Column("received_at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("ix_matches_query_sequence", "query", "sequence"),
    Index("ix_matches_area_sequence", "area", "sequence"),
    Index("ix_matches_received_at_us", "received_at_us"),
    sqlite_autoincrement=True,
)

match_blocks = Table(
    "match_blocks",
    metadata,
    Column("block", BigInteger, primary_key=True, autoincrement=False),  # see `store/match_blocks.py`
    Column("earliest_us", BigInteger, nullable=False),  # of all its matches
    Column("latest_us", BigInteger, nullable=False),
)

match_sensors = Table(
    "match_sensors",
    metadata,
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("sensor", Text, primary_key=True),  # of a member
    Column("sequence", BigInteger, primary_key=True),  # of the match, which is in the block
    sqlite_with_rowid=False,
)

supersessions = Table(
    "supersessions",
    metadata,
    Column("superseded", Text, primary_key=True),  # id of a match: stored, still to come, or never
    Column("superseded_by", Text, nullable=False),  # id of the stored match that enlarges it
    Column("received_at_us", BigInteger, nullable=False),  # that of the latter
    Index("ix_supersessions_superseded_by", "superseded_by"),
    Index("ix_supersessions_received_at_us", "received_at_us"),
    sqlite_with_rowid=False,
)

evidence = Table(
    "evidence",
    metadata,
    Column("id", Text, primary_key=True),  # of its match: stored, still to come, or no more
    Column("sequence", BigInteger, nullable=False, unique=True),
    Column("query", Text, nullable=False),
    Column("area", Text, nullable=False),
    Column("posterior", Double),  # NULL where it is not known
    Column("received_at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("ix_evidence_query_sequence", "query", "sequence"),
    Index("ix_evidence_posterior_sequence", "posterior", "sequence"),
    Index("ix_evidence_query_posterior_sequence", "query", "posterior", "sequence"),
    Index("ix_evidence_received_at_us", "received_at_us"),
)


def _members_table(name: str, *others: Column[Any]) -> Table:
    return Table(
        name,
        metadata,
        Column("id", Text, primary_key=True),  # of what has the detection among its members
        Column("sensor", Text, primary_key=True),
        Column("detection", Text, primary_key=True),
        *others,
        Index(f"ix_{name}_sensor_detection", "sensor", "detection"),
        sqlite_with_rowid=False,
    )


evidence_members = _members_table("evidence_members", Column("belongs", Double, nullable=False))
episode_members = _members_table("episode_members")

episodes = Table(
    "episodes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("sequence", BigInteger, nullable=False, unique=True),  # of its first revision: its place in a list
    Column("changed_sequence", BigInteger, nullable=False, unique=True),  # of the revision that counts
    Column("query", Text, nullable=False),
    Column("area", Text, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("rank", Integer, nullable=False),  # 0 open, 1 closed, 2 final, 3 retracted
    Column("start_us", BigInteger),  # NULL, as what follows, where a retraction does not say
    Column("end_us", BigInteger),
    Column("count", BigInteger),
    Column("best_probability", Double),
    Column("received_at_us", BigInteger, nullable=False),
    Index("ix_episodes_query_sequence", "query", "sequence"),
    Index("ix_episodes_area_sequence", "area", "sequence"),
    Index("ix_episodes_received_at_us", "received_at_us"),
)

episode_sureness = Table(
    "episode_sureness",
    metadata,
    Column("id", Text, primary_key=True),  # of an episode that stands, and of a match of which a posterior is known
    Column("query", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),  # of the episode: its place in a list
    Column("posterior", Double, nullable=False),  # the greatest
    Column("told_sequence", BigInteger, nullable=False),  # of what was stored when this was worked out
    Index("ix_episode_sureness_posterior_sequence", "posterior", "sequence"),
    Index("ix_episode_sureness_query_posterior_sequence", "query", "posterior", "sequence"),
    Index("ix_episode_sureness_told_sequence", "told_sequence"),
)

episode_revisions = Table(
    "episode_revisions",
    metadata,
    Column("sequence", Sequence64, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),  # of the episode
    Column("revision", BigInteger, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("received_at_us", BigInteger, nullable=False),
    Column("stored_at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("ix_episode_revisions_id_sequence", "id", "sequence"),
    Index("ix_episode_revisions_received_at_us", "received_at_us"),
)

dead_letters = Table(
    "dead_letters",
    metadata,
    Column("sequence", Sequence64, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("source", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("area", Text),
    Column("sensor", Text),
    Column("received_at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("ix_dead_letters_reason_sequence", "reason", "sequence"),
    Index("ix_dead_letters_received_at_us", "received_at_us"),
    sqlite_autoincrement=True,
)

alerts = Table(
    "alerts",
    metadata,
    Column("id", Text, primary_key=True),
    Column("sequence", BigInteger, nullable=False, unique=True),  # of its first transition: its place in a list
    Column("changed_sequence", BigInteger, nullable=False, unique=True),  # of its last change
    Column("kind", Text, nullable=False),  # episode, match or system
    Column("query", Text, nullable=False),  # "" where it is of none
    Column("area", Text, nullable=False),  # "" where it is of none
    Column("severity", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("withheld", Text),  # why nobody was told that it fires; NULL where somebody was
    Column("fired_at_us", BigInteger, nullable=False),
    Column("resolve_at_us", BigInteger),  # when time will resolve it; NULL where it will not
    Column("received_at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("ix_alerts_state_sequence", "state", "sequence"),
    Index("ix_alerts_kind_sequence", "kind", "sequence"),
    Index("ix_alerts_severity_sequence", "severity", "sequence"),
    Index("ix_alerts_query_sequence", "query", "sequence"),
    Index("ix_alerts_area_sequence", "area", "sequence"),
    Index("ix_alerts_query_fired_at_us", "query", "fired_at_us"),
    Index("ix_alerts_resolve_at_us", "resolve_at_us"),
    Index("ix_alerts_withheld", "withheld"),
    Index("ix_alerts_received_at_us", "received_at_us"),
)

alert_transitions = Table(
    "alert_transitions",
    metadata,
    Column("key", Text, primary_key=True),  # made of its content: the same after a rebuild
    Column("sequence", BigInteger, nullable=False, unique=True),
    Column("alert", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("received_at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),  # the alert as it was then
    Index("ix_alert_transitions_alert_sequence", "alert", "sequence"),
    Index("ix_alert_transitions_received_at_us", "received_at_us"),
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("receiver", Text, primary_key=True),
    Column("key", Text, primary_key=True),  # of the transition
    Column("sequence", BigInteger, nullable=False),  # of the transition; 0 where that is not known (yet)
    Column("state", Text, nullable=False),  # waiting, delivered or dead
    Column("since_us", BigInteger, nullable=False),  # waits since then, or was delivered or given up then
    Column("attempts", BigInteger, nullable=False),
    Column("reason", Text),
    Column("received_at_us", BigInteger, nullable=False),
    Column("alert", Text),  # NULL, as what follows, where an older release has told
    Column("change", Text),
    Column("revision", BigInteger),
    Index("ix_deliveries_alert_revision", "alert", "revision"),
    Index("ix_deliveries_receiver_state_sequence", "receiver", "state", "sequence"),
    Index("ix_deliveries_receiver_sequence", "receiver", "sequence"),
    Index("ix_deliveries_received_at_us", "received_at_us"),
)

alert_controls = Table(
    "alert_controls",
    metadata,
    Column("key", Text, primary_key=True),  # Kafka's key: "silence/...", "receiver/..." or "acknowledgement/..."
    Column("body", Text, nullable=False),
)


def _query_table(name: str, *, is_history: bool) -> Table:
    return Table(
        name,
        metadata,
        Column("id", Text, primary_key=True),
        Column("version", BigInteger, primary_key=is_history, nullable=False),
        Column("paused", Boolean, nullable=False),
        Column("removed", Boolean, nullable=False),
        Column("changed_at_us", BigInteger, nullable=False),
        Column("body", Text),  # the query's JSON; NULL when removed
    )


queries = _query_table("queries", is_history=False)
query_versions = _query_table("query_versions", is_history=True)

shard_status = Table(
    "shard_status",
    metadata,
    Column("key", Text, primary_key=True),  # Kafka's key, "shard-<n>" or "rebuild/<id>"
    Column("body", Text, nullable=False),
)

positions = Table(
    "positions",
    metadata,
    Column("topic", Text, primary_key=True),
    Column("partition", Integer, primary_key=True),
    Column("topic_id", Text, nullable=False),  # Kafka's own; differs once a topic was deleted and made anew
    Column("next_offset", BigInteger, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),  # of what only one process may do
    Column("holder", Text, nullable=False),  # a process, by a word that it has made up for this term
    Column("renewals", BigInteger, nullable=False),  # how many terms there have been before
)
