"""CoalescingError: what cannot be coalesced."""

from __future__ import annotations

from coincide.errors import CoincideError


class CoalescingError(CoincideError):
    """A time, group, value, equivalence or window extent that cannot be used."""
