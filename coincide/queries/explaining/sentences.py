"""An explanation in sentences."""

from __future__ import annotations

from dataclasses import replace

from coincide.queries.explaining.figures import EdgeFigures, Explanation, RoleFigures

SHOWN_EDGES = 5  # of those that are alike


def sentences_of(explanation: Explanation) -> list[str]:
    """Return what an explanation says, a sentence or two for each role, edge and figure.

    Examples
    --------
    >>> from coincide import Histogram
    >>> from coincide.queries import Query
    >>> from coincide.queries.explaining import KnownSensor, explain
    >>> query = Query.from_json({"id": "sn1987a", "from": {"i": "imb", "b": "baksan"},
    ...     "within": [{"between": ["i", "b"], "window_s": 10, "threshold": 0.4}]})
    >>> clocks = {"imb": Histogram.uniform(-0.05, 0.05), "baksan": Histogram.uniform(-54, 2)}
    >>> sensors = [KnownSensor(name, "earth", name, clock) for name, clock in clocks.items()]
    >>> for sentence in sentences_of(explain(query, sensors))[2].split(": "):
    ...     print(sentence)
    i and b are to happen within 10 s of each other
    the probability is 0.357 at most (imb and baksan, reported 26 s apart).
    """
    alike: dict[EdgeFigures, list[EdgeFigures]] = {}
    for each in explanation.edges:
        alike.setdefault(replace(each, between=("", "")), []).append(each)
    edges = [sentence for group in alike.values() for sentence in _edge(group)]
    verdict = [_VERDICTS[explanation.is_reachable]] if explanation.is_reachable is not True else []
    chance = _chance(explanation)
    return [*map(_role, explanation.roles), *edges, *_joint(explanation), *verdict, chance, *_work(explanation)]


_VERDICTS = {
    False: "So the query can find nothing: a threshold is out of reach.",
    None: "Whether anything can reach all thresholds is not certain.",
}


def unreachable_because(explanation: Explanation) -> str | None:
    """Say which threshold no sensors can reach and what they attain, in one sentence; None if none is for certain."""
    if explanation.is_reachable is not False:
        return None
    edge = min((each for each in explanation.edges if each.is_out_of_reach), key=lambda each: each.greatest or 0.0)
    a, b = edge.between
    pairs = _count(edge.sensor_pairs, "pair")
    return (
        f"the threshold {edge.threshold:g} between {a} and {b} is out of reach: the probability is at most "
        f"{_probability(edge.greatest)}, whatever the {pairs} of sensors report"
    )


def _role(role: RoleFigures) -> str:
    if role.sensors == 0:
        return f"Role {role.role} is played by stream {role.stream}: no sensor of it is known."
    who = f"{_count(role.sensors, 'sensor')} in {_count(role.areas, 'area')}"
    condition = " Conditions on attributes leave fewer of its detections." if role.is_conditional else ""
    return f"Role {role.role} is played by stream {role.stream}: {who}.{condition}"


def _edge(alike: list[EdgeFigures]) -> list[str]:
    edge = alike[0]
    what = _together(alike) if edge.lo_s == -edge.hi_s else _in_order(alike)
    if edge.best is None:
        return [f"{what}. No two sensors of one area are known that could do so."]
    names = " and ".join("a sensor" if each is None else each for each in edge.best.sensors)
    most = f"{_probability(edge.greatest)} at most ({names}, reported {abs(edge.best.offset_s):.6g} s apart)"
    least = _probability(edge.least)
    less = "" if least == _probability(edge.greatest) else f", and for some sensors {least} at most"
    return [f"{what}: the probability is {most}{less}.", _reaching(edge)]


def _together(alike: list[EdgeFigures]) -> str:
    pairs = _listed([" and ".join(each.between) for each in alike], ", ")
    return f"{pairs} are to happen within {alike[0].hi_s:g} s of each other"


def _in_order(alike: list[EdgeFigures]) -> str:
    edge, *others = alike
    (a, b), also = edge.between, _listed([f"{each.between[1]} after {each.between[0]}" for each in others], ", ")
    what = f"{b} is to happen from {edge.lo_s:g} s to {edge.hi_s:g} s after {a}"
    return f"{what} (so is {also})" if others else what


def _listed(names: list[str], separator: str) -> str:
    if len(names) > SHOWN_EDGES:
        return f"{separator.join(names[:SHOWN_EDGES])} and {len(names) - SHOWN_EDGES} other pairs"
    return separator.join(names)


def _reaching(edge: EdgeFigures) -> str:
    if not edge.threshold:
        return "It has no threshold."
    if not edge.reaching:
        sample = " that was looked at" if edge.is_sample else ""
        return f"No pair of sensors{sample} can reach the threshold {edge.threshold:g}."
    sample = ", judged by some of them," if edge.is_sample else ""
    pairs, share = _count(edge.sensor_pairs, "pair"), _share(edge.share or 0.0)
    return f"Of {pairs} of sensors{sample} {share} can reach the threshold {edge.threshold:g}."


def _joint(explanation: Explanation) -> list[str]:
    joint = explanation.joint
    if joint is None:
        return []
    reached = "" if joint.at_least is None else f"; {_probability(joint.at_least)} can be reached"
    threshold = "" if joint.threshold is None else f" The joint threshold is {joint.threshold:g}."
    return [f"All windows at once have a probability of at most {_probability(joint.at_most)}{reached}.{threshold}"]


def _chance(explanation: Explanation) -> str:
    chance = explanation.chance
    if chance is None:
        why = "without the rates of its streams" if explanation.work is None else "here: it would take too long"
        return f"How often chance gives a match is not known {why}."
    where = "" if chance.area is None else f" in area {chance.area}, were it as busy as the busiest"
    bound = "at most " if chance.is_upper_bound else "about "
    error = f" (give or take {chance.error_per_hour:.1g})" if chance.error_per_hour else ""
    return f"Chance alone gives {bound}{chance.per_hour:.3g} matches an hour{error}{where}, at these rates."


def _work(explanation: Explanation) -> list[str]:
    if explanation.work is None:
        return []
    candidates = f"{explanation.work.candidates_per_detection:.2g}"
    return [f"A detection makes at most about {candidates} candidates by chance that must be looked at."]


def _share(share: float) -> str:
    return "all" if share == 1 else f"{share:.0%}" if 0.01 <= share <= 0.99 else f"{share:.2%}"


def _probability(value: float | None) -> str:
    return "0" if value is None else f"{value:.3g}"


def _count(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
