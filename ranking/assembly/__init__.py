"""The block for one spawn: what may stand in it, what the budget takes, and its receipt."""
