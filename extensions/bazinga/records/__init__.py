"""What the predecessor's commands need beyond the records of the store: its views, names, signatures and its block."""
