from ctxrank.ranking.formulas.bm25 import CountedColumn

def saturated_sums(
    columns: list[CountedColumn], lengths: list[int], worths: list[float], fixed: float, by_length: float
) -> list[float]: ...
