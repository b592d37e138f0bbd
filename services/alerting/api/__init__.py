"""The routes of alerting, one router a file, and the models of what they take and answer."""
