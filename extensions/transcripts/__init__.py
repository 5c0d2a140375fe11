"""What agent sessions left behind, read."""
