"""A search: a query in, ranked hits with reasons out; it does not import context assembly."""
