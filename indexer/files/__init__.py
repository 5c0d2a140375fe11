"""Files on disk: which ones there are, what changed, and their text as artifacts."""
