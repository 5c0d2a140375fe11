BatchCounts: type[object]
