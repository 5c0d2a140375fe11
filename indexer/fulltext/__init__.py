"""The derived index: its file, the engine that asks it, the updater that applies the change log, and how it heals."""
