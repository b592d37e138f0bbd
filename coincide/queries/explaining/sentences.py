"""An explanation in sentences."""

from __future__ import annotations

from dataclasses import replace

from coincide.arrays.spoken import spoken, spoken_s
from coincide.queries.explaining.explanation import EdgeFigures, Explanation, RoleFigures

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
    return [
        *map(_role, explanation.roles),
        *_distance(explanation),
        *edges,
        *_joint(explanation),
        *verdict,
        chance,
        *_work(explanation),
    ]


_VERDICTS = {
    False: "So the query can find nothing: a threshold is out of reach.",
    None: "Whether anything can reach all thresholds is not certain.",
}


def unreachable_because(explanation: Explanation) -> str | None:
    """Say which threshold no sensors can reach and what they attain, in one sentence; None if none is for certain."""
    if explanation.lacks_places:
        return f"windows follow the distance of sensors, and none of {_sensors(explanation)} has a place"
    if explanation.is_reachable is not False:
        return None
    edge = min((each for each in explanation.edges if each.is_out_of_reach), key=lambda each: each.greatest or 0.0)
    a, b = edge.between
    several = f"the {spoken(edge.sensor_pairs)} pairs of sensors report"
    whatever = "the only pair of sensors reports" if edge.sensor_pairs == 1 else several
    return (
        f"the threshold {edge.threshold:g} between {a} and {b} is out of reach: the probability is at most "
        f"{_probability(edge.greatest)}, whatever {whatever}"
    )


def chosen_threshold(threshold: float | None, per_day: float, explanation: Explanation) -> str:
    """Say from which threshold on chance gives at most so many matches a day, or why there is none."""
    few = f"at most {spoken(per_day)} {'match' if per_day == 1 else 'matches'} a day"
    if explanation.chance is None:
        return f"From which threshold on chance gives {few} is not known {_unknown_because(explanation)}."
    within_reach = min((edge.greatest for edge in explanation.edges if edge.greatest is not None), default=1.0)
    if threshold is None or threshold > within_reach:
        attained = f"No threshold that these sensors attain ({_probability(within_reach)} at most)"
        return f"{attained} is so high that chance gives {few}. {_TOO_MUCH_CHANCE}"
    return f"From a threshold of {threshold:g} on, chance gives {few}."


def _distance(explanation: Explanation) -> list[str]:
    figures = explanation.distance
    if figures is None:
        return []
    told = []
    if figures.least_s is not None and figures.greatest_s is not None:
        extent = f"from {spoken_s(figures.least_s)} to {spoken_s(figures.greatest_s)}"
        told.append(
            f"Windows follow the distance of two sensors: {extent} between those that are known. What follows is said "
            "for the longest."
        )
    if figures.without_place:
        no_place = f"{figures.without_place} of {_sensors(explanation)} have no place: no match has their detections."
        told.append(no_place)
    return told


def _sensors(explanation: Explanation) -> str:
    return "the sensors" if explanation.distance is None else _count(explanation.distance.sensors, "sensor")


_UNRELATED = "if no two reports have to do with each other"
_TOO_MUCH_CHANCE = (
    "All reports count here as if no two had to do with each other, those of real events too: where events are most of "
    "what is reported, chance gives far less. A shorter window, or one more sensor that has to agree, leaves less to "
    "chance."
)


def _role(role: RoleFigures) -> str:
    if role.sensors == 0:
        none = "no sensor that reports it is known" if role.reporting == 0 else _none_pass(role)
        return f"Role {role.role} takes detections of stream {role.stream}: {none}."
    who = f"{_count(role.sensors, 'sensor')} in {_count(role.areas, 'area')}"
    return f"Role {role.role} takes detections of stream {role.stream}: {who}.{_filtered(role)}"


def _none_pass(role: RoleFigures) -> str:
    who = f"{_count(role.reporting, 'sensor')} {'reports' if role.reporting == 1 else 'report'} it"
    return f"{who}, but its filter on {_listed([*role.conditions] or ['names'], ', ')} lets no detection pass"


def _filtered(role: RoleFigures) -> str:
    if not role.conditions:
        return ""
    filter_ = f"Its filter on {_listed([*role.conditions], ', ')}"
    if role.passing is None:
        return f" {filter_} lets only some of these detections pass; how many is not known, so all are counted here."
    return f" {filter_} lets {_share(role.passing)} of these detections pass."


def _edge(alike: list[EdgeFigures]) -> list[str]:
    edge = alike[0]
    what = _together(alike) if edge.lo_s == -edge.hi_s else _in_order(alike)
    if edge.best is None:
        return [f"{what}. No two sensors of one area are known that could do so."]
    names = " and ".join("a sensor" if each is None else each for each in edge.best.sensors)
    apart = f"reported {spoken_s(abs(edge.best.offset_s))} apart" if edge.best.offset_s else "reported at once"
    most = f"{_probability(edge.greatest)} at most ({names}, {apart})"
    least = _probability(edge.least)
    less = "" if least == _probability(edge.greatest) else f", and only {least} at most for the least exact sensors"
    return [f"{what}: the probability is {most}{less}.", _reaching(edge)]


