"""Records of what the engine finds, and of what nobody could use."""
