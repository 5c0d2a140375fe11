"""The block for one spawn: what is eligible, in which order, what the budget takes, and its receipt."""