def _together(alike: list[EdgeFigures]) -> str:
    pairs = _listed([" and ".join(each.between) for each in alike], ", ")
    return f"{pairs} are to happen within {spoken_s(alike[0].hi_s)} of each other"


def _in_order(alike: list[EdgeFigures]) -> str:
    edge, *others = alike
    (a, b), also = edge.between, _listed([f"{each.between[1]} after {each.between[0]}" for each in others], ", ")
    what = f"{b} is to happen {_window(edge.lo_s, edge.hi_s)} {a}"
    return f"{what} (so is {also})" if others else what


def _window(lo_s: float, hi_s: float) -> str:
    if lo_s < 0 < hi_s:
        return f"between {spoken_s(-lo_s)} before and {spoken_s(hi_s)} after"
    if hi_s <= 0:
        return f"{spoken_s(-hi_s)} to {spoken_s(-lo_s)} before"
    return f"{spoken_s(lo_s)} to {spoken_s(hi_s)} after"


def _listed(names: list[str], separator: str) -> str:
    if len(names) > SHOWN_EDGES:
        return f"{separator.join(names[:SHOWN_EDGES])} and {len(names) - SHOWN_EDGES} others"
    return separator.join(names)


def _reaching(edge: EdgeFigures) -> str:
    if not edge.threshold:
        return "It has no threshold."
    threshold = f"reach the threshold {edge.threshold:g}"
    if edge.sensor_pairs == 1:
        return f"The only pair of sensors {'can' if edge.reaching else 'cannot'} {threshold}."
    pairs = f"{spoken(edge.sensor_pairs)} pairs of sensors"
    looked_at = " that were looked at" if edge.is_sample else ""
    if edge.reaching in (0, edge.sensor_pairs):
        return f"{'All' if edge.reaching else 'None of the'} {pairs}{looked_at} can {threshold}."
    return f"Of the {pairs}{looked_at} {_share(edge.share or 0.0)} can {threshold}."


def _joint(explanation: Explanation) -> list[str]:
    joint = explanation.joint
    if joint is None:
        return []
    reached = "" if joint.at_least is None else f", and some sensors reach {_probability(joint.at_least)}"
    threshold = "" if joint.threshold is None else f" The joint threshold is {joint.threshold:g}."
    return [f"The probability of all windows at once is {_probability(joint.at_most)} at most{reached}.{threshold}"]


def _chance(explanation: Explanation) -> str:
    chance = explanation.chance
    if chance is None:
        return f"How often chance gives a match is not known {_unknown_because(explanation)}."
    if not chance.per_hour:
        return "Chance alone gives no match."
    bound = "at most" if chance.is_upper_bound else "about"
    how_often, of_unit = _frequency(chance.per_hour)
    error = f" (give or take {spoken(chance.error_per_hour * of_unit, 1)})"
    error = "" if chance.is_upper_bound or not chance.error_per_hour else error
    left_out = f" There are fewer, as this does not count {' and '.join(chance.left_out)}." if chance.left_out else ""
    return f"Chance alone gives {bound} {how_often}{error} in all areas together, {_UNRELATED}.{left_out}"


def _unknown_because(explanation: Explanation) -> str:
    return "without the rates of its streams" if explanation.work is None else "here: it would take too long"


def _work(explanation: Explanation) -> list[str]:
    if explanation.work is None:
        return []
    candidates = explanation.work.candidates_per_detection
    if not candidates:
        return []
    if (in_so_many := spoken(1 / candidates, 2)) != "1" and candidates < 1:
        return [f"In {in_so_many} detections chance makes 1 candidate at most that must be looked at."]
    few = "about 1 candidate" if in_so_many == "1" else f"up to about {spoken(candidates, 2)} candidates"
    return [f"For each detection chance makes {few} that must be looked at."]


UNITS_H = {"second": 1 / 3600, "minute": 1 / 60, "hour": 1.0, "day": 24.0, "week": 168.0, "year": 8_766.0}


def _frequency(per_hour: float) -> tuple[str, float]:
    """Return how often matches come, above 0, in the shortest unit in which there is one, and that unit in hours."""
    unit, hours = next((each for each in UNITS_H.items() if per_hour * each[1] >= 1), ("year", UNITS_H["year"]))
    if per_hour * hours < 1:
        return f"1 match in {spoken(1 / (per_hour * hours), 2)} years", hours
    count, article = spoken(per_hour * hours), "an" if unit == "hour" else "a"
    return f"{count} {'match' if count == '1' else 'matches'} {article} {unit}", hours


def _share(share: float) -> str:
    if share in (0, 1):
        return "all" if share else "none"
    return "less than 1 %" if share < 0.01 else "more than 99 %" if share > 0.99 else f"{100 * share:.0f} %"


def _probability(value: float | None) -> str:
    return "0" if value is None else f"{value:.3g}"


def _count(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{spoken(count)} {noun}s"
