"""Whether the evidence says what is true."""
