"""A damaged SQLite file, read page by page."""
