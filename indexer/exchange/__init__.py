"""Findings on their way out of a store (`export`) and into one (`exchange`)."""
