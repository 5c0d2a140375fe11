"""Which of it, in what order, how much of it, and why."""
