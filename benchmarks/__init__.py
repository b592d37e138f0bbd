"""How fast Coincide is, beside what, and what the papers' algorithms cost: `python -m benchmarks` lists and runs all.

- `harness`: what a benchmark declares, and the rounds, clocks and tables that all of them share;
- `joins`, `coalescing`: the library beside DuckDB, Polars, Spark, PostgreSQL and plain Python;
- `line`: the fusion core, ingest, and the whole line under load;
- `earthquakes`: what the joins find in a real morning of aftershocks;
- `figures`: costs in counts, and the pictures of the papers; nothing there is timed;
- `registry` names every benchmark; `compare` runs the `micro` benchmarks against another checkout.

Tests and pages may import `registry`, `earthquakes` and `figures`.
"""
