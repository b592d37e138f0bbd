"""How far the heartbeats of its partition move the watermark of an area from which nothing comes."""

import numpy as np

from coincide.arrays.kinds import CodeArray, Int64Array
from spark_jobs.rows.areas import NO_STEP_IS_TOO_LONG_US, Area, Areas, PartitionClock


class Silence:
    """The silence of the areas, followed record by record through one batch.

    A heartbeat moves the watermark of every area of its partition that has been silent for longer than `quiet_us` by
    the time listened beyond that, once. It is worked out when the area's next frame comes and at the end of the batch.
    """

    def __init__(self, areas: Areas, quiet_us: int | None) -> None:
        self._areas = areas
        self._quiet_us = quiet_us
        self._longest_step_us = NO_STEP_IS_TOO_LONG_US if quiet_us is None else quiet_us
        self._beaten_us: dict[int, int] = {}  # by partition: time listened up to its last heartbeat
        self._moved_us: dict[int, int] = {}  # by area code

    def heartbeat(self, partition: int, received_at_us: int) -> None:
        """Take the next record of a partition, a heartbeat."""
        self._beaten_us[partition] = self._heard(partition, received_at_us)

    def frame(self, area: Area, partition: int, received_at_us: int) -> int:
        """Take a frame, which ends a silence; return how far this batch had moved its area's watermark."""
        self._settle(area)
        area.partition = partition
        area.silent_since_us = self._heard(partition, received_at_us)
        return self._moved_us.get(area.code, 0)

    def moved(self) -> tuple[CodeArray, Int64Array]:
        """Return the codes of the areas whose watermarks this batch has moved, and by how many microseconds each."""
        if self._beaten_us:
            for area in self._areas:
                self._settle(area)
        codes = np.fromiter(self._moved_us.keys(), np.int32, len(self._moved_us))
        return codes, np.fromiter(self._moved_us.values(), np.int64, len(self._moved_us))

    def _heard(self, partition: int, received_at_us: int) -> int:
        clock = self._areas.clocks.setdefault(partition, PartitionClock(received_at_us))
        clock.hear(received_at_us, self._longest_step_us)
        return clock.listened_us

    def _settle(self, area: Area) -> None:
        beaten_us = self._beaten_us.get(area.partition)
        if beaten_us is None or self._quiet_us is None:
            return
        beyond_us = beaten_us - self._quiet_us - area.silent_since_us
        if beyond_us > 0:
            area.silent_since_us += beyond_us
            self._moved_us[area.code] = self._moved_us.get(area.code, 0) + beyond_us
