"""Silence written from the definition: every heartbeat looks at every area of its partition."""

from dataclasses import dataclass, field


@dataclass
class SlowSilence:
    """Moves watermarks of silent areas; `quiet_us` None: never."""

    quiet_us: int | None
    heard_us: dict[int, int] = field(default_factory=dict)
    listened_us: dict[int, int] = field(default_factory=dict)  # by partition: sum of the steps listened through
    since_us: dict[str, tuple[int, int]] = field(default_factory=dict)  # by area: partition, time listened at its frame
    counted_us: dict[str, int] = field(default_factory=dict)  # by area: by how much its watermark was moved since

    def frame(self, area: str, partition: int, received_at_us: int) -> None:
        self._hear(partition, received_at_us)
        self.since_us[area] = partition, self.listened_us[partition]
        self.counted_us[area] = 0

    def heartbeat(self, partition: int, received_at_us: int, watermark_us: dict[str, int]) -> None:
        self._hear(partition, received_at_us)
        for area, (of_partition, since_us) in self.since_us.items():
            if of_partition == partition and self.quiet_us is not None:
                beyond_us = max(0, self.listened_us[partition] - since_us - self.quiet_us)
                if area in watermark_us:
                    watermark_us[area] += beyond_us - self.counted_us[area]
                self.counted_us[area] = beyond_us

    def _hear(self, partition: int, received_at_us: int) -> None:
        before_us = self.heard_us.setdefault(partition, received_at_us)
        self.listened_us.setdefault(partition, 0)
        step_us = received_at_us - before_us
        if self.quiet_us is not None and abs(step_us) > self.quiet_us:
            self.heard_us[partition] = received_at_us
        else:
            self.heard_us[partition] = max(before_us, received_at_us)
            self.listened_us[partition] += max(step_us, 0) if self.quiet_us is not None else 0
