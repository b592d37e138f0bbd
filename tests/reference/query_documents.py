"""Hypothesis strategies for queries of every kind: their JSON, with every field, and names that nobody would choose."""

from itertools import combinations, pairwise
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from coincide.errors import QueryError
from coincide.queries import AnyQuery, query_from_json

ROLES = ("A", "b", "from", "Window", "s", "ms", "hour", "attributes", "sensor", "x_1")
STREAMS = ("SEISMIC", "acoustic", "mic-1", "2.fast", "select", "range", "a--b")
names = st.one_of(
    st.sampled_from(["db", "object", "sensor", "AREA", "interval", "a.b", 'it"s', "back\\slash", "--", "two words"]),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12),
)
attributes = names.map("attributes.{}".format)
numbers = st.one_of(
    st.sampled_from([0, 1, -3, 100, 0.1, 1e-9, 1e20, -2.5, 123456789.125, 10**30]),
    st.floats(-1e290, 1e290),
    st.integers(-(10**20), 10**20),
)
lengths_s = st.one_of(
    st.sampled_from([1, 60, 240, 3600, 86400, 90, 0.001, 0.25, 1.000001]), st.integers(1, 10**8), st.floats(1e-6, 1e8)
)
probabilities = st.one_of(st.sampled_from([1, 0.6, 0.5, 0.04]), st.floats(0, 1, exclude_min=True))
texts = st.one_of(st.sampled_from(["it's", "mic-*", "", "''", "-- no comment", '"']), st.text(max_size=10))
globs = st.lists(texts.filter(bool), min_size=1, max_size=3)
limits = st.tuples(st.sampled_from([None, "above", "at_least"]), st.sampled_from([None, "below", "at_most"]))


@st.composite
def ranges(draw: st.DrawFn) -> dict[str, float]:
    """One limit of a value or two."""
    lower, upper = draw(limits.filter(any))
    least, greatest = sorted([draw(numbers), draw(numbers)])
    assume(lower is None or upper is None or float(least) < float(greatest))
    return {name: value for name, value in ((lower, least), (upper, greatest)) if name is not None}


@st.composite
def spell_ranges(draw: st.DrawFn) -> dict[str, float]:
    """Limits of a spell: each may have another one, at it or beyond it, that ends the spell."""
    where = draw(ranges())
    for bounds, until, farther in (
        (("above", "at_least"), "until_below", min),
        (("below", "at_most"), "until_above", max),
    ):
        limit = next((where[name] for name in bounds if name in where), None)
        if limit is not None and draw(st.booleans()):
            end = farther(limit, draw(numbers))
            assume(float(end) == end or isinstance(end, float))
            where[until] = end
    return where


scalars = st.one_of(texts, numbers, st.booleans())
tests = st.one_of(
    ranges(),
    scalars.map(lambda value: {"is": value}),
    st.lists(scalars, min_size=1, max_size=3).map(lambda n: {"in": n}),
)
alerts = st.fixed_dictionaries(
    {},
    optional={
        "severity": st.sampled_from(["minor", [[0.9, "critical"], [0.5, "warning"]]]),
        "members": st.integers(1, 1000),
        "title": st.sampled_from(["{query}: {area}", 'said "so" -- twice', "it's", "back\\slash"]),
        "labels": st.dictionaries(st.sampled_from(["team", "_x", "select"]), st.sampled_from(["", "a\"b'c", "é"])),
        "resolve_after_s": st.floats(0, 604800),
        "max_per_hour": st.integers(1, 10**6),
        "to": st.sampled_from([["on-call"], ["b", "a.1"]]),
    },
)
numbered_equivalences = st.sampled_from(["bounded", "relative", "quantised"])
equivalences = st.one_of(
    st.sampled_from(["equal", "any", "increasing", "decreasing"]),
    st.builds(lambda name, number: {name: number}, numbered_equivalences, st.floats(1e-3, 1e6)),
)


def _given(draw: st.DrawFn, **fields: st.SearchStrategy[Any]) -> dict[str, Any]:
    """Draw some of the fields, each every other time."""
    return {name: draw(values) for name, values in fields.items() if draw(st.booleans())}


@st.composite
def windows(draw: st.DrawFn) -> dict[str, float]:
    """A window around zero, or any other."""
    if draw(st.booleans()):
        return {"window_s": draw(st.one_of(st.just(0), lengths_s))}
    lo_s = draw(st.sampled_from([-3600, -1.5, -0.001, 0, 1e-6, 60]))
    return {"lo_s": lo_s, "hi_s": lo_s + draw(lengths_s)}


@st.composite
def edges(draw: st.DrawFn) -> dict[str, float]:
    """An edge without its ends."""
    return {**draw(windows()), **_given(draw, threshold=probabilities)}


