"""SharedJoins: several timing joins over one set of buffers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.constraints.conditions import JoinCondition
from coincide.errors import CoincideError
from coincide.joins.answers import Pairs
from coincide.joins.events import Events
from coincide.joins.pairs.installed_join import GoesFirst, InstalledJoin
from coincide.joins.retention import reach_us
from coincide.joins.stream_buffers import StreamBuffers
from coincide.offsets.cache import USUAL_LIMITS, LookUps, PairLimits
from coincide.stream import Stream
from coincide.templates.histogram import Histogram


class SharedJoins:
    """Joins that are installed and changed while their streams flow; see the package's docstring.

    The caller judges lateness and duplicates, numbers the rows (refs rise from push to push) and says how far
    each area's watermark has come.

    Parameters
    ----------
    streams : iterable of Stream
        Every stream that is pushed or named by a condition.
    goes_first : callable
        ``goes_first(refs, other_refs)``: for pairs of one stream reported at the same time, whether the first
        goes before the second by (sensor, id). Asked only in self-joins with a symmetric window.
    limits : PairLimits
        Template pairs worked out beforehand, and remembered, for each join.
    """

    def __init__(self, streams: Iterable[Stream], goes_first: GoesFirst, limits: PairLimits = USUAL_LIMITS) -> None:
        self._streams: Mapping[str, Stream] = {stream.name: stream for stream in streams}
        self._held = StreamBuffers(self._streams)
        self._joins: dict[str, InstalledJoin] = {}
        self._goes_first = goes_first
        self._limits = limits

    def install(self, query: str, condition: JoinCondition, since_ref: int = 0) -> None:
        """Add a join, or replace the one of that name.

        Parameters
        ----------
        query : str
            Name under which `push` answers.
        condition : JoinCondition
        since_ref : int
            The activation: only events with this ref or a greater one count.

        Raises
        ------
        CoincideError
            The condition names a stream that was not declared.
        """
        for name in (condition.a, condition.b):
            self._declared(name)
        self._joins[query] = InstalledJoin.install(condition, since_ref, self._limits)
        self._ready(query)

    def push(self, stream: str, batch: Events, templates: Sequence[Histogram]) -> dict[str, Pairs]:
        """Take rows of one stream in; return each join's new pairs, as refs (left plays a, right b).

        Parameters
        ----------
        stream : str
        batch : Events
            Rows in any order; refs greater than all before. `template` is the position in `templates`.
        templates : sequence of Histogram
            Pass the same tuple again where it has not changed: it is then not looked up again.

        Returns
        -------
        dict of str to Pairs
            Joins without a new pair are absent.
        """
        self._declared(stream)
        batch = self._held.coded(stream, batch, templates)
        found = {}
        for query in self._joins_of(stream):
            join = self._ready(query)
            a, b = join.condition.a, join.condition.b
            partners = self._held.view(b if stream == a else a)
            pairs = join.find(stream, batch, partners, self._goes_first)
            if len(pairs):
                templates_of = self._held.templates
                found[query] = pairs.pairs(templates_of[a].templates, templates_of[b].templates, join.condition.window)
        self._held.insert(stream, batch)
        return found

    def evict(self, watermark_us: Int64Array) -> dict[str, Int64Array]:
        """Drop events that no detection which is on time can match any more.

        Parameters
        ----------
        watermark_us : ndarray of int64, shape (areas,)
            By area code.

        Returns
        -------
        dict of str to ndarray of int64
            Refs dropped, by stream; streams that dropped nothing are absent.
        """
        dropped = self._held.evict(watermark_us, {name: self.reach_us(name) for name in self._streams})
        self._forget_templates()
        return dropped

    def evict_oldest(self, stream: str, count: int) -> Int64Array:
        """Drop the earliest events of a stream, to keep a hard bound; return their refs."""
        self._declared(stream)
        return self._held.evict_oldest(stream, count)

    def reach_us(self, stream: str) -> int:
        """How far behind the watermark the latest time of a stream's events matters (negative)."""
        conditions = [join.condition for join in self._joins.values()]
        joins = [(condition.a, condition.b, condition.window) for condition in conditions]
        return reach_us(self._declared(stream), self._streams, joins)

    def buffered(self, stream: str) -> int:
        """How many events of a stream are held."""
        self._declared(stream)
        return len(self._held.buffer(stream))

    @property
    def templates_known(self) -> int:
        """How many templates are held, all streams together."""
        return self._held.templates_known

    def look_ups(self, query: str) -> LookUps:
        """Return what a join's cache of template pairs has done so far; nothing while a table will do."""
        return self._joins[query].look_ups

    def least_ref(self, default: int) -> int:
        """Return the least ref that is held in any stream, `default` if none is."""
        return self._held.least_ref(default)

    def codes_held(self) -> tuple[CodeArray, CodeArray]:
        """Return the codes of area and of sensor of every event that is held, some of them often."""
        return self._held.codes_held()

    def _declared(self, stream: str) -> Stream:
        if stream not in self._streams:
            raise CoincideError("stream", stream, f"one of {sorted(self._streams)}")
        return self._streams[stream]

    def _joins_of(self, stream: str) -> list[str]:
        return [name for name, join in self._joins.items() if stream in (join.condition.a, join.condition.b)]

    def _ready(self, query: str) -> InstalledJoin:
        """Return the join with a table that covers every template known by now."""
        join = self._joins[query]
        self._joins[query] = join.knowing(
            self._held.templates[join.condition.a], self._held.templates[join.condition.b]
        )
        return self._joins[query]

    def _forget_templates(self) -> None:
        new_codes = self._held.forget_templates()
        for query, join in self._joins.items():
            a, b = join.condition.a, join.condition.b
            if new_codes.keys() & {a, b}:
                codes = new_codes.get(a), new_codes.get(b)
                self._joins[query] = join.renewed(self._held.templates[a], self._held.templates[b], *codes)
