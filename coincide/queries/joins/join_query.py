"""Query: what a continuous query over joined streams is, validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

from coincide.constraints.at_least import AtLeast
from coincide.constraints.conditions import SensorRule
from coincide.constraints.graph import ConstraintGraph, Edge
from coincide.constraints.interchange import Interchange
from coincide.constraints.window import Window
from coincide.errors import GraphError, QueryError
from coincide.joins.retention import reaches_us, set_reaches_us
from coincide.joins.tuples.set_plan import SetPlan
from coincide.json_fields import as_float, given_fields, object_fields, refuse_unless_probability
from coincide.queries.fields.alert_rule import MOST_MEMBERS, AlertRule
from coincide.queries.fields.checks import refuse_unless_attribute, refuse_unless_name
from coincide.queries.joins import join_checks
from coincide.queries.joins.edges import Form, Within, edges_of, refuse_unless_of_form
from coincide.queries.joins.episode_rule import EpisodeRule
from coincide.queries.joins.event_rule import EventRule
from coincide.queries.joins.match_limits import MatchLimits
from coincide.queries.joins.one_source import OneSource
from coincide.queries.joins.role_filter import EVERY, RoleFilter, Source, filters_of, globs, stream_of
from coincide.stream import Stream

OPTIONAL = ("form", "joint_threshold", "at_least", "equal", "unreachable")
FIELDS = ("id", "from", "within", "sensors", "areas", *OPTIONAL, "coalesce", "event", "source", "limits", "alert")


@dataclass(frozen=True)
class Query:
    """A continuous query: which streams, how near in time, how sure.

    Parameters
    ----------
    id : str
        1 to 100 letters, digits, ``.``, ``_`` or ``-``, starting with a letter or digit.
    roles : tuple of (role, stream)
        2 to 16, in the order of "from"; several may name the same stream (a self-join).
    within : tuple of Within
        The edges of the constraint graph, which hold all roles together.
    sensors : {"different", "same", "any"}
        Which sensors the members of a match come from, compared with each other.
    form : {"path", "clique", "graph"}, optional
        What the edges are to make, checked: a path in the order of the roles, or one edge for every two roles.
    joint_threshold : float, optional
        In (0, 1]: the least probability that all edges hold at once.
    at_least : AtLeast, optional
        How many members will do, of a clique or beside required roles; fewer than all.
    equal : str, optional
        "attributes." and a name: members have equal values (JSON scalars other than null) of that attribute.
    coalesce : EpisodeRule, optional
        How matches become episodes.
    filters : tuple of RoleFilter, optional
        Which detections may play each role, in the order of the roles; by default all of its stream.
    areas : tuple of str
        Names of the areas that the query is for, which may have ``*`` and ``?``; none: every area.
    limits : MatchLimits
        How many matches there may be before the query is suspended, where the system's own limits do not fit.
    unreachable : {"allow"}, optional
        Accept a threshold that no registered sensors can reach, which is refused otherwise.
    event : EventRule, optional
        What is known of the events that its matches may be of: with it, the evidence of each match is told.
    one_source : OneSource, optional
        What of a source has to explain each match; "source" in JSON.
    alert : AlertRule, optional
        Which of its episodes, or of its matches where it does not coalesce, somebody is told of.

    Raises
    ------
    QueryError
        Names the field and what is allowed.

    Examples
    --------
    >>> query = Query.from_json({"id": "intruder", "from": {"s": "seismic", "a": "acoustic"},
    ...     "within": [{"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6}]})
    >>> query.streams, query.window.hi_us, query.sensors
    (('seismic', 'acoustic'), 2000000, 'different')
    >>> Query.from_json(query.to_json()) == query
    True

    One edge stands for all edges of its form:

    >>> burst = Query.from_json({"id": "burst", "from": {"a": "neutrino", "b": "neutrino", "c": "neutrino"},
    ...     "form": "clique", "within": [{"window_s": 10}], "joint_threshold": 0.04, "at_least": 2})
    >>> len(burst.within), burst.graph.form, burst.interchange.groups
    (3, 'clique', ((0, 1, 2),))

    Two of three microphones and the camera:

    >>> scene = Query.from_json({"id": "scene", "from": {"m1": "shot", "m2": "shot", "m3": "shot", "camera": "flash"},
    ...     "within": [{"between": ["camera", each], "window_s": 2, "threshold": 0.5} for each in ("m1", "m2", "m3")],
    ...     "at_least": {"of": ["m1", "m2", "m3"], "count": 2}})
    >>> scene.required, scene.interchange.groups
    (('camera',), ((0, 1, 2), (3,)))
    """

    kind: ClassVar[Literal["join"]] = "join"
    stream: ClassVar[None] = None  # it has several

    id: str
    roles: tuple[tuple[str, str], ...]
    within: tuple[Within, ...]
    sensors: SensorRule = "different"
    form: Form | None = None
    joint_threshold: float | None = None
    at_least: AtLeast | None = None
    equal: str | None = None
    coalesce: EpisodeRule | None = None
    filters: tuple[RoleFilter, ...] = ()
    areas: tuple[str, ...] = ()
    limits: MatchLimits = field(default_factory=MatchLimits)
    unreachable: Literal["allow"] | None = None
    alert: AlertRule | None = None
    event: EventRule | None = None
    one_source: OneSource | None = None

    def __post_init__(self) -> None:
        refuse_unless_name("id", self.id)
        join_checks.refuse_unless_roles(self.roles)
        names = [role for role, _ in self.roles]
        join_checks.refuse_unless_between_roles(self.within, names)
        if self.sensors not in get_args(SensorRule):
            raise QueryError("sensors", f"is {self.sensors!r}: one of different, same, any")
        refuse_unless_of_form(self.within, self.form, names)
        if self.joint_threshold is not None:
            refuse_unless_probability("joint_threshold", self.joint_threshold)
        join_checks.refuse_unless_thresholds(self.within, self.joint_threshold)
        if self.one_source is None or self.joint_threshold is not None or self.event is not None:
            join_checks.refuse_unless_affordable(self.graph)
        if self.at_least is not None:
            join_checks.refuse_unless_at_least(self.at_least, self.graph)
        _ = self.interchange  # raises if there are too many ways to swap roles
        if self.equal is not None:
            refuse_unless_attribute("equal", self.equal)
        if self.unreachable not in (None, "allow"):
            raise QueryError("unreachable", f"is {self.unreachable!r}: 'allow', or left out")
        if self.coalesce is not None:
            self.coalesce.refuse_unless_fits(names, self.equal, has_onset=self.has_onset)
        if self.event is not None:
            is_filtered = any(each != EVERY for each in self.filters)
            self.event.refuse_unless_fits(names, self.within, self.sensors, self.equal, is_filtered=is_filtered)
        if self.one_source is not None:
            self.one_source.refuse_unless_fits(len(names))

    @property
    def streams(self) -> tuple[str, ...]:
        """The stream of each role, in the order of "from"."""
        return tuple(stream for _, stream in self.roles)

    @property
    def named_streams(self) -> dict[str, str]:
        """The stream of each role, by the field that names it."""
        return {f"from.{role}": stream for role, stream in self.roles}

    @property
    def tells(self) -> Literal["match", "episode"]:
        """Whether its alerts are of matches, or of the episodes that these become."""
        return "match" if self.coalesce is None else "episode"

    @property
    def own_threshold(self) -> float:
        """The joint threshold, else the least of the edges: no match is less probable."""
        return self.joint_threshold or min(edge.threshold or 0.0 for edge in self.graph.edges)

    @property
    def required(self) -> tuple[str, ...]:
        """The roles that every match has a member of, in the order of "from"."""
        names = self.graph.roles
        return names if self.at_least is None else self.at_least.required(names)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Where the members of each role come from, in the order of "from"."""
        filters = self.filters or (EVERY,) * len(self.roles)
        return tuple(Source(stream, each, self.areas) for stream, each in zip(self.streams, filters, strict=True))

    @property
    def is_filtered(self) -> bool:
        """Whether some detection of a role's stream may not play the role."""
        return any(not source.is_whole for source in self.sources)

    @cached_property
    def graph(self) -> ConstraintGraph:
        """The constraint graph of the roles; an edge's threshold is its own, and at least the joint one.

        No edge of a tuple can be less probable than all edges together, so that costs no match.
        """
        least = self.joint_threshold or 0.0
        edges = (
            Edge(one.first, one.second, one.window, max(one.threshold or 0.0, least), one.by_distance)
            for one in self.within
        )
        try:
            return ConstraintGraph(tuple(role for role, _ in self.roles), tuple(edges))
        except GraphError as error:
            raise QueryError("within", f"makes no graph: {error}") from None

    @property
    def window(self) -> Window:
        """Of two roles: the window of X of the second role of "from" minus X of its first."""
        [edge] = self.within
        return edge.window if edge.first == self.roles[0][0] else edge.window.swapped()

    @property
    def needs_places(self) -> bool:
        """Whether its answer depends on where sensors are."""
        return self.graph.is_by_distance or self.one_source is not None

    @cached_property
    def has_joint(self) -> bool:
        """Whether its matches tell the joint probability of all windows; others tell bounds that their edges give."""
        return join_checks.has_affordable_joint(self.graph)

    @property
    def has_onset(self) -> bool:
        """Whether every match tells when it occurred: two roles, or a clique of one symmetric window."""
        return len(self.roles) == 2 or self.graph.uniform_window is not None

    @cached_property
    def interchange(self) -> Interchange:
        """The roles that can be swapped without changing the query.

        A match is a set over them: its members take the roles of their stream in the order of (detected_at, sensor,
        id).
        """
        thresholds = [edge.threshold or 0.0 for edge in self.graph.edges]
        kinds = [(source, role in self.required) for (role, _), source in zip(self.roles, self.sources, strict=True)]
        try:
            return Interchange.of(self.graph, thresholds, kinds)
        except GraphError as error:
            raise QueryError("from", str(error)) from None

    def with_threshold(self, threshold: float) -> Query:
        """Return the query with another threshold: the joint one if it has one, else that of every edge."""
        if self.joint_threshold is not None:
            return replace(self, joint_threshold=threshold)
        return replace(self, within=tuple(replace(edge, threshold=threshold) for edge in self.within))

    def keeps_activation(self, changed: object) -> bool:
        """Whether `changed` may match what was processed before it: nothing but thresholds differs."""
        return isinstance(changed, Query) and self._scope() == changed._scope()

    def needed_since_us(self, streams: Mapping[str, Stream]) -> dict[str, int]:
        """Return how far from an area's watermark detections may complete a match, by stream (see `reaches_us`)."""
        played = {role: streams[stream] for role, stream in self.roles}
        if self.at_least is None:
            reach_us = reaches_us(self.graph, played)
        else:
            plan = SetPlan.of(self.graph, self.at_least, self.interchange.groups)
            reach_us = set_reaches_us(self.graph, played, plan)
        of_roles = zip(reach_us.tolist(), self.streams, strict=True)
        return {stream: us for us, stream in sorted(of_roles, reverse=True)}  # the farthest of each stream stays

    @classmethod
    def is_asked_by(cls, _document: Mapping[str, Any]) -> bool:
        """Whether a document is of this kind: every one that is of no other."""
        return True

    def _scope(self) -> tuple[object, ...]:
        bounds_us = self.graph.upper_us((edge.window.lo_us, edge.window.hi_us) for edge in self.graph.edges)
        count = None if self.at_least is None else self.at_least.count
        by_distance = tuple(edge.by_distance for edge in self.graph.edges)
        of_tuples = (
            self.roles,
            self.sources,
            bounds_us.tobytes(),
            by_distance,
            self.sensors,
            self.required,
            count,
            self.equal,
        )
        return *of_tuples, self.event, None if self.one_source is None else self.one_source.rule

    @classmethod
    def from_json(cls, obj: object) -> Query:
        """Read a query; a QueryError names the field and what is allowed."""
        fields = given_fields("query", obj, FIELDS, ("id", "from", "within"))
        played = object_fields("from", fields["from"])
        filters = filters_of(played)
        roles = tuple((role, stream_of(given)) for role, given in played.items())
        join_checks.refuse_unless_roles(roles)  # before one edge is written out for every two of them
        given = {name: fields[name] for name in OPTIONAL if name in fields}
        given |= {"areas": globs("areas", fields), "filters": filters}
        if "joint_threshold" in given:
            given["joint_threshold"] = as_float(given["joint_threshold"])
        if "at_least" in given:
            given["at_least"] = at_least_of(given["at_least"])
        if "event" in fields:
            given["event"] = EventRule.from_json(fields["event"])
        if "source" in fields:
            given["one_source"] = OneSource.from_json(fields["source"])
        within = edges_of(fields["within"], given.get("form"), [role for role, _ in roles])
        limits = MatchLimits.from_json(fields.get("limits", {}))
        if "alert" in fields:
            most_members = MOST_MEMBERS if "coalesce" in fields else len(roles)
            given["alert"] = AlertRule.from_json(
                fields["alert"], has_evidence="event" in fields, most_members=most_members
            )
        query = cls(fields["id"], roles, within, fields.get("sensors", "different"), **given, limits=limits)
        if "coalesce" not in fields:
            return query
        return replace(query, coalesce=EpisodeRule.from_json(fields["coalesce"], has_onset=query.has_onset))

    def to_json(self) -> dict[str, object]:
        """Return the JSON object: every edge by itself, and of the optional fields those that are given."""
        roles = {
            role: stream if source.filter == EVERY else {"stream": stream, **source.filter.to_json()}
            for (role, stream), source in zip(self.roles, self.sources, strict=True)
        }
        within = [edge.to_json() for edge in self.within]
        written: dict[str, object] = {"id": self.id, "from": roles, "within": within, "sensors": self.sensors}
        written |= {"areas": list(self.areas)} if self.areas else {}
        written |= {name: value for name in OPTIONAL if (value := getattr(self, name)) is not None}
        written |= {} if self.at_least is None else {"at_least": at_least_to_json(self.at_least)}
        if self.coalesce is not None:
            written["coalesce"] = self.coalesce.to_json()
        if self.event is not None:
            written["event"] = self.event.to_json()
        if self.one_source is not None:
            written["source"] = self.one_source.to_json()
        if self.alert is not None:
            written["alert"] = self.alert.to_json()
        limits = self.limits.to_json()
        return {**written, "limits": limits} if limits else written


def at_least_of(given: Any) -> AtLeast:
    """Read how many members will do: of all roles a number, of some an object; the graph says which numbers."""
    if not isinstance(given, Mapping):
        return AtLeast(given)
    fields = given_fields("at_least", given, ("of", "count"), ("of", "count"))
    of = fields["of"]
    if not isinstance(of, list) or not all(isinstance(role, str) for role in of):
        raise QueryError("at_least.of", f"is {of!r}: a list of roles")
    return AtLeast(fields["count"], of)


def at_least_to_json(at_least: AtLeast) -> object:
    """Return what `at_least_of` reads."""
    return at_least.count if at_least.of is None else {"of": list(at_least.of), "count": at_least.count}
