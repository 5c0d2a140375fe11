"""Text as it is searched: passages, identifiers, tokens and lines; it knows nothing of a store."""
