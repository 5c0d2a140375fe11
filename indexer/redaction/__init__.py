"""Secrets: how they are known in a text, and taken out of it before anything else is done."""
