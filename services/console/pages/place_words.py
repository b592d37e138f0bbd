"""Where the source of a match was, in words."""

from __future__ import annotations

from msgspec import UnsetType

from coincide.wire.results.source_place import SourcePlace
from services.console.pages.time_words import duration, probability


def where_words(place: SourcePlace) -> str:
    """Return in a sentence where it was, and how far that is determined."""
    peak, ellipse = place.peak, place.ellipse
    if isinstance(peak.lat, UnsetType) or isinstance(peak.lon, UnsetType):
        at = f"x {peak.x_m:.4g} m, y {peak.y_m:.4g} m, z {peak.z_m:.4g} m in the frame of the area"
    else:
        north, east = ("N" if peak.lat >= 0 else "S"), ("E" if peak.lon >= 0 else "W")
        at = f"{abs(peak.lat):.5f}° {north}, {abs(peak.lon):.5f}° {east}"
        if not isinstance(peak.height_m, UnsetType) and peak.height_m:
            at += f", {length(abs(peak.height_m))} {'high' if peak.height_m > 0 else 'deep'}"
    return (
        f"One source explains the times, with {probability(place.probability)}. Most probably it was at {at}; "
        f"with 90 % in an ellipse of {length(2 * ellipse.major_m)} by {length(2 * ellipse.minor_m)}."
    )


def residual_words(late_s: float) -> str:
    """Return by how much a member came later, or earlier, than from the most probable place."""
    return f"{duration(abs(late_s))} {'later' if late_s >= 0 else 'earlier'} than from there"


def length(metres: float) -> str:
    """Return a length for people."""
    return f"{metres / 1000:.3g} km" if metres >= 999.5 else f"{metres:.3g} m"
