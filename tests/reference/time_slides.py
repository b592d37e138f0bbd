"""Time slides from their definition: every row is moved one recorded moment at a time, and every pair is tried."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from coincide import Window
from coincide.slides.shifts import shifts_us
from tests.reference.timing_join import Row, timing_join

PAUSE = 20


def recorded_moments(rows: Sequence[Row]) -> list[int]:
    """All microseconds from the first row of an area to its last that lie in no pause; few, or it takes for ever."""
    times, reports = sorted(row.detected_at_us for row in rows), Counter((row.stream, row.sensor) for row in rows)
    longest = PAUSE * (times[-1] - times[0]) / max(reports.values())
    moments = {times[0]}
    for one, other in pairwise(times):
        moments |= {*range(one, other + 1)} if other - one <= longest else {other}
    return sorted(moments)


def slid(rows: Sequence[Row], slide: int, slides: int, least_us: int) -> list[Row]:
    """Rows with the times of one slide; sensors of an area are shifted in the order of their names."""
    by_area = defaultdict[int | str, list[Row]](list)
    for row in rows:
        by_area[row.area].append(row)
    moved = {}
    for of_area in by_area.values():
        moments, sensors = recorded_moments(of_area), sorted({str(row.sensor) for row in of_area})
        if len(sensors) < 2 or len(moments) // len(sensors) < least_us:
            continue
        shift = shifts_us(slide, slides, len(sensors), len(moments), least_us)
        for row in of_area:
            place = moments.index(row.detected_at_us) + int(shift[sensors.index(str(row.sensor))])
            moved[row.id] = replace(row, detected_at_us=moments[place % len(moments)])
    return [moved[row.id] for row in rows if row.id in moved]


def counts(
    rows: Sequence[Row], roles: Mapping[str, str], window: Window, threshold: float, slides: int, least_us: int
) -> list[int]:
    """Matches of each slide; roles a and b are streams."""
    found = (slid(rows, nth, slides, least_us) for nth in range(1, slides + 1))
    return [len(timing_join(each, roles["a"], roles["b"], window, threshold, "different")) for each in found]
