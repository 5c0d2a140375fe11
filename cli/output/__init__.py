"""What leaves a command: the JSON envelope, text and progress."""
