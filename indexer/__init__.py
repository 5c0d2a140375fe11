"""What is stored, what is searchable, and how both stay in step with the world.

    from ctxrank.indexer import open_store

    with open_store() as store:
        ...
"""

from ctxrank.indexer.store import Store, create_store, open_store

__all__ = ["Store", "create_store", "open_store"]
