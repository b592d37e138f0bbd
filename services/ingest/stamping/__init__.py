"""From posted items to verdicts: checked, stamped with templates, put into frames. No HTTP, no Kafka client."""
