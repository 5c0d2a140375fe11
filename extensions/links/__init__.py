"""`.contextia/`: files that link to each other."""
