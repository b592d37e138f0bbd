"""Runs over history: one from request to folder, the queue of runs, what is asked over HTTP, and comparisons."""
