"""A program from its command to its end: how it begins and what it exits with, its signals, and its HTTP server."""
