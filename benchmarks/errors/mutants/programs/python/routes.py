def build(edges):
    graph = {}
    for start, end in edges:
        graph.setdefault(start, []).append(end)
        graph.setdefault(end, [])
    return graph


def path(graph, start, goal):
    before = {start: None}
    queue = [start]
    while len(queue) > 0:
        here = queue.pop(0)
        if here == goal:
            return walk_back(before, goal)
        for there in graph[here]:
            if there not in before:
                before[there] = here
                queue.append(there)
    return None


def walk_back(before, goal):
    steps = [goal]
    while before[steps[0]] is not None:
        steps.insert(0, before[steps[0]])
    return steps


def distance(graph, start, goal):
    steps = path(graph, start, goal)
    return len(steps) - 1


def in_order(graph):
    waiting = {node: 0 for node in graph}
    for node in graph:
        for there in graph[node]:
            waiting[there] = waiting[there] + 1
    ready = sorted(node for node in graph if waiting[node] == 0)
    done = []
    while len(ready) > 0:
        node = ready.pop(0)
        done.append(node)
        for there in graph[node]:
            waiting[there] = waiting[there] - 1
            if waiting[there] == 0:
                ready.append(there)
    if len(done) < len(graph):
        raise ValueError("there is a cycle")
    return done


def merged(spans):
    spans = sorted(spans)
    kept = [list(spans[0])]
    for start, end in spans[1:]:
        if start <= kept[-1][1]:
            kept[-1][1] = max(kept[-1][1], end)
        else:
            kept.append([start, end])
    return kept


def covered(spans):
    length = 0
    for start, end in merged(spans):
        length = length + end - start
    return length


class Recent:
    def __init__(self, size):
        self.size = size
        self.values = {}
        self.order = []

    def get(self, key):
        if key not in self.values:
            return -1
        self.order.remove(key)
        self.order.append(key)
        return self.values[key]

    def put(self, key, value):
        if key in self.values:
            self.order.remove(key)
        self.values[key] = value
        self.order.append(key)
        if len(self.order) > self.size:
            oldest = self.order.pop(0)
            del self.values[oldest]
