"""What a run has found, as a table in Markdown and as JSON lines."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from trials.chaos.balance import Balance
from trials.chaos.watching import Growth

#: After its end a fault may be felt for so long, not longer.
RECOVERS_WITHIN_S = 30.0


@dataclass(frozen=True)
class Outcome:
    """What became of one fault."""

    fault: str
    at_s: float  # since the run began
    lasted_s: float = 0.0
    recovered_s: float | None = None  # None: it did not, or it was not tried
    not_tried: str | None = None  # why
    went_wrong: str | None = None  # what kept the fault from being done or undone as it should be
    load_per_core: float = 0.0  # of the machine, in the minute before the line worked again

    @property
    def survived(self) -> bool:
        """Whether the line worked again soon enough."""
        if self.not_tried is not None or self.went_wrong is not None or self.recovered_s is None:
            return False
        return self.recovered_s <= RECOVERS_WITHIN_S


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def faults_table(outcomes: Iterable[Outcome]) -> str:
    """Return how often each fault was tried and survived, and how long the line needed afterwards."""
    by_fault: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        by_fault[outcome.fault].append(outcome)
    seconds = ("seconds it lasted: most", "seconds to recover: median", "most")
    header = ("fault", "tried", "survived", *seconds, "load per core: most")
    return table(header, [_row(name, each) for name, each in sorted(by_fault.items())])


def _row(name: str, outcomes: list[Outcome]) -> list[object]:
    tried = [each for each in outcomes if each.not_tried is None]
    if not tried:
        return [name, f"not tried: {outcomes[0].not_tried}", *[""] * 5]
    seconds = [each.recovered_s for each in tried if each.recovered_s is not None]
    most = f"{max(seconds):.1f}" if len(seconds) == len(tried) else "never"
    lasted, load = max(each.lasted_s for each in tried), max(each.load_per_core for each in tried)
    shown = (f"{lasted:.0f}", f"{median(seconds):.1f}" if seconds else "", most, f"{load:.1f}")
    return [name, len(tried), sum(each.survived for each in tried), *shown]


def balance_table(found: Balance) -> str:
    """Return the counts, one a line."""
    rows = [
        (name.replace("_", " "), len(each) if isinstance(each, list) else each) for name, each in asdict(found).items()
    ]
    return table(("what", "count"), rows)


def growth_table(growth: Mapping[str, Growth]) -> str:
    """Return the first and the last figure of each process, and the slope."""
    rows = [(name, f"{each.first:.0f}", f"{each.last:.0f}", f"{each.per_hour:+.0f}") for name, each in growth.items()]
    return table(("what", "first", "last", "slope an hour"), rows)


def write_line(file: Path, kind: str, content: Mapping[str, object]) -> None:
    """Add one line of JSON to the run's record."""
    with file.open("a", encoding="utf-8") as record:
        record.write(json.dumps({"kind": kind, **content}) + "\n")
