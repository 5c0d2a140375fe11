"""How each kind of line comes in: what is read of it, how a twin of it is found, and what is written."""
