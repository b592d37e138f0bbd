"""What lists give to other programs: their columns, and JSON lines, CSV and Parquet of them."""
