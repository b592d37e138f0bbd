"""Which accepted rows match, and what is said of each match.

The core imports `Finder` and the judges; the rest is their search.
"""
