"""A checkout of the predecessor switched over to this store, and back: `bazinga install` and `bazinga uninstall`."""
