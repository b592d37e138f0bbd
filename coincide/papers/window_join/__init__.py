"""The nine algorithms of the window join paper, for exact times, and what they rest on."""
