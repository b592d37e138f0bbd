"""What a start of fusion goes on from: the checkpoint, or why it cannot go on alone; only the job imports it."""
