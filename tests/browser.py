"""A real browser for tests, with a font to draw with, and Playwright's driver of it."""

from functools import cache

from tests.needs import found


@cache
def find_browser() -> str:
    """Return the program; where it, or what it needs, is not here the test is skipped, and in CI it fails."""
    found("fonts-dejavu-core")
    found("libatomic1")
    return found("chromium")
