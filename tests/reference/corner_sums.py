"""P(lo <= Xb - Xa <= hi) of two templates in integers of any size, and every promise about a set of offsets checked.

Independent of the library and of the other twins. A density is a sum of steps (one at each edge, as high as the density
jumps there) and of atoms. So the distribution of Xv - Xu is, exactly,

    cdf(x) = sum of w (x - c)^2 / 2 over pairs of steps + sum of w (x - c) over a step and an atom
             + sum of w over pairs of atoms,            each over the corners c = (place in v) - (place in u) below x.

Times are whole numbers of a unit in which every edge, bound and microsecond is exact; weights are whole numbers of
2**-400. What is rounded is a weight's last digit: an error below 1e-50.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import accumulate, pairwise
from math import comb, lcm

from coincide import Histogram, Window

TOLERANCE = Fraction(1, 10**12)
ATOM_TOLERANCE_S = 1e-9  # an atom this close to a bound lies on it
WEIGHT_BITS = 400

Place = tuple[int, int]  # where (in units of time), how much (in units of weight)


class Corners:
    """sum of w (x - c)^power over the corners c below x, by prefix sums of w, w c and w c^2."""

    def __init__(self, corners: Iterable[Place], power: int) -> None:
        in_order = sorted(corners)
        self.at = [c for c, _ in in_order]
        self.power = power
        self.moments = [list(accumulate((w * c**n for c, w in in_order), initial=0)) for n in range(power + 1)]

    def __call__(self, x: int, *, closed: bool = True) -> int:
        """Value at x; `closed` counts corners at x itself, which matters to a power of 0 alone."""
        count = bisect_right(self.at, x) if closed else bisect_left(self.at, x)
        power = self.power  # (x - c)^power, multiplied out
        terms = (comb(power, n) * x ** (power - n) * (-1) ** n * m[count] for n, m in enumerate(self.moments))
        return int(sum(terms))

    def curvature(self, x: int) -> tuple[int, int]:
        """Value and slope terms (w, w c) just above x."""
        count = bisect_right(self.at, x)
        return self.moments[0][count], self.moments[1][count]


class Difference:
    """Xv - Xu, and with a window the probability of every offset tb - ta."""

    def __init__(self, u: Histogram, v: Histogram, window: Window) -> None:
        floats = [*u.edges_s.tolist(), *v.edges_s.tolist(), window.lo_s, window.hi_s, ATOM_TOLERANCE_S]
        self.unit = lcm(10**6, *(Fraction(x).denominator for x in floats))  # units in a second
        self.microsecond = self.unit // 10**6
        self.lo, self.hi = self._units(window.lo_s), self._units(window.hi_s)
        self.nanosecond = self._units(ATOM_TOLERANCE_S)
        u_steps, u_atoms = self._steps_and_atoms(u)
        v_steps, v_atoms = self._steps_and_atoms(v)
        # the density of -Xu steps at -e by minus what that of Xu steps at e
        self.squares = Corners(((d - c, -w * x) for c, w in u_steps for d, x in v_steps), 2)
        lines = [(d - c, -w * x) for c, w in u_steps for d, x in v_atoms]
        lines += [(d - c, w * x) for c, w in u_atoms for d, x in v_steps]
        self.lines = Corners(lines, 1)
        self.jumps = Corners(((d - c, w * x) for c, w in u_atoms for d, x in v_atoms), 0)

    def _units(self, seconds: float) -> int:
        return int(Fraction(seconds) * self.unit)

    def _steps_and_atoms(self, h: Histogram) -> tuple[list[Place], list[Place]]:
        edges = [self._units(edge) for edge in h.edges_s.tolist()]
        steps: list[Place] = []
        atoms: list[Place] = []
        for k, mass in enumerate(h.mass.tolist()):
            weight, length = int(Fraction(mass) * 2**WEIGHT_BITS), edges[k + 1] - edges[k]
            if length == 0:
                atoms.append((edges[k], weight))
            else:
                steps += [(edges[k], weight // length), (edges[k + 1], -(weight // length))]
        return steps, atoms

    def probability(self, offset_us: int) -> Fraction:
        offset = offset_us * self.microsecond
        lo, hi = self.lo - offset, self.hi - offset
        twice = self.squares(hi) - self.squares(lo) + 2 * (self.lines(hi) - self.lines(lo))
        twice += 2 * (self.jumps(hi + self.nanosecond) - self.jumps(lo - self.nanosecond, closed=False))
        return Fraction(twice, 2 ** (2 * WEIGHT_BITS + 1))

    def breaks(self) -> list[int]:
        """Offsets, in units, at which P bends or jumps; sorted."""
        found = {end - c for end in (self.lo, self.hi) for c in {*self.squares.at, *self.lines.at}}
        for c in self.jumps.at:
            found |= {self.lo - self.nanosecond - c, self.lo - c, self.hi - c, self.hi + self.nanosecond - c}
        return sorted(found)

    def turning_points(self, breaks: list[int]) -> Iterator[int]:
        """Offsets between breaks where P is level, in units, rounded down."""
        for left, right in ((left, right) for left, right in pairwise(breaks) if right - left >= 2):
            # P'(offset) = (slope of cdf at lo - offset) - (slope at hi - offset), linear in the offset here
            middle = (left + right) // 2
            at_lo, at_hi = self._slope(self.lo - middle), self._slope(self.hi - middle)
            bend = at_hi[1] - at_lo[1]
            if bend:
                level = middle - (at_lo[0] - at_hi[0]) // bend
                if left < level < right:
                    yield level

    def _slope(self, x: int) -> tuple[int, int]:
        w, wc = self.squares.curvature(x)
        line, _ = self.lines.curvature(x)
        return w * x - wc + line, w

    def telling_offsets(self, intervals: list[list[int]]) -> list[int]:
        """Whole microseconds between which P is monotone and the set has no end: if these are right, all are."""
        breaks = self.breaks()
        places = [*breaks, *self.turning_points(breaks)]
        whole = {place // self.microsecond + step for place in places for step in (-1, 0, 1, 2)}
        whole |= {end + step for interval in intervals for end in interval for step in (-1, 0, 1)}
        return sorted(whole)

    def misjudged(self, threshold: float, intervals: list[list[int]]) -> list[tuple[int, bool, float]]:
        """(offset, whether the set has it, P - threshold) of every telling offset on the wrong side."""
        wrong = []
        for offset in self.telling_offsets(intervals):
            inside = any(lo <= offset <= hi for lo, hi in intervals)
            excess = self.probability(offset) - Fraction(threshold)
            if excess < -TOLERANCE if inside else excess >= TOLERANCE:
                wrong.append((offset, inside, float(excess)))
        return wrong

    def missed_certainties(self, u: Histogram, v: Histogram, intervals: list[list[int]]) -> list[int]:
        """Offsets that threshold 1 must have: every possible pair of times lies in the window."""
        earliest = self._units(v.earliest_s) - self._units(u.latest_s)
        latest = self._units(v.latest_s) - self._units(u.earliest_s)
        least, greatest = -((earliest - self.lo) // self.microsecond), (self.hi - latest) // self.microsecond
        if least > greatest:
            return []
        tried = {least, greatest} | {e + s for i in intervals for e in i for s in (-1, 1) if least <= e + s <= greatest}
        return sorted(o for o in tried if not any(lo <= o <= hi for lo, hi in intervals))
