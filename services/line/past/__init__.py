"""The past of the line in one process: its archive, and runs over history, which a second process does.

`history_app` is what the line has of it: routes, the queue of runs, and the thread that has the archive written. All
that is heavy is in `worker`, a process that is started for one task and ends with it. It needs pyarrow; the line does
not.
"""
