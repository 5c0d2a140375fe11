"""What can be read of a damaged SQLite file, page by page."""
