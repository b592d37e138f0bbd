"""From posted items to verdicts: items are checked, stamped with templates and put into frames. No HTTP here."""
