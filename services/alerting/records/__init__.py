"""Records that alerting reads, registered sensors, alerts and receivers: they know no topic and no table."""
