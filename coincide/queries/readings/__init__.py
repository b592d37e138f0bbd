"""Queries over the readings of one stream, in windows or as spells: their fields, and their SQL.

`readings_query` asks about windows, `spell_query` about spells. `reading_fields` reads what both share. `readings_sql`
writes and reads SQL, with `readings_join_sql` for two groups and `reading_clauses` for what they share.
"""
