"""What people see: the shell around every page, and a folder for each page (`services.console.app` lists them)."""
