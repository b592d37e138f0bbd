"""The clock of a partition: how far received_at has come in it, and how much of that somebody listened to."""

from __future__ import annotations

from dataclasses import dataclass

NO_STEP_IS_TOO_LONG_US = 2**62


@dataclass(slots=True)
class PartitionClock:
    """How far received_at has come in one partition of the detections topic, by its frames and heartbeats in order.

    Attributes
    ----------
    heard_us : int
        received_at of the latest record.
    missed_us : int
        Sum of the steps that were too long to be listened through.
    """

    heard_us: int
    missed_us: int = 0

    @property
    def listened_us(self) -> int:
        """received_at without the steps in which nobody listened: it never goes back."""
        return self.heard_us - self.missed_us

    def hear(self, received_at_us: int, longest_step_us: int) -> None:
        """Take the time of the next record.

        A step of more than `longest_step_us` is missed: ingest was away, or its clock was set. A shorter one back is
        that of a second replica, or of a frame that took longer to be written.
        """
        step_us = received_at_us - self.heard_us
        if abs(step_us) > longest_step_us:
            self.missed_us += step_us
            self.heard_us = received_at_us
        elif step_us > 0:
            self.heard_us = received_at_us
