"""MatchRecorder: the record of each match, given the rows of its members."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from msgspec import UNSET

from coincide.fusion.control.control import ActiveQuery
from coincide.fusion.control.limits import Limits
from coincide.fusion.matching.advisory_work import AdvisoryBudget
from coincide.fusion.matching.chance_rates import ChanceJudge, RivalVolumes
from coincide.fusion.matching.match_members import MatchMembers
from coincide.fusion.matching.match_verdicts import MatchTuples, Verdicts
from coincide.fusion.matching.pair_verdicts import PairJudge
from coincide.fusion.matching.search_work import RECORDS_AT_ONCE
from coincide.fusion.matching.source_judge import SourceJudge
from coincide.fusion.matching.tuple_verdicts import TupleJudge
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventTable
from coincide.fusion.rows.row_codes import RowCodes
from coincide.joins.lateness import BEFORE_ALL_US
from coincide.joins.search.work import blocks
from coincide.joins.tuples.set_order import ABSENT
from coincide.wire.results.match_record import MatchRecord, match_id


@dataclass(frozen=True, eq=False)
class MatchRecorder:
    """Judges tuples of rows of a table, and makes their records."""

    codes: RowCodes
    table: EventTable
    limits: Limits
    rivals: RivalVolumes = field(default_factory=RivalVolumes)
    placing: AdvisoryBudget | None = None  # how many matches are told their places; None: as many as live

    def matches(
        self, active: ActiveQuery, tuples: MatchTuples, accepted: AcceptedBatch, check: Callable[[], None]
    ) -> Iterator[tuple[MatchRecord, int]]:
        """Yield the match that each tuple makes, and the sequence number of its newest member.

        `check` is called between blocks of work that take a second at most.
        """
        verdicts = self._verdicts(active, tuples, accepted, check)
        sources = SourceJudge.of(active.query, self.codes, self.table.columns)
        places = None if sources is None else sources.places(tuples.members, accepted, check, self.placing)
        for at in blocks(len(tuples.members), RECORDS_AT_ONCE, check):
            found = self._records(active, tuples.take(at), verdicts.take(at))
            if places is None:
                yield from found
            else:
                yield from ((match.placed(*place), seq) for (match, seq), place in zip(found, places[at], strict=True))

    def _verdicts(
        self, active: ActiveQuery, tuples: MatchTuples, accepted: AcceptedBatch, check: Callable[[], None]
    ) -> Verdicts:
        rows, query, templates = self.table.columns, active.query, self.codes.templates
        streams = tuple(self.codes.streams.codes[stream] for stream in query.streams)
        budget = AdvisoryBudget(self.limits.max_advisory_work, self.limits.max_advisory_work_of_frame)
        chance = ChanceJudge(query, streams, rows, templates, self.codes.places, accepted, self.rivals, budget, check)
        judge = TupleJudge if len(query.roles) > 2 else PairJudge
        judged = judge(query, rows, templates, self.codes.places, accepted, budget, chance, check)
        return judged.verdicts(tuples.members)

    def _records(
        self, active: ActiveQuery, tuples: MatchTuples, verdicts: Verdicts
    ) -> Iterator[tuple[MatchRecord, int]]:
        rows, query = self.table.columns, active.query
        is_pair = len(query.roles) == 2
        of_matches = MatchMembers(query, rows, self.codes.areas, self.codes.templates, self.codes.places)
        newest = tuples.members.max(axis=1)
        received_us = np.where(tuples.members == ABSENT, BEFORE_ALL_US, rows.received_at_us[tuples.members]).max(axis=1)
        columns = zip(
            of_matches.members(tuples.members),
            [()] * len(newest) if tuples.supersedes is None else of_matches.members(tuples.supersedes),
            *of_matches.spans_us(tuples.members),
            received_us.tolist(),
            rows.area[newest].tolist(),
            rows.seq[newest].tolist(),
            strict=True,
        )
        for nth, (members, smaller, earliest_us, latest_us, received_at_us, area, newest_seq) in enumerate(columns):
            match = MatchRecord(
                id=match_id(query.id, members),
                query=query.id,
                query_version=active.version,
                area=self.codes.areas.area_of(area).name,
                probability=verdicts.probability[nth],
                earliest_us=earliest_us,
                latest_us=latest_us,
                received_at_us=received_at_us,
                occurred=verdicts.occurred[nth],
                chance_rate_hz=verdicts.chance_rate_hz[nth],
                chance_rate_error_hz=verdicts.chance_rate_error_hz[nth],
                unknown=verdicts.unknown[nth],
                members=members,
                joint=UNSET if is_pair else verdicts.joint[nth],
                edges=UNSET if is_pair else verdicts.edges[nth],
                supersedes=UNSET if is_pair else [match_id(query.id, smaller)] if smaller else [],
            )
            yield match, newest_seq
