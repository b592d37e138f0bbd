"""The timing-correlation algorithms for interval timestamps, one per file."""
