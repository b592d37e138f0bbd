"""The slow twin of coincide.places: Vincenty's inverse formula (Survey Review, 1975), good to half a millimetre."""

from math import atan, atan2, cos, hypot, radians, sin, sqrt, tan

A, F = 6_378_137.0, 1 / 298.257223563


def surface_m(lat_1: float, lon_1: float, lat_2: float, lon_2: float) -> float | None:
    """Return the length of the geodesic; None where the two are so nearly opposite that it does not settle."""
    if (lat_1, lon_1) == (lat_2, lon_2):
        return 0.0
    b, apart = (1 - F) * A, radians(lon_2 - lon_1)
    u1, u2 = (atan((1 - F) * tan(radians(lat))) for lat in (lat_1, lat_2))
    turn = apart
    for _ in range(1000):
        sin_s = hypot(cos(u2) * sin(turn), cos(u1) * sin(u2) - sin(u1) * cos(u2) * cos(turn))
        if sin_s == 0:
            return 0.0
        cos_s = sin(u1) * sin(u2) + cos(u1) * cos(u2) * cos(turn)
        s = atan2(sin_s, cos_s)
        sin_a = cos(u1) * cos(u2) * sin(turn) / sin_s
        cos2_a = 1 - sin_a**2
        cos_2m = cos_s - 2 * sin(u1) * sin(u2) / cos2_a if cos2_a else 0.0
        c = F / 16 * cos2_a * (4 + F * (4 - 3 * cos2_a))
        before, turn = (
            turn,
            apart + (1 - c) * F * sin_a * (s + c * sin_s * (cos_2m + c * cos_s * (2 * cos_2m**2 - 1))),
        )
        if abs(turn - before) < 1e-13:
            return _length(b, cos2_a, s, sin_s, cos_s, cos_2m)
    return None


def _length(b: float, cos2_a: float, s: float, sin_s: float, cos_s: float, cos_2m: float) -> float:
    u2 = cos2_a * (A**2 - b**2) / b**2
    k = (sqrt(1 + u2) - 1) / (sqrt(1 + u2) + 1)
    big_a, big_b = (1 + k * k / 4) / (1 - k), k * (1 - 3 * k * k / 8)
    inner = cos_s * (2 * cos_2m**2 - 1) - big_b / 6 * cos_2m * (4 * sin_s**2 - 3) * (4 * cos_2m**2 - 3)
    return b * big_a * (s - big_b * sin_s * (cos_2m + big_b / 4 * inner))
