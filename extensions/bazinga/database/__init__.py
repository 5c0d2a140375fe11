"""The predecessor's database, read into the lines that `ctxrank export` writes."""
