"""Queries over readings: which windows are due, and their answers; the core imports `SlidingQueries`."""
