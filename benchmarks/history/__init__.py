"""Benchmarks of runs over history: how long a what-if takes, and what a run does to what is live."""
