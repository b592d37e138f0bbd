"""Chunks: how a join or a coalescing of any size is cut into parts that give the same answer when put together.

A chunk is a stretch of one area's time. `reach` says how far beyond its end a chunk of a join has to see. Joins cut
DataFrames by `time_cells`, and sorted files by `key_ranges`; `chunk_joins` says what to answer for a chunk. Coalescing
cuts DataFrames by `cutting`, and `stitching` says how runs go on from chunk to chunk. Nothing here knows Spark, reads a
file or has a clock; `coincide.spark` has the rest.
"""
