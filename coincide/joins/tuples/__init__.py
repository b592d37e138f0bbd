"""Tuples of events of any number of streams, tied together by a graph of time constraints."""
