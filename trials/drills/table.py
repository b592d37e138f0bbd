"""Outcomes of drills as a table in Markdown."""

from collections.abc import Iterable

from trials.drills.drill import Outcome

HEAD = """\
| fault | alert | rings after | panel | is red after | unknown meanwhile | the last to clear | bars |
|---|---|---|---|---|---|---|---|"""


def table(outcomes: Iterable[Outcome]) -> str:
    return "\n".join([HEAD, *map(_line, outcomes)])


def _line(outcome: Outcome) -> str:
    fault = outcome.fault
    unknown = sorted({each.panel for each in outcome.lit if each.text == "unknown"})
    cells = [
        fault.name,
        fault.alert,
        _seconds(outcome.alert_s),
        fault.panel,
        _seconds(outcome.panel_s),
        ", ".join(unknown) or "nothing",
        f"{_seconds(outcome.last[0])} ({outcome.last[1]})",
        _bars(outcome),
    ]
    return f"| {' | '.join(cells)} |"


def _bars(outcome: Outcome) -> str:
    too_much = ", ".join(sorted(outcome.others | outcome.misled))
    return "hold" if outcome.is_good else f"broken: {too_much or 'too late'}"


def _seconds(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.0f} s"
