"""SQL as queries are written in it, whatever their kind.

`grammar` has the grammar and what is wrong with a text that it does not fit; it needs lark, and nothing else here does.
`statement` says what each clause means. `spelling` reads and writes names, numbers, durations and limits.
"""
