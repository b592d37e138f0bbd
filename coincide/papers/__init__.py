"""The algorithms of the four papers, as printed and as corrected: to read, to measure and to test against.

Nothing that users run imports this package; tests, docs and benchmarks do. Start at `algorithms`: it lists every join
algorithm with its paper and what it assumes. The two algorithms of the coalescing paper are `coincide.EagerCoalescing`
and `coincide.LazyCoalescing`.

- `recording`: recorded streams as the algorithms read them, one event after the other
- `counted_answer`: what an algorithm finds, and the work that it counts
- `sorted_buffers`: the events that an algorithm keeps
- `interval_timing`: timing joins of interval timestamps
- `ptjoin`: timing joins of histogram timestamps
- `window_join`: window joins of exact times
"""
