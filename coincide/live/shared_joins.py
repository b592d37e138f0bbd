"""SharedJoins: several timing joins over one set of buffers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from coincide.arrays.kinds import Int64Array
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

    Attributes
    ----------
    buffers : StreamBuffers
        The events that are kept of each stream.
    """

    def __init__(self, streams: Iterable[Stream], goes_first: GoesFirst, limits: PairLimits = USUAL_LIMITS) -> None:
        self._streams: Mapping[str, Stream] = {stream.name: stream for stream in streams}
        self.buffers = StreamBuffers(self._streams)
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
        """Take rows of one stream in; return each join's new pairs, as refs (left of a, right of b).

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
        batch = self.buffers.coded(stream, batch, templates)
        answers = {}
        for query in self._joins_of(stream):
            join = self._ready(query)
            a, b = join.condition.a, join.condition.b
            partners = self.buffers.view(b if stream == a else a)
            pairs = join.find(stream, batch, partners, self._goes_first)
            if len(pairs):
                templates_of = self.buffers.templates
                answers[query] = pairs.pairs(
                    templates_of[a].templates, templates_of[b].templates, join.condition.window
                )
        self.buffers.insert(stream, batch)
        return answers

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
        dropped = self.buffers.evict(watermark_us, {name: self.reach_us(name) for name in self._streams})
        self._forget_templates()
        return dropped

    def reach_us(self, stream: str) -> int:
        """How far behind the watermark the latest time of a stream's events matters (negative)."""
        conditions = [join.condition for join in self._joins.values()]
        joins = [(condition.a, condition.b, condition.window) for condition in conditions]
        return reach_us(self._declared(stream), self._streams, joins)

    def look_ups(self, query: str) -> LookUps:
        """Return what a join's cache of template pairs has done so far; nothing while a table will do."""
        return self._joins[query].look_ups

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
            self.buffers.templates[join.condition.a], self.buffers.templates[join.condition.b]
        )
        return self._joins[query]

    def _forget_templates(self) -> None:
        new_codes = self.buffers.forget_templates()
        for query, join in self._joins.items():
            a, b = join.condition.a, join.condition.b
            if new_codes.keys() & {a, b}:
                codes = new_codes.get(a), new_codes.get(b)
                self._joins[query] = join.renewed(self.buffers.templates[a], self.buffers.templates[b], *codes)
