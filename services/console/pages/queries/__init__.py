"""The page Queries: what the system is asked, what each query can find, and changes of them."""
