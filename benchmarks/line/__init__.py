"""The line from a POST to a match: the fusion core alone, ingest alone, and the whole line under load.

`ingest`, `latency` and `throughput` start real processes on this machine and measure wall time; `fusion_core` is the
join without Spark and Kafka, in CPU time, and `small_pushes` the same for a few detections at once. `stages` says where
the CPU time goes: `one_process` and `stage_clock` time our own code, `threads` the processes of the whole line.
`gateways` makes the load, `whole_line` and `transport` are put under it.
`log_appends` is the log alone, in Kafka and in a file. `serve_load` is the line in one process. `first_match` and
`serve_first_match` say what somebody waits for who tries `make demo` and `coincide serve`.
"""
