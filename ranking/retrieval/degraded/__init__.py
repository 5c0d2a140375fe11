"""Whether the index can answer, and what answers when it cannot."""
