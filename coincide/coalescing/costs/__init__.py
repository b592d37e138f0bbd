"""What eager and lazy coalescing cost, and which of them each query should use; `coincide.coalescing` has the names."""
