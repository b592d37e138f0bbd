"""What all benchmarks share: a declaration, rounds in which everybody takes turns, and Markdown tables.

`rounds` times work and compares answers; `declaration` says what a benchmark is and makes its tables; `surroundings`
says what the benchmark runs on. Any benchmark may import all of it; nothing here knows Coincide.
"""
