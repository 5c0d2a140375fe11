const assert = require("assert");
const { build, path, distance, inOrder, merged, covered, Recent } = require("./routes");

const EDGES = [["a", "b"], ["b", "c"], ["c", "d"], ["a", "e"], ["e", "d"]];

describe("routes", () => {
  it("knows the ends", () => {
    assert.deepStrictEqual(build([["x", "y"]]), { x: ["y"], y: [] });
  });
  it("finds the shortest path", () => {
    assert.deepStrictEqual(path(build(EDGES), "a", "d"), ["a", "e", "d"]);
  });
  it("finds a path to oneself", () => {
    assert.deepStrictEqual(path(build(EDGES), "c", "c"), ["c"]);
  });
  it("finds no path", () => {
    assert.strictEqual(path(build(EDGES), "d", "a"), null);
  });
  it("measures a distance", () => {
    assert.strictEqual(distance(build(EDGES), "a", "c"), 2);
  });
  it("knows what comes first", () => {
    assert.deepStrictEqual(inOrder(build(EDGES)), ["a", "b", "e", "c", "d"]);
  });
  it("finds a cycle", () => {
    assert.throws(() => inOrder(build([["a", "b"], ["b", "a"]])), /cycle/);
  });
  it("merges spans that touch", () => {
    assert.deepStrictEqual(merged([[5, 8], [1, 3], [3, 4]]), [[1, 4], [5, 8]]);
  });
  it("merges a span inside another", () => {
    assert.deepStrictEqual(merged([[1, 9], [2, 3]]), [[1, 9]]);
  });
  it("measures what is covered", () => {
    assert.strictEqual(covered([[1, 4], [2, 6], [10, 12]]), 7);
  });
  it("keeps what was put", () => {
    const recent = new Recent(2);
    recent.put("a", 11);
    assert.strictEqual(recent.get("a"), 11);
  });
  it("does not know what is not there", () => {
    assert.strictEqual(new Recent(2).get("a"), -1);
  });
  it("lets the oldest go", () => {
    const recent = new Recent(2);
    recent.put("a", 1);
    recent.put("b", 2);
    recent.put("c", 3);
    assert.deepStrictEqual([recent.get("a"), recent.get("b"), recent.get("c")], [-1, 2, 3]);
  });
  it("keeps what was used", () => {
    const recent = new Recent(2);
    recent.put("a", 1);
    recent.put("b", 2);
    recent.get("a");
    recent.put("c", 3);
    assert.deepStrictEqual([recent.get("a"), recent.get("b")], [1, -1]);
  });
});
