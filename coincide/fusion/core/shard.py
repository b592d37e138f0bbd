"""ShardState: everything that the fusion core remembers of one shard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from coincide import Stream
from coincide.fusion.control.control import Control, QueryInForce
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.core.area_rates import AreaRates
from coincide.fusion.core.host import UNKNOWING, Host
from coincide.fusion.episodes.shard_episodes import Episodes
from coincide.fusion.health.health_table import HealthTable
from coincide.fusion.health.member_errors import MemberErrors
from coincide.fusion.matching.chance_rates import RivalVolumes
from coincide.fusion.matching.finder import Finder
from coincide.fusion.matching.search_work import NO_CLOCK, ClockS, PushTime
from coincide.fusion.readings.sliding_queries import SlidingQueries
from coincide.fusion.readings.source import Choose
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.event_table import EventTable, VerifiedTemplates
from coincide.fusion.rows.stamps import StampTables
from coincide.fusion.saving.area_slots import AreaSlots
from coincide.fusion.spells.shard_spells import ShardSpells
from coincide.fusion.spells.spell_slots import SpellSlots
from coincide.wire.status_record import Totals


@dataclass
class ShardState:
    """State of one shard."""

    streams: KnownStreams
    limits: Limits
    shard: int
    areas: Areas
    templates: VerifiedTemplates
    stamps: StampTables  # not saved
    table: EventTable
    finder: Finder
    sliding: SlidingQueries
    spells: ShardSpells
    control: Control
    episodes: Episodes
    area_slots: AreaSlots
    buffered: list[int]  # rows kept, by stream code: those that the last sweep left and those accepted since
    health: HealthTable  # saved apart, see `FusionCore.recall`
    member_errors: MemberErrors
    rivals: RivalVolumes = field(default_factory=RivalVolumes)  # not saved
    totals: Totals = field(default_factory=Totals)
    next_seq: int = 0
    next_slot: int = 0
    first_seq: int = 0  # rows before it have been evicted by the cap
    live_slots: dict[int, float] = field(default_factory=dict)  # bytes a row of those that a row is in since a sweep
    swept_rows: int = 0  # how many the last sweep left
    swept_areas: int = 0
    rates: AreaRates = field(default_factory=AreaRates)  # not saved
    no_numbers: set[tuple[int, str]] = field(default_factory=set)  # detections of this batch and attributes, not saved
    host: Host = UNKNOWING  # not saved
    declared_anew: bool = False  # whether this batch changed a stream that rows may be of, not saved
    clock_s: ClockS = NO_CLOCK  # guards searches; no answer that is given depends on it
    time: PushTime = field(init=False)  # of the push at work

    def begin_push(self, host: Host) -> None:
        """Begin a push, and the time that it has."""
        self.host, self.time = host, PushTime(self.clock_s, self.limits.max_push_s, self.limits.max_query_s)

    def is_at_work(self, active: QueryInForce) -> bool:
        """Whether a query may give answers somewhere."""
        return not (active.paused or active.is_suspended or self.is_stopped(active))

    def is_stopped(self, active: QueryInForce) -> bool:
        """Whether a version to come pauses a query, or removes it."""
        return self.host.stopped().get(active.query.id, 0) > active.version

    def buffered_by_stream(self) -> dict[str, int]:
        """Return how many rows are kept of each stream that is declared."""
        of_all = zip(self.streams.names, self.buffered, strict=True)
        return {name: rows for name, rows in of_all if self.streams.get(name) is not None}

    @classmethod
    def empty(cls, streams: Mapping[str, Stream], limits: Limits, shard: int, choose: Choose) -> ShardState:
        """Return the state before the first push; `choose` is that of `SlidingQueries`."""
        return cls.of(KnownStreams(streams), limits, shard, choose)

    @classmethod
    def of(cls, streams: KnownStreams, limits: Limits, shard: int, choose: Choose) -> ShardState:
        """Return the state of streams that may have been changed already."""
        areas, templates, health = Areas(), VerifiedTemplates(limits.max_template_buckets), HealthTable(len(streams))
        most = limits.max_cached_pairs, limits.max_candidates_per_detection
        return cls(
            streams=streams,
            limits=limits,
            shard=shard,
            areas=areas,
            templates=templates,
            stamps=StampTables(streams, templates),
            table=EventTable(),
            finder=Finder(streams.codes, areas, templates, *most),
            sliding=SlidingQueries(streams, areas, choose),
            spells=ShardSpells(streams, areas, templates, SpellSlots(limits.max_slot_bytes)),
            control=Control(streams, limits),
            episodes=Episodes(streams, areas),
            area_slots=AreaSlots(areas, streams, limits),
            buffered=[0] * len(streams),
            health=health,
            member_errors=MemberErrors(health, areas, templates, streams.names),
        )
