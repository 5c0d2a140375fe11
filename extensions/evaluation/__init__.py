"""The ranking as numbers."""
