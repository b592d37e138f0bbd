"""timing_join: the exact join of two frames, the default of all timing joins."""

from __future__ import annotations

from collections.abc import Iterator

from coincide.detections import Detections
from coincide.pairs import Pairs
from coincide.timing_join.batch_join import BatchJoin
from coincide.timing_join.sensor_rule import SensorRule
from coincide.window import Window


def timing_join(
    a: Detections, b: Detections | None, window: Window, threshold: float, sensors: SensorRule = "different"
) -> Pairs:
    """Pairs with P(lo <= Xb - Xa <= hi) >= threshold.

    Sorted searches find the range of partners of each event; only where templates are mixed are pairs tested.

    Parameters
    ----------
    a, b : Detections
        Rows in any order; time-ordered ones are faster. `b` None joins `a` with itself: with a symmetric window
        each pair of rows counts once, the one that comes first by (detected_at, sensor, id, position) is on the
        left; with another window both orientations are tried.
    window : Window
        Closed at both ends, a deadline or a delay.
    threshold : float
        In (0, 1].
    sensors : {"different", "same", "any"}
        Which sensors the two events may come from. Detections without a sensor differ from all others.

    Returns
    -------
    Pairs
        Positions of the rows in `a` and `b`, int64, sorted by left, then right.

    Raises
    ------
    CoincideError
        A window, threshold or rule that does not exist, or frames that do not fit each other.

    Examples
    --------
    >>> from coincide.histogram import Histogram
    >>> imb = Detections([41_374_000], [Histogram.uniform(-0.05, 0.05)])
    >>> baksan = Detections([71_818_000], [Histogram.uniform(-54, 2)])
    >>> pairs = timing_join(imb, baksan, Window(10), threshold=0.3)
    >>> pairs.left.tolist(), pairs.right.tolist(), pairs.probability.round(4).tolist()
    ([0], [0], [0.3571])
    """
    join = BatchJoin.of(a, b, window, threshold, sensors)
    left, right = join.columns()
    return Pairs(left, right, join.probabilities(left, right))


def timing_join_blocks(
    a: Detections, b: Detections | None, window: Window, threshold: float, sensors: SensorRule = "different"
) -> Iterator[Pairs]:
    """`timing_join` in parts of about 64k pairs, for answers that need not fit in memory.

    Parameters are those of `timing_join`. Parts come in the order of the left row's area and time.

    Examples
    --------
    >>> from coincide.histogram import Histogram
    >>> a = Detections(range(1000), [Histogram.point()])
    >>> sum(len(pairs) for pairs in timing_join_blocks(a, a, Window(0.0001), threshold=1))
    190900
    """
    join = BatchJoin.of(a, b, window, threshold, sensors)
    return (Pairs(left, right, join.probabilities(left, right)) for left, right in join.blocks())
