"""LocalLog: a log in one file of this machine, in SQLite. What is acknowledged is on the disk.

A thread of each process writes, many appends in one transaction; any number of processes may do so, and read beside.
"""
