"""Episodes: the matches of a query, coalesced as they arrive, revised and retracted; the core imports `Episodes`."""
