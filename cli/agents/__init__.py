"""What agent runners call: hooks, and what writes them into a runner's own files."""
