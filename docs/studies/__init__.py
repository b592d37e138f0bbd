"""Studies that the explanation pages quote: an earthquake morning, and what the papers' algorithms cost.

Each module computes the numbers of a page and draws its pictures; `python -m benchmarks NAME` prints its tables.
"""
