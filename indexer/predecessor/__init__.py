"""The predecessor, BAZINGA: its database brought in (`importer`), and its own view of this store.

`importer` reads a database and writes ours; `packages`, `groups`, `errors`, `signature` and `views` are what its
commands, which `ctxrank.cli.bazinga` carries on, need beyond ours.
"""