@st.composite
def joined_edges(draw: st.DrawFn, roles: list[str]) -> dict[str, Any]:
    """Edges and the form that they make: one that stands for all, or each by itself."""
    form = draw(st.sampled_from([None, "graph", "path", "clique"]))
    if form in ("path", "clique") and draw(st.booleans()):
        return {"form": form, "within": [draw(edges())]}
    pairs = list(pairwise(roles))
    if form == "clique":
        pairs = list(combinations(roles, 2))
    elif form != "path":
        pairs += draw(st.lists(st.sampled_from(list(combinations(roles, 2))), max_size=1))
    ends = [draw(st.permutations(pair)) for pair in dict.fromkeys(pairs)]
    same = draw(edges()) if draw(st.booleans()) else None
    within = [{"between": list(pair), **(same or draw(edges()))} for pair in ends]
    return {"within": within, **({} if form is None else {"form": form})}


@st.composite
def join_documents(draw: st.DrawFn) -> dict[str, Any]:
    """A join of 2 to 4 roles, with any of its fields."""
    roles = draw(st.lists(st.sampled_from(ROLES), min_size=2, max_size=4, unique=True))
    fields = {"where": st.dictionaries(attributes, tests, max_size=2), "sensors": globs, "areas": globs}
    streams = {role: draw(st.sampled_from([*STREAMS, role])) for role in roles}
    played = {role: {"stream": named, **_given(draw, **fields)} for role, named in streams.items()}
    document = {"id": "q", "from": played if draw(st.booleans()) else streams, **draw(joined_edges(roles))}
    document |= _given(draw, joint_threshold=probabilities, areas=globs, unreachable=st.just("allow"), alert=alerts)
    document |= _given(draw, sensors=st.sampled_from(["different", "same", "any"]), equal=attributes)
    counts = st.integers(1, 10**6)
    most = st.fixed_dictionaries({}, optional={"max_matches_per_s": counts, "max_candidates_per_detection": counts})
    return document | _given(draw, limits=most, at_least=enough(roles), coalesce=episode_rules(roles, document))


def enough(roles: list[str]) -> st.SearchStrategy[Any]:
    """How many members are enough; many of these are refused."""
    some = st.lists(st.sampled_from(roles), min_size=1, max_size=len(roles) - 1, unique=True)
    partly = st.builds(lambda of, count: {"of": of, "count": count}, some, st.integers(0, 1))
    return st.one_of(st.integers(2, 3), partly)


def episode_rules(roles: list[str], document: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """How matches become episodes."""
    equal = [st.just(document["equal"])] if "equal" in document else []
    of_roles = st.builds("{}.{}".format, st.sampled_from(roles), st.one_of(st.just("sensor"), attributes))
    by = st.lists(st.one_of(of_roles, *equal), max_size=3, unique=True)
    intervals = st.sampled_from(["hull", "hull", "occurred"])
    gaps = st.one_of(st.sampled_from([0, 5, 60, 0.5]), st.floats(0, 2592000))
    return st.fixed_dictionaries({"gap_s": gaps}, optional={"by": by, "interval": intervals})


@st.composite
def readings_documents(draw: st.DrawFn) -> dict[str, Any]:
    """A query over readings: of windows with each question, or for spells."""
    by = st.lists(st.one_of(st.just("sensor"), attributes), max_size=3, unique=True)
    coalesce: dict[str, Any] = {"from": draw(st.sampled_from(STREAMS)), "value": draw(attributes)}
    coalesce |= _given(draw, by=by, where=ranges(), equivalence=equivalences, hold_s=lengths_s)
    question = draw(st.sampled_from(["spells", "longest", "lasting_s", "join"]))
    document: dict[str, Any] = {"id": "q", "coalesce": coalesce, **_given(draw, alert=alerts)}
    if question == "spells":
        if "where" in coalesce:
            coalesce["where"] = draw(spell_ranges())
        return {**document, "lasting_s": draw(lengths_s), **_given(draw, threshold=probabilities)}
    coalesce["window"] = {"time_s": draw(lengths_s), "slide_s": draw(lengths_s)}
    if question == "join":
        coalesce["equivalence"] = draw(st.sampled_from(["equal", {"quantised": 0.5}]))
        return {**document, "join": {"lasting_s": draw(lengths_s), **_given(draw, within=st.floats(0, 1e290))}}
    return {**document, question: True if question == "longest" else draw(lengths_s)}


@st.composite
def queries(draw: st.DrawFn) -> AnyQuery:
    """A valid query of any kind."""
    try:
        return query_from_json(draw(st.one_of(join_documents(), readings_documents())))
    except QueryError:
        assume(False)
        raise
