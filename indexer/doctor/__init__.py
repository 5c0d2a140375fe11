"""Whether a store is well: what is looked at, what it means, and what is done about it."""
