"""Network: how often events come, how well each sensor hears them, and how much else it reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import FloatArray, read_only
from coincide.arrays.numbers import real_numbers
from coincide.errors import RateError

GREATEST_HZ = 1e6  # times are whole microseconds


@dataclass(frozen=True, init=False, eq=False)
class Network:
    """What is known of some sensors and of the events that they hear.

    Events come at random, and each is heard by each sensor or not, whoever else hears it. An *unpaired* detection is
    one that no other sensor reports: a false one, or that of an event which nobody else heard. Unpaired detections come
    at random, too.

    Parameters
    ----------
    sensors : sequence of str
        Each named once.
    events_hz : float or None
        Events per second, above 0, whoever hears them. None: not known.
    heard_by : float or sequence of float
        The probability with which a sensor hears an event, above 0 and at most 1: one for all, or each sensor's own.
    unpaired_hz : float or sequence of float or None
        Unpaired detections per second, above 0: one for all, or each sensor's own. None: not known.

    Attributes
    ----------
    sensors : tuple of str
    events_hz : float
        NaN where it is not known.
    heard_by, unpaired_hz : ndarray of float64, shape (sensors,), read-only
        NaN where it is not known.

    Raises
    ------
    RateError
        Names the field, the value and what is allowed.

    Examples
    --------
    >>> network = Network(["imb", "baksan"], 2 / 86_400, 0.8, [0.01, None])
    >>> network.heard_by.tolist(), network.unpaired_hz.tolist()
    ([0.8, 0.8], [0.01, nan])
    """

    sensors: tuple[str, ...]
    events_hz: float
    heard_by: FloatArray
    unpaired_hz: FloatArray

    def __init__(
        self,
        sensors: Sequence[str],
        events_hz: float | None,
        heard_by: float | Sequence[float] | FloatArray,
        unpaired_hz: float | Sequence[float | None] | FloatArray | None,
    ) -> None:
        names = tuple(sensors)
        if len(names) < 2 or len(set(names)) < len(names):
            raise RateError("sensors", list(names), "two sensors or more, each named once")
        events = rates("events_hz", events_hz, ())
        object.__setattr__(self, "sensors", names)
        object.__setattr__(self, "events_hz", float(events))
        object.__setattr__(self, "heard_by", read_only(_probabilities(heard_by, len(names))))
        object.__setattr__(self, "unpaired_hz", read_only(rates("unpaired_hz", unpaired_hz, (len(names),))))

    @classmethod
    def of_noise(
        cls,
        sensors: Sequence[str],
        events_hz: float,
        heard_by: float | Sequence[float],
        noise_hz: float | Sequence[float],
    ) -> Network:
        """Return the network whose sensors report so many false detections per second, at least 0.

        Events that one sensor alone hears come on top.

        Examples
        --------
        >>> Network.of_noise(["a", "b"], 0.01, [0.5, 0.8], 0.1).unpaired_hz.round(6).tolist()
        [0.101, 0.104]
        """
        quiet = cls(sensors, events_hz, heard_by, None)
        noise = real_numbers("noise_hz", noise_hz, "rates per second, at least 0", RateError)
        if not ((noise >= 0) & (noise <= GREATEST_HZ)).all():
            raise RateError("noise_hz", noise_hz, "rates per second, at least 0")
        return cls(sensors, events_hz, heard_by, noise + events_hz * alone(quiet.heard_by))


def alone(heard_by: FloatArray) -> FloatArray:
    """Return the probability that each sensor hears an event that no other hears, shape (sensors,)."""
    others = [np.prod(np.delete(1 - heard_by, own)) for own in range(len(heard_by))]
    return heard_by * np.array(others)


def rates(field: str, given: object, shape: tuple[int, ...]) -> FloatArray:
    """Return rates above 0 in that shape, NaN where one is None; else raise RateError."""
    allowed = "numbers per second above 0, or None"
    array: npt.NDArray[np.generic] = np.asarray(given)
    if array.dtype.kind == "O":
        array = np.array([np.nan if each is None else each for each in array.ravel().tolist()]).reshape(array.shape)
    floats = real_numbers(field, array, allowed, RateError)
    if (floats <= 0).any() or (floats > GREATEST_HZ).any():
        raise RateError(field, given, allowed)
    return _in_shape(field, floats, shape)


def _probabilities(heard_by: object, sensors: int) -> FloatArray:
    allowed = "probabilities above 0 and at most 1"
    floats = real_numbers("heard_by", heard_by, allowed, RateError)  # type: ignore[arg-type]
    if not ((floats > 0) & (floats <= 1)).all():
        raise RateError("heard_by", heard_by, allowed)
    return _in_shape("heard_by", floats, (sensors,))


def _in_shape(field: str, floats: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    try:
        return np.broadcast_to(floats, shape).copy()
    except ValueError:
        raise RateError(field, f"an array of shape {floats.shape}", f"one, or an array of shape {shape}") from None
