"""The tables of linked artifacts, as the core asks about them: see indexer/owners.py."""

import os

from ctxrank.extensions.links.artifact import VERSION
from ctxrank.indexer.declarations import declared
from ctxrank.indexer.owners import Owner
from ctxrank.indexer.text.tables import rows

_KINDS, _APART = declared(rows(__file__, "tables"))

OWNER = Owner("links", VERSION, os.path.dirname(__file__), tuple(_KINDS.values()), _APART, is_read_again=True)
