"""What is stored, what is searchable, and how both stay in step with the world."""
