"""Chunks: how a join or a coalescing of any size is cut into parts that give the same answer when put together.

A chunk is a stretch of one area's time. `reach` says how far beyond its end a chunk has to see, `cutting` where to cut
DataFrames, `key_ranges` where to cut sorted files, `chunk_joins` what to answer for a chunk, and `stitching` how runs
go on from chunk to chunk. Nothing here knows Spark, reads a file or has a clock; `coincide.spark` has the rest.
"""
