"""Episodes: the matches of a query, coalesced as they arrive and told as records that are revised and retracted."""
