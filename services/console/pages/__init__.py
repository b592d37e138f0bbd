"""What people see: the shell around every page, and a module for each page; `page_list` says which there are."""
