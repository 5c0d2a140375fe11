"""Whether an error is known: which patterns it is, and how sure that is."""
