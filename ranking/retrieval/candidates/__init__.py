"""Which rows of the index are scored, and the proof that no other can be among the best."""
