"""ArchiveMetrics: what the archive job has written."""

from prometheus_client import CollectorRegistry, Counter


class ArchiveMetrics:
    """Counts of this process; a batch that is repeated after a crash is counted again."""

    def __init__(self, registry: CollectorRegistry) -> None:
        prefix = "coincide_archive_"
        self.rows = Counter(f"{prefix}rows", "Detections written.", registry=registry)
        self.files = Counter(f"{prefix}files", "Files written, merged ones not included.", registry=registry)
        self.merged = Counter(
            f"{prefix}merged_files", "Small files that became part of larger ones.", registry=registry
        )
        self.unusable = Counter(
            f"{prefix}unusable", "Records that are no frames, and detections that cannot be used.", registry=registry
        )
