"""What chance gives to questions over files: beside an answer, as a table, and counted by time slides."""
