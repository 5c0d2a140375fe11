"""The kinds of record: sessions, packages, what agents thought, strategies, skills, events and receipts."""
