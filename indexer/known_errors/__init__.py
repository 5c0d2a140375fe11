"""Errors that were met before, what fixed them, and the failures that wait for a fix."""
