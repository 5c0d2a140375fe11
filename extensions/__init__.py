"""What stands beside the core: one folder each, which the core does not import."""
