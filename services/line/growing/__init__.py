"""Growing: the log of a line in one process, copied into Kafka, and the way back.

- `folder_lock`: one process at a time has the folder of a line, and none once it has grown
- `growth_note`: what the folder says of a copy that has begun
- `log_copy`: every record of one log into another, from where an attempt before was cut short
"""
