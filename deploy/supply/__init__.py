"""What the system is made of: a bill of materials from the locks, the licences, and advisories that name a part."""
