"""Known errors: recognising a failure, saving what fixed it, learning from commands."""
