"""How the line is: its components with rates and delays, what is wrong now, and what was refused."""
