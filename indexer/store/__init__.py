"""The primary database: its files, its schema, documents, the change log and the configuration."""
