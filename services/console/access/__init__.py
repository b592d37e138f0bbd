"""Who may look: sessions of people who signed in with a key, and the gate before every request."""
