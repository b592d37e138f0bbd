"""Fields of queries over readings as JSON: what is read, durations, equivalences, limits of values, and the question.

A function that reads a field names it by its whole path when it refuses it. To add a field, read and write it here,
add its name to `readings_query` or `spell_query`, and let `coincide.sliding` act on it.
"""

from __future__ import annotations

from dataclasses import fields
from itertools import chain
from typing import Any

from coincide.arrays.numbers import is_number
from coincide.coalescing.equivalences import (
    NUMBERED_EQUIVALENCES,
    PLAIN_EQUIVALENCES,
    Bounded,
    Equal,
    Equivalence,
    Quantised,
)
from coincide.errors import CoalescingError, QueryError
from coincide.json_fields import as_float, given_fields
from coincide.queries.fields.checks import refuse_unless_attribute, refuse_unless_name
from coincide.sliding.questions import Lasting, Longest, Question, Similar
from coincide.sliding.rules import RunRule
from coincide.sliding.value_limits import ValueLimits
from coincide.stream import LONGEST_DELAY_S

LIMITS = tuple(field.name for field in fields(ValueLimits))
BOUNDS = (("above", "at_least"), ("below", "at_most"))  # of each side one may be given
HYSTERESIS = ("until_below", "until_above")
QUESTIONS = ("longest", "lasting_s", "join")
READ_FIELDS = ("from", "by", "value", "where", "equivalence", "hold_s")
MOST_GROUPINGS = 8
SENSOR = "sensor"


def groupings_from_json(by: object) -> tuple[str, ...]:
    """Read the field `by`: one name, or a list of names."""
    listed = by if isinstance(by, list) else [by]
    if not all(isinstance(name, str) for name in listed):
        raise QueryError("coalesce.by", f"is {by!r}: 'sensor', 'attributes.' and a name, or a list of these")
    return tuple(listed)


def refuse_unless_readings(stream: object, by: tuple[str, ...], value: str, rule: RunRule) -> None:
    """Refuse what does not say which readings there are: stream, groups, value and limits."""
    refuse_unless_name("coalesce.from", stream)
    refuse_unless_attribute("coalesce.value", value)
    if len(by) > MOST_GROUPINGS or len(set(by)) < len(by):
        raise QueryError("coalesce.by", f"is {list(by)!r}: at most {MOST_GROUPINGS}, each named once")
    for name in by:
        if name != SENSOR:
            refuse_unless_attribute("coalesce.by", name)
    if rule.limits is not None:
        refuse_unless_limits(rule.limits)


def rule_from_json(coalesce: dict[str, Any], usual_hold_us: int) -> RunRule:
    """Read `where`, `equivalence` and `hold_s`."""
    limits = limits_from_json(coalesce["where"]) if "where" in coalesce else None
    written = coalesce.get("equivalence", _usual_equivalence(limits))
    hold_us = duration_us("coalesce.hold_s", coalesce["hold_s"]) if "hold_s" in coalesce else usual_hold_us
    return RunRule(hold_us, limits, equivalence_from_json("coalesce.equivalence", written))


def rule_to_json(rule: RunRule, usual_hold_us: int) -> dict[str, object]:
    """Return the fields of a rule but for what follows from others unless it is given, so that it follows."""
    written: dict[str, object] = {}
    if rule.limits is not None:
        written["where"] = limits_to_json(rule.limits)
    equivalence = equivalence_to_json(rule.equivalence)
    if equivalence != _usual_equivalence(rule.limits):
        written["equivalence"] = equivalence
    if rule.hold_us != usual_hold_us:
        written["hold_s"] = seconds_of(rule.hold_us)
    return written


def _usual_equivalence(limits: ValueLimits | None) -> str:
    """With limits alone, a run is about values within them."""
    return "equal" if limits is None else "any"


def needs_numbers(rule: RunRule) -> bool:
    """Whether only numbers count as values; else strings, true and false do as well."""
    return rule.limits is not None or not isinstance(rule.equivalence, Equal | None)


def duration_us(path: str, seconds: object) -> int:
    """Return a number of seconds, from 1e-6 to 1e8, in whole microseconds."""
    if not is_number(seconds) or not 1e-6 <= seconds <= LONGEST_DELAY_S:  # type: ignore[operator]
        raise QueryError(path, f"is {seconds!r}: a number of seconds from 1e-6 to {LONGEST_DELAY_S:g}")
    return round(seconds * 1e6)  # type: ignore[operator]


def seconds_of(duration: int) -> float | int:
    """Return microseconds as seconds; a whole number as such."""
    return duration // 1_000_000 if duration % 1_000_000 == 0 else duration / 1e6


