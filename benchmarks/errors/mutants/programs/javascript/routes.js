function build(edges) {
  const graph = {};
  for (const [start, end] of edges) {
    graph[start] = graph[start] || [];
    graph[start].push(end);
    graph[end] = graph[end] || [];
  }
  return graph;
}

function walkBack(before, goal) {
  const steps = [goal];
  while (before[steps[0]] !== null) {
    steps.unshift(before[steps[0]]);
    if (steps.length > 100) {
      throw new RangeError("the way has no end");
    }
  }
  return steps;
}

function path(graph, start, goal) {
  const before = { [start]: null };
  const queue = [start];
  while (queue.length > 0) {
    const here = queue.shift();
    if (here === goal) {
      return walkBack(before, goal);
    }
    for (const there of graph[here]) {
      if (!(there in before)) {
        before[there] = here;
        queue.push(there);
      }
    }
  }
  return null;
}

function distance(graph, start, goal) {
  const steps = path(graph, start, goal);
  return steps.length - 1;
}

function inOrder(graph) {
  const waiting = {};
  for (const node of Object.keys(graph)) {
    waiting[node] = 0;
  }
  for (const node of Object.keys(graph)) {
    for (const there of graph[node]) {
      waiting[there] = waiting[there] + 1;
    }
  }
  const ready = Object.keys(graph).filter((node) => waiting[node] === 0);
  const done = [];
  while (ready.length > 0) {
    const node = ready.shift();
    done.push(node);
    for (const there of graph[node]) {
      waiting[there] = waiting[there] - 1;
      if (waiting[there] === 0) {
        ready.push(there);
      }
    }
  }
  if (done.length < Object.keys(graph).length) {
    throw new Error("there is a cycle");
  }
  return done;
}

function merged(spans) {
  const sorted = spans.slice().sort((one, other) => one[0] - other[0]);
  const kept = [sorted[0].slice()];
  for (const [start, end] of sorted.slice(1)) {
    const last = kept[kept.length - 1];
    if (start <= last[1]) {
      last[1] = Math.max(last[1], end);
    } else {
      kept.push([start, end]);
    }
  }
  return kept;
}

function covered(spans) {
  let length = 0;
  for (const [start, end] of merged(spans)) {
    length = length + end - start;
  }
  return length;
}

class Recent {
  constructor(size) {
    this.size = size;
    this.values = new Map();
  }

  get(key) {
    if (!this.values.has(key)) {
      return -1;
    }
    const value = this.values.get(key);
    this.values.delete(key);
    this.values.set(key, value);
    return value;
  }

  put(key, value) {
    this.values.delete(key);
    this.values.set(key, value);
    if (this.values.size > this.size) {
      const oldest = this.values.keys().next().value;
      this.values.delete(oldest);
    }
  }
}

module.exports = { build, path, distance, inOrder, merged, covered, Recent };
