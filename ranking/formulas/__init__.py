"""The formulas of the ranking: pure functions of numbers, each with a legend and its source."""
