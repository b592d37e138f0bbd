"""Back up and restore everything that a system remembers: ``python -m services.backup save|check|restore FOLDER``.

- `folder`: a backup, which is a folder with a manifest; how it is begun, completed, checked
- `record_files`, `topic_copies`: the records of every topic in Parquet
- `topic_filling`, `exact_logs`, `places`: how they come into another log, and get the offsets again that they had
- `database`: alerting's SQLite file; `copies`: fusion's checkpoint and the files of `COINCIDE_CONFIG`
- `whole`: all of them in the order that makes them agree

What must agree with what, and why, is decision 46 (docs/adr/).
"""
