"""The machine that runs it: free ports, the one kind of error, and waiting for processes as long as they work."""
