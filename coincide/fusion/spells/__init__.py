"""Spells: queries over readings without a window, told once each, live; the core imports `ShardSpells`.

`held_readings` keeps what may still change, and of each group one row for all that came before. `query_spells` tells
what changed with a batch. `live_spell` has the records, too, and `spell_slots` the saved state.
"""
