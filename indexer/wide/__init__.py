"""A store's documents in an OpenSearch cluster: the connection, and the updater that sends the change log."""
