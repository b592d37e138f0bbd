"""Which part of the past a form asks for: what is typed stays, and what names no zone is of the viewer's."""

from zoneinfo import ZoneInfo

import pytest

from services.console.pages.history.asked_range import typed_instant

ROME = ZoneInfo("Europe/Rome")


@pytest.mark.parametrize(
    ("typed", "instant"),
    [
        ("2026-07-01T12:00:00", "2026-07-01T12:00:00+02:00"),
        ("2026-01-01T12:00", "2026-01-01T12:00:00+01:00"),
        ("2026-07-01T12:00:00Z", "2026-07-01T12:00:00+00:00"),
        ("2026-07-01T12:00:00-05:30", "2026-07-01T12:00:00-05:30"),
        ("2026-07-01 12:00:00.25+00:00", "2026-07-01T12:00:00.250000+00:00"),
        ("noon", "noon"),
        ("", ""),
    ],
)
def test_what_is_typed_stays(typed: str, instant: str) -> None:
    assert typed_instant(typed, ROME) == instant
