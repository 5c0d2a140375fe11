"""The ranking as numbers, on collections with known answers."""
