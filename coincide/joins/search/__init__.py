"""The search of one query: which tuples of buffered events the new ones complete.

A `Pattern` says what a query asks of events, and `InstalledPattern` finds it. `edge_judges` knows which offsets qualify
along its edges. `tuple_search` finds tuples with a member in every role, `set_search` the largest sets of at least so
many members. A `SearchWork` is told what a search does, and may end it. The streaming joins and the fusion job search
alike.
"""
