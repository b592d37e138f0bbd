"""Times in words, in UTC or in the viewer's zone."""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


@dataclass(frozen=True)
class TimeWords:
    """Says instants, which are microseconds since the epoch, in one zone."""

    zone: tzinfo = UTC

    @property
    def name(self) -> str:
        """The zone's name."""
        return "UTC" if self.zone is UTC else str(self.zone)

    def moment(self, at_us: int) -> datetime:
        """Return the instant as a moment of the zone; the nearest that there is where it is beyond all calendars."""
        bounded_us = min(max(at_us, -62_135_500_000_000_000), 253_402_200_000_000_000)
        return datetime.fromtimestamp(bounded_us // 1_000_000, UTC).astimezone(self.zone)

    def instant(self, at_us: int) -> str:
        """Return date and time to the second."""
        return f"{self.moment(at_us):%Y-%m-%d %H:%M:%S}"

    def exact(self, at_us: int) -> str:
        """Return date and time to the microsecond, and the zone."""
        return f"{self.instant(at_us)}.{at_us % 1_000_000:06d} {self.name}"

    def day(self, at_us: int) -> str:
        """Return the date."""
        return f"{self.moment(at_us):%Y-%m-%d}"

    def clock(self, at_us: int) -> str:
        """Return the time of day to a tenth of a second."""
        return f"{self.moment(at_us):%H:%M:%S}.{at_us % 1_000_000 // 100_000}"


def zone_named(name: str) -> tzinfo:
    """Return the zone of an IANA name such as Europe/Rome; UTC where there is none."""
    try:
        return ZoneInfo(name) if name not in {"", "UTC"} else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def within(seconds: float) -> str:
    """Return words that say over how long several things lie; none where it is one alone."""
    return f" within {duration(seconds)}" if seconds else ""


def duration(seconds: float) -> str:
    """Return a length of time for people: 350 ms, 4.2 s, 3 min, 5.1 h, 12 days."""
    size = abs(seconds)
    if size < 0.9995:
        return f"{seconds * 1e3:.3g} ms"
    for limit, unit_s, unit in ((99.5, 1.0, "s"), (5970, 60.0, "min"), (171_000, 3600.0, "h")):
        if size < limit:
            return f"{seconds / unit_s:.3g} {unit}"
    return f"{seconds / 86_400:.3g} days"


def rate(hertz: float) -> str:
    """Return a rate for people, in the unit that gives a number near 1: 3.2/s, 12/h, 0.4/day."""
    for unit_s, unit in ((1.0, "second"), (60.0, "minute"), (3600.0, "hour"), (86_400.0, "day")):
        if hertz * unit_s >= 0.995:
            return f"{hertz * unit_s:.3g} a {unit}" if unit != "hour" else f"{hertz * unit_s:.3g} an hour"
    years = hertz * 86_400 * 365.25
    return f"{years:.3g} a year" if years >= 0.01 else "less than one in 100 years"


def probability(value: float) -> str:
    """Return a probability as percent, never 0 or 100 unless it is."""
    if value in (0, 1):
        return f"{value * 100:.0f} %"
    if value < 0.001 or value > 0.999:
        return "< 0.1 %" if value < 0.001 else "> 99.9 %"
    return f"{value * 100:.3g} %"
