"""Joins: the fields of a query that joins streams, their checks, and its SQL.

`join_query` has the fields: `edges` say how near in time its roles must be, `role_filter` which detections play them,
`episode_rule` how matches become episodes, and `match_limits` how many there may be. `join_sql` writes and reads SQL.
"""
