"""Whether a store is well: what is checked, what it means, and how it is repaired."""
