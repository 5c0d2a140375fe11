"""Everything of the predecessor: its commands, which `run` calls, and `import bazinga`. No other room imports it."""
