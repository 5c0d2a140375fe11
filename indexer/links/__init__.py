"""Linked artifacts: Markdown files that name each other by id, read, kept in step and checked."""
