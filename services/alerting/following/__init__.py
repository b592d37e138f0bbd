"""The thread that follows the log: records read, sorted and stored; and the publisher of queries."""
