"""What each command does: it returns a Reply, which one place prints as JSON or as text."""
