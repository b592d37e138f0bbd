"""The fault suite: the whole system, real faults in an order from a seed, and a ledger that must come out even.

``make chaos`` runs it (docs/how-to/try-faults.md); a short run of it is a test of `make check-all`.
"""
