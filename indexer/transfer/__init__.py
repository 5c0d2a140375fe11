"""Findings on their way out of a store (`export`) and into one (`import_jsonl`).

`run` and `ledger` keep an import's books, whatever it comes from: what is new, what changed, what was skipped and why.
"""
