"""The index in an OpenSearch cluster."""
