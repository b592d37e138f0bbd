"""Queries over readings: which windows are due, and their answers as records.

The core imports `SlidingQueries`.
"""