def equivalence_from_json(path: str, obj: object) -> Equivalence | None:
    """Read an equivalence; "any" is None: any value goes on from any other."""
    if isinstance(obj, str) and obj in PLAIN_EQUIVALENCES:
        return PLAIN_EQUIVALENCES[obj]
    if not isinstance(obj, dict) or len(obj) != 1 or obj.keys() - NUMBERED_EQUIVALENCES.keys():
        forms = '"equal", "any", "increasing", "decreasing", {"bounded": e}, {"relative": r}, {"quantised": step}'
        raise QueryError(path, f"is {obj!r}: one of {forms}")
    [(name, number)] = obj.items()
    try:
        return NUMBERED_EQUIVALENCES[name](as_float(number))
    except CoalescingError as error:
        raise QueryError(f"{path}.{name}", error.message) from None


def equivalence_to_json(equivalence: Equivalence | None) -> object:
    """Write an equivalence as `equivalence_from_json` reads it."""
    if isinstance(equivalence, Bounded):
        return {"relative" if equivalence.relative else "bounded": equivalence.epsilon}
    if isinstance(equivalence, Quantised):
        return {"quantised": equivalence.step}
    return next(name for name, plain in PLAIN_EQUIVALENCES.items() if plain == equivalence)


def limits_from_json(obj: object) -> ValueLimits:
    """Read the field `where`; unknown limits are refused."""
    return ValueLimits(**{name: as_float(limit) for name, limit in given_fields("where", obj, LIMITS).items()})


def limits_to_json(limits: ValueLimits) -> dict[str, float]:
    """Return the limits that are given."""
    return {name: limit for name in LIMITS if (limit := getattr(limits, name)) is not None}


def refuse_unless_limits(limits: ValueLimits) -> None:
    """Refuse limits that are none, no numbers, given twice, or that no number fulfils."""
    given = limits_to_json(limits)
    if not given:
        raise QueryError("where", f"is empty: give one or two of {', '.join(chain(*BOUNDS))}")
    for name, limit in given.items():
        if not is_number(limit):
            raise QueryError(f"where.{name}", f"is {limit!r}: a finite number")
    for one, other in BOUNDS:
        if one in given and other in given:
            raise QueryError(f"where.{other}", f"and {one} are both given: one of them is enough")
    for until, bounds, where in (("until_below", BOUNDS[0], "at most"), ("until_above", BOUNDS[1], "at least")):
        if until in given:
            _refuse_unless_beyond(until, given, bounds, where)
    least, greatest = limits.range
    if least > greatest:
        raise QueryError("where", "holds of no number: the lower bound is not below the upper one")


def _refuse_unless_beyond(until: str, given: dict[str, float], bounds: tuple[str, str], where: str) -> None:
    """Refuse what ends a spell where no limit on that side begins one, or where a spell would end as it begins."""
    name = next((each for each in bounds if each in given), None)
    if name is None:
        raise QueryError(f"where.{until}", f"is given without {' or '.join(bounds)}, the limit beyond which one begins")
    if given[until] > given[name] if where == "at most" else given[until] < given[name]:
        raise QueryError(f"where.{until}", f"is {given[until]!r}: {where} {given[name]!r}, which {name} says")


def refuse_hysteresis(limits: ValueLimits | None) -> None:
    """Refuse limits that only spells have: in windows each reading counts or does not, whatever came before it."""
    for name in () if limits is None else HYSTERESIS:
        if getattr(limits, name) is not None:
            raise QueryError(f"where.{name}", "is of spells only: leave it out, or coalesce.window")


def question_from_json(given: dict[str, object]) -> Question:
    """Read which of the three questions a query asks, from its fields."""
    names = [name for name in QUESTIONS if name in given]
    if len(names) != 1:
        raise QueryError((names or QUESTIONS)[0], f"give exactly one of {', '.join(QUESTIONS)}")
    if "lasting_s" in given:
        return Lasting(duration_us("lasting_s", given["lasting_s"]))
    if "join" in given:
        return _similar(given["join"])
    if given["longest"] is not True:
        raise QueryError("longest", f"is {given['longest']!r}: true, or leave it out")
    return Longest()


def question_to_json(question: Question) -> dict[str, object]:
    """Return the field of the query that asks it."""
    if isinstance(question, Longest):
        return {"longest": True}
    lasting = {"lasting_s": seconds_of(question.lasting_us)}
    return {"join": {"within": question.within, **lasting}} if isinstance(question, Similar) else {**lasting}


def _similar(obj: object) -> Similar:
    join = given_fields("join", obj, ("within", "lasting_s"), ("lasting_s",))
    within = as_float(join.get("within", 0.0))
    if not is_number(within) or within < 0:
        raise QueryError("join.within", f"is {within!r}: a finite number, at least 0")
    return Similar(within, duration_us("join.lasting_s", join["lasting_s"]))
