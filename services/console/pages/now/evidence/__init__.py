"""Why something is said to have happened together: the panel beside the timeline, and what stands on it."""
