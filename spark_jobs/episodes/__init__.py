"""Episodes: the matches of a query, coalesced as they arrive, as records that are revised and retracted.

The core imports `Episodes`, the state its slots.
"""
