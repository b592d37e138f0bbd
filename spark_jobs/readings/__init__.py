"""Queries over readings: which windows are due, and their answers as records."""
