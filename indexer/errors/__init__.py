"""Errors met before: their signatures, what fixed them, and the failures that wait for a fix."""
