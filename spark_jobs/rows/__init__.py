"""From frames to accepted rows in columns: decoded, checked, deduplicated, judged late or not.

Other packages import `EventColumns`, `Areas` and `AcceptedRows`; only the core admits rows.
"""
