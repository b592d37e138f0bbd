"""Benchmarks of history: how long a what-if and a rebuild take, and what a run does to what is live."""
